package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P18 is subslice_pattern_from_end: the tail is given away, the head is ours.
func P18(c *rt.C) {
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
		rt.Keep(c, list[1])
		c.Probe(1) // live: 9 kept
		return
	}
	c.Probe(2) // live:
}
