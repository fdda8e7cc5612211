// Package example has a buffer that may be freed and one that is kept.
package example

import "mem"

func Use(n int) error {
	w, err := mem.Make(n)
	if err != nil {
		return err
	}
	w.Fill(1)
	return nil
}

func Store(n int) error {
	b, err := mem.Make(n)
	if err != nil {
		return err
	}
	mem.Keep(same(b))
	return nil
}

func same(b *mem.Buf) *mem.Buf { return b }

// A Pair holds two.
type Pair struct{ A, B *mem.Buf }

// Set stores b in a field of what the caller knows.
func Set(p *Pair, b *mem.Buf) { p.A = b }

// Jump has a cycle with two ways in.
func Jump(n int) error {
	w, err := mem.Make(n)
	if err != nil {
		return err
	}
	if n > 10 {
		goto middle
	}
top:
	w.Fill(n)
middle:
	n--
	if n > 0 {
		goto top
	}
	return nil
}
