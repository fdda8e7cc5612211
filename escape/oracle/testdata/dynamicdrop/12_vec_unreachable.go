package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P12 is vec_unreachable: return in the middle of building: what is there is freed.
func P12(c *rt.C) {
	a, err := alloc.Make[int64](c.S(), 8)
	if err != nil {
		return
	}
	a.Fill(c.Q(), 8)
	if c.B() {
		return
	}
	b, err := alloc.Make[int64](c.S(), 9)
	if err != nil {
		return
	}
	b.Fill(c.Q(), 9)
	list := []alloc.Buffer[int64]{a, b}
	c.Probe(1) // live: 8 9
	for _, x := range list {
		x.Fill(c.S(), 1)
	}
	c.Probe(2) // live:
}
