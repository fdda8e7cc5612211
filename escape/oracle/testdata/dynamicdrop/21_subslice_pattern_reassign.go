package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P21 is subslice_pattern_reassign: a part is taken out, then the collection is replaced.
func P21(c *rt.C) {
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
	tail := list[1:]
	list = nil
	for _, x := range tail {
		x.Fill(c.S(), 1)
	}
	c.Probe(1) // live:
}
