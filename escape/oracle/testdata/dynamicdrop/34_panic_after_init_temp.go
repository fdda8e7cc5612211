package progs

import (
	"oracle.test/rt"
)

// P34 is panic_after_init_temp: the value is a temporary.
func P34(c *rt.C) {
	defer func() { recover() }()
	c.Out(rt.Sum(c, rt.Fresh(c, 8)))
	c.Probe(1) // live:
	if c.B() {
		panic(rt.Panic(1))
	}
}
