package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P1 is dynamic_init: a variable that may never be made: freed where it was.
func P1(c *rt.C) {
	var b alloc.Buffer[int64]
	if c.B() {
		var err error
		b, err = alloc.Make[int64](c.S(), 8)
		if err != nil {
			return
		}
	}
	b.Fill(c.S(), 3)
	c.Probe(1) // live:
}
