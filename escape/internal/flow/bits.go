package flow

import "slices"

// Bits is a set of small numbers. The zero Bits has room for none.
type Bits []uint64

// NewBits returns an empty set with room for the numbers below n.
func NewBits(n int) Bits { return make(Bits, (n+63)/64) }

// Has reports whether i is in the set; Add and Remove change that. Clone returns a copy.
func (b Bits) Has(i int) bool    { return b[i/64]>>(i%64)&1 == 1 }
func (b Bits) Add(i int)         { b[i/64] |= 1 << (i % 64) }
func (b Bits) Remove(i int)      { b[i/64] &^= 1 << (i % 64) }
func (b Bits) Clone() Bits       { return slices.Clone(b) }
func (b Bits) Equal(c Bits) bool { return slices.Equal(b, c) }

// Set adds or removes i.
func (b Bits) Set(i int, on bool) {
	if on {
		b.Add(i)
	} else {
		b.Remove(i)
	}
}

// Without returns b, which may be nil, without i: a copy where i was in it.
func (b Bits) Without(i int) Bits {
	if b == nil || !b.Has(i) {
		return b
	}
	b = b.Clone()
	b.Remove(i)
	return b
}

// Union adds c to b and reports whether that is more.
func (b Bits) Union(c Bits) bool {
	grown := false
	for k := range b {
		grown = grown || c[k]&^b[k] != 0
		b[k] |= c[k]
	}
	return grown
}

// Intersect removes what is not in c and reports whether that is anything.
func (b Bits) Intersect(c Bits) bool {
	less := false
	for k := range b {
		less = less || b[k]&^c[k] != 0
		b[k] &= c[k]
	}
	return less
}

// Empty reports whether nothing is in b.
func (b Bits) Empty() bool {
	for _, w := range b {
		if w != 0 {
			return false
		}
	}
	return true
}

// Join returns a new union of two sets of one size, either of which may be nil; it is nil
// if both are.
func Join(a, b Bits) Bits {
	if a == nil {
		return b.Clone()
	}
	c := a.Clone()
	if b != nil {
		c.Union(b)
	}
	return c
}
