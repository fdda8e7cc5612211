package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P10 is coroutine: a sequence abandoned with a live local: its frame frees it at the early exit.
func P10(c *rt.C) {
	for x := range p10seq(c) {
		c.Out(x)
		if c.B() {
			break
		}
	}
	c.Probe(2) // live:
}

func p10seq(c *rt.C) func(func(int64) bool) {
	return func(yield func(int64) bool) {
		b, err := alloc.Make[int64](c.S(), 8)
		if err != nil {
			return
		}
		b.Fill(c.Q(), 1)
		for range 3 {
			if !yield(rt.Sum(c, b)) {
				return
			}
		}
	}
}
