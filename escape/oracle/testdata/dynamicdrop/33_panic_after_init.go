package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P33 is panic_after_init: an explicit panic after a block's value exists: freed before it.
func P33(c *rt.C) {
	defer func() { recover() }()
	var n int64
	{
		b, err := alloc.Make[int64](c.S(), 8)
		if err != nil {
			return
		}
		b.Fill(c.Q(), 2)
		n = rt.Sum(c, b)
		c.Probe(1) // live:
	}
	if c.B() {
		panic(rt.Panic(1))
	}
	c.Out(n)
}
