// Reads that SSA has nothing of: dropped copies, copies of which the last is dead, heads of
// compound statements, conversions to the same type, and what a loop copies behind each turn.
package p

type Buf struct{ p uintptr }

func (b *Buf) Free() {}

func must(n int) *Buf { return nil }

func reads(n int, any any) {
	b := must(n)
	c := b
	_ = (*Buf)(c)
	if d := b; n > 1 {
		_, _ = d, any
	}
	for c = must(1); n > 2; c = b {
		c.Free()
	}
	switch e := c; e {
	}
	var f, k = b, n
	_, _ = f, k
	b.Free()
}

func literal(n int) {
	b := must(n)
	func() { _ = b }()
}
