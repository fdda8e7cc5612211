package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P26 is bindings_after_at_dynamic_drop: a value chosen by a branch and never used.
func P26(c *rt.C) {
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
	}
	_ = x
	c.Probe(1) // live:
}
