package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P23 is subslice_mixed_min_lengths: which parts are used is switched at run time.
func P23(c *rt.C) {
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
	list := []alloc.Buffer[int64]{a, b}
	switch c.N(4) {
	case 0:
		list[0].Fill(c.S(), 1)
	case 1:
		list[1].Fill(c.S(), 1)
	case 2:
		for _, x := range list {
			x.Fill(c.S(), 1)
		}
	}
	c.Probe(1) // live:
}
