package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P6 is assignment1: two names for one buffer: freed once.
func P6(c *rt.C) {
	v, err := alloc.Make[int64](c.S(), 8)
	if err != nil {
		return
	}
	v.Fill(c.Q(), 8)
	w, err := alloc.Make[int64](c.S(), 9)
	if err != nil {
		return
	}
	w.Fill(c.Q(), 9)
	if c.B() {
		v.Free()
	}
	v = w
	c.Probe(1) // live: 9
	v.Fill(c.S(), 2)
	c.Probe(2) // live:
}
