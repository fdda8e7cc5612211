package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P15 is slice_pattern_two: two elements are used longer.
func P15(c *rt.C) {
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
	d, err := alloc.Make[int64](c.S(), 10)
	if err != nil {
		return
	}
	d.Fill(c.Q(), 10)
	list := []alloc.Buffer[int64]{a, b, d}
	x, y := list[0], list[2]
	y.Fill(c.S(), 5)
	c.Probe(1) // live: 8 9 10
	x.Fill(c.S(), 2)
	c.Probe(2) // live:
}
