package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P9 is vec_simple: a slice built by append when a maker fails.
func P9(c *rt.C) {
	var list []alloc.Buffer[int64]
	for range 3 {
		b, err := alloc.Make[int64](c.S(), 8)
		if err != nil {
			return
		}
		list = append(list, b)
	}
	c.Probe(1) // live: 8 8 8
	for _, x := range list {
		x.Fill(c.S(), 1)
	}
	c.Probe(2) // live:
}
