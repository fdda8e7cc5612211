package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P25 is bindings_after_at_dynamic_init_ref: a value and a view of it, bound together.
func P25(c *rt.C) {
	b, err := alloc.Make[int64](c.S(), 8)
	if err != nil {
		return
	}
	b.Fill(c.Q(), 8)
	if x, v := b, b.View(0, 2); c.B() {
		v.Fill(c.S(), 1)
		c.Probe(1) // live: 8
		x.Fill(c.S(), 2)
		c.Probe(2) // live:
	}
	c.Probe(3) // live:
}
