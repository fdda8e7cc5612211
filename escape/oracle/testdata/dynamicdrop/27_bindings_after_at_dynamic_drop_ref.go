package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P27 is bindings_after_at_dynamic_drop_ref: a value chosen by a branch and used on one path.
func P27(c *rt.C) {
	a, err := alloc.Make[int64](c.S(), 8)
	if err != nil {
		return
	}
	a.Fill(c.Q(), 8)
	b, err := alloc.Make[int64](c.S(), 9)
	if err != nil {
		return
	}
	b.Fill(c.Q(), 9)
	x := a
	if c.B() {
		x = b
		c.Probe(1) // live: 9
	}
	if c.B() {
		x.Fill(c.S(), 1)
		c.Probe(2) // live:
	}
	c.Probe(3) // live:
}
