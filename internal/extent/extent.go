// Package extent keeps which pieces of memory lie behind which addresses, for devices that map
// (alloc.Mapper).
//
// An extent is what one Map made: addresses with one piece of memory behind them, which is moved and
// unmapped as a whole. A [Table] has them in the order of their addresses. The way in is Add; Find returns
// the extents that fill a range exactly, or says why there are none such; Remove is the way out. A Table
// has no lock of its own.
package extent

import (
	"fmt"
	"slices"
)

// An Extent is [P, P+N) with a piece of memory behind it; H is what the device knows it by.
type Extent[H any] struct {
	P uintptr
	N int64 // bytes
	H H
}

func (x Extent[H]) end() uintptr { return x.P + uintptr(x.N) }

// A Table is a set of extents that do not overlap. The zero Table is empty.
type Table[H any] struct{ all []Extent[H] } // by address

// after returns the index of the first extent that ends above p.
func (t *Table[H]) after(p uintptr) int {
	i, _ := slices.BinarySearchFunc(t.all, p, func(x Extent[H], p uintptr) int {
		if x.end() <= p {
			return -1
		}
		return 1
	})
	return i
}

// Empty returns an error if any of [p, p+n) lies in an extent.
func (t *Table[H]) Empty(p uintptr, n int64) error {
	if i := t.after(p); i < len(t.all) && t.all[i].P < p+uintptr(n) {
		return fmt.Errorf("%d bytes at %#x: part of it is mapped", n, p)
	}
	return nil
}

// Add adds an extent where Empty has found nothing.
func (t *Table[H]) Add(x Extent[H]) { t.all = slices.Insert(t.all, t.after(x.P), x) }

// Find returns the extents that fill [p, p+n) without a gap. They are good until the table changes.
func (t *Table[H]) Find(p uintptr, n int64) ([]Extent[H], error) {
	i := t.after(p)
	if i == len(t.all) || t.all[i].P > p {
		return nil, fmt.Errorf("%d bytes at %#x: not all of it is mapped", n, p)
	}
	if t.all[i].P < p {
		x := t.all[i]
		return nil, fmt.Errorf("%d bytes at %#x: begins within the extent of %d bytes at %#x", n, p, x.N, x.P)
	}
	end := p + uintptr(n)
	for j, at := i, p; ; j++ {
		switch {
		case at == end:
			return t.all[i:j], nil
		case at > end:
			x := t.all[j-1]
			return nil, fmt.Errorf("%d bytes at %#x: ends within the extent of %d bytes at %#x", n, p, x.N,
				x.P)
		case j == len(t.all) || t.all[j].P != at:
			return nil, fmt.Errorf("%d bytes at %#x: not all of it is mapped", n, p)
		}
		at = t.all[j].end()
	}
}

// Inside returns the extents that lie whole in [p, p+n). They are good until the table changes.
func (t *Table[H]) Inside(p uintptr, n int64) []Extent[H] {
	i, end := t.after(p), t.after(p+uintptr(n))
	if i < end && t.all[i].P < p {
		i++
	}
	return t.all[i:end]
}

// Remove removes the extents that Find finds.
func (t *Table[H]) Remove(p uintptr, n int64) {
	i := t.after(p)
	t.all = slices.Delete(t.all, i, t.after(p+uintptr(n)))
}

// All returns all extents. They are good until the table changes.
func (t *Table[H]) All() []Extent[H] { return t.all }
