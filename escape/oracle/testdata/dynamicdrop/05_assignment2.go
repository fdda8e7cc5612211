package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P5 is assignment2: freed on one path, then the name gets another buffer, which may change again.
func P5(c *rt.C) {
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
	if c.B() {
		w, err = alloc.Make[int64](c.S(), 10)
		if err != nil {
			return
		}
		w.Fill(c.S(), 1)
		c.Probe(2) // live: 9
	}
	v.Fill(c.S(), 2)
	c.Probe(3) // live:
}
