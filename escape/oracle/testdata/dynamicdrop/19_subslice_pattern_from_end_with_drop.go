package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P19 is subslice_pattern_from_end_with_drop: all freed early on one path, used in part on the other.
func P19(c *rt.C) {
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
	if c.B() {
		for _, x := range list {
			x.Free()
		}
		c.Probe(1) // live:
		return
	}
	list[1].Fill(c.S(), 1)
	c.Probe(2) // live:
}
