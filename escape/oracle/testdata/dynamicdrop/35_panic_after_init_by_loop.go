package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P35 is panic_after_init_by_loop: the value leaves a loop by break.
func P35(c *rt.C) {
	defer func() { recover() }()
	var b alloc.Buffer[int64]
	for {
		var err error
		b, err = alloc.Make[int64](c.S(), 8)
		if err != nil {
			return
		}
		if !c.More() {
			break
		}
		c.Probe(1) // live:
	}
	c.Probe(2) // live: 8
	b.Fill(c.S(), 1)
	c.Probe(3) // live:
	if c.B() {
		panic(rt.Panic(1))
	}
}
