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
