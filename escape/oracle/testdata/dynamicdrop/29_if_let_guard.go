package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P29 is if_let_guard: used in a condition that short-circuits.
func P29(c *rt.C) {
	b, err := alloc.Make[int64](c.S(), 8)
	if err != nil {
		return
	}
	b.Fill(c.Q(), 8)
	if c.B() && rt.Pos(c, b) {
		c.Probe(1) // live:
	} else if c.B() {
		c.Probe(2) // live:
	}
	c.Probe(3) // live:
}
