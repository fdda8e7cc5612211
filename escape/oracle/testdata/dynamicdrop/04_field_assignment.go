package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

type p4pair struct {
	a, b alloc.Buffer[int64]
}

// P4 is field_assignment: a field overwritten twice: the old buffer dies before each.
func P4(c *rt.C) {
	var p p4pair
	var err error
	p.a, err = alloc.Make[int64](c.S(), 8)
	if err != nil {
		return
	}
	p.a.Fill(c.S(), 1)
	p.a, err = alloc.Make[int64](c.S(), 9)
	if err != nil {
		return
	}
	c.Probe(1) // live: 9
	p.a.Fill(c.S(), 1)
	p.a, err = alloc.Make[int64](c.S(), 10)
	if err != nil {
		return
	}
	c.Probe(2) // live: 10
	p.a.Fill(c.S(), 1)
	c.Probe(3) // live:
}
