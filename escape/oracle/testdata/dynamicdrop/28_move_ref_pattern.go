package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

type p28pair struct {
	a, b alloc.Buffer[int64]
}

// P28 is move_ref_pattern: one field freed by the callee, the other by us.
func P28(c *rt.C) {
	x, err := alloc.Make[int64](c.S(), 8)
	if err != nil {
		return
	}
	x.Fill(c.Q(), 8)
	y, err := alloc.Make[int64](c.S(), 9)
	if err != nil {
		return
	}
	y.Fill(c.Q(), 9)
	p := p28pair{a: x, b: y}
	p28take(c, p.a)
	c.Probe(1) // live: 9
	p.b.Fill(c.S(), 1)
	c.Probe(2) // live:
}

func p28take(c *rt.C, b alloc.Buffer[int64]) {
	b.Fill(c.Q(), 1)
	b.Free()
}
