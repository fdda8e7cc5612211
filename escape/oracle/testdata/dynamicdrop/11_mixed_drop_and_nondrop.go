package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P11 is mixed_drop_and_nondrop: buffers and plain values in one scope.
func P11(c *rt.C) {
	b, err := alloc.Make[int64](c.S(), 8)
	if err != nil {
		return
	}
	b.Fill(c.Q(), 8)
	n := int64(b.Len())
	c.Out(n)
	c.Probe(1) // live:
	d, err := alloc.Make[int64](c.S(), 9)
	if err != nil {
		return
	}
	d.Fill(c.Q(), 9)
	n += rt.Sum(c, d)
	c.Out(n)
	c.Probe(2) // live:
}
