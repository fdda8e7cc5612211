package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P7 is union1: two handles on one memory, a view and its owner.
func P7(c *rt.C) {
	b, err := alloc.Make[int64](c.S(), 8)
	if err != nil {
		return
	}
	b.Fill(c.Q(), 8)
	v := b.View(0, 4)
	c.Probe(1) // live: 8
	v.Fill(c.S(), 1)
	c.Probe(2) // live:
}
