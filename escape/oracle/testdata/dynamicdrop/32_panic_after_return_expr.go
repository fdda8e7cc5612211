package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P32 is panic_after_return_expr: the same with a returned expression that reads the buffer.
func P32(c *rt.C) {
	defer func() { recover() }()
	c.Out(p32sum(c))
	c.Probe(1) // live:
}

func p32sum(c *rt.C) int64 {
	b, err := alloc.Make[int64](c.S(), 8)
	if err != nil {
		return 0
	}
	b.Fill(c.Q(), 2)
	return rt.Sum(c, b)
}
