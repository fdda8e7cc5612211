package progs

import (
	"github.com/lastuse/lastuse/alloc"
	"oracle.test/rt"
)

// P30 is if_let_guard_2: made and used in the guard of a branch.
func P30(c *rt.C) {
	if b, err := alloc.Make[int64](c.S(), 8); err == nil && rt.Pos(c, b) {
		c.Probe(1) // live:
	} else {
		c.Probe(2) // live:
	}
	c.Probe(3) // live:
}
