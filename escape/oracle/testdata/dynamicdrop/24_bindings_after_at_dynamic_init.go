package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P24 is bindings_after_at_dynamic_init: a value and its dynamic type, bound together.
func P24(c *rt.C) {
	b, err := alloc.Make[int64](c.S(), 8)
	if err != nil {
		return
	}
	b.Fill(c.Q(), 8)
	var v any
	if c.B() {
		v = b
	}
	if x, ok := v.(alloc.Buffer[int64]); ok {
		x.Fill(c.S(), 1)
		c.Probe(1) // live:
	}
	c.Probe(2) // live:
}
