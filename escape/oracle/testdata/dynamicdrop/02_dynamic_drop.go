package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P2 is dynamic_drop: given away on one branch only: freed on the other edge.
func P2(c *rt.C) {
	b, err := alloc.Make[int64](c.S(), 8)
	if err != nil {
		return
	}
	b.Fill(c.Q(), 8)
	if c.B() {
		rt.Keep(c, b)
		c.Probe(1) // live: 8 kept
		return
	}
	c.Probe(2) // live:
}
