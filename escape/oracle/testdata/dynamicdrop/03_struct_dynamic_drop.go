package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

type p3pair struct {
	a, b alloc.Buffer[int64]
}

// P3 is struct_dynamic_drop: a struct of buffers in a loop, one field used longer than the other.
func P3(c *rt.C) {
	for range c.N(3) {
		x, err := alloc.Make[int64](c.S(), 8)
		if err != nil {
			return
		}
		y, err := alloc.Make[int64](c.S(), 9)
		if err != nil {
			return
		}
		p := p3pair{a: x, b: y}
		p.a.Fill(c.S(), 1)
		c.Probe(1) // live: 9
		if c.B() {
			p.b.Fill(c.S(), 2)
			c.Probe(2) // live:
			continue
		}
		c.Probe(3) // live:
	}
	c.Probe(4) // live:
}
