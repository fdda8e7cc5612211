package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P22 is index_field_mixed_ends: the same element by its index from either end.
func P22(c *rt.C) {
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
	list := [2]alloc.Buffer[int64]{a, b}
	x, y := list[0], list[len(list)-2]
	x.Fill(c.S(), 1)
	y.Fill(c.S(), 2)
	c.Probe(1) // live:
}
