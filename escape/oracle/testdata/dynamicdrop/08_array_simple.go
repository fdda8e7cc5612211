package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P8 is array_simple: an array half built when a maker fails.
func P8(c *rt.C) {
	a, err := alloc.Make[int64](c.S(), 8)
	if err != nil {
		return
	}
	b, err := alloc.Make[int64](c.S(), 9)
	if err != nil {
		return
	}
	list := [2]alloc.Buffer[int64]{a, b}
	c.Probe(1) // live: 8 9
	for _, x := range list {
		x.Fill(c.S(), 1)
	}
	c.Probe(2) // live:
}
