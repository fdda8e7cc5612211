package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P31 is panic_after_return: a deferred function panics after the result is there: the result is lost, as in rustc.
func P31(c *rt.C) {
	defer func() { recover() }()
	b, err := p31make(c)
	if err != nil {
		return
	}
	b.Fill(c.S(), 1)
	c.Probe(1) // live:
}

func p31make(c *rt.C) (alloc.Buffer[int64], error) {
	defer p31late(c)
	return alloc.Make[int64](c.S(), 8)
}

func p31late(c *rt.C) {
	if c.Never() {
		panic(rt.Panic(1))
	}
}
