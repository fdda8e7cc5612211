package proof

import (
	"iter"
	"math/bits"
	"slices"
)

// A set is a set of small numbers.
type set []uint64

func setOf(list []int) (s set) {
	for _, i := range list {
		s.add(i)
	}
	return s
}

func (s set) has(i int) bool { return i>>6 < len(s) && s[i>>6]&(1<<(i&63)) != 0 }

func (s *set) add(i int) {
	for i>>6 >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[i>>6] |= 1 << (i & 63)
}

func (s set) remove(i int) {
	if i>>6 < len(s) {
		s[i>>6] &^= 1 << (i & 63)
	}
}

// union adds what t has and reports whether that is anything.
func (s *set) union(t set) bool {
	grew := false
	for len(*s) < len(t) {
		*s = append(*s, 0)
	}
	for i, x := range t {
		grew = grew || x&^(*s)[i] != 0
		(*s)[i] |= x
	}
	return grew
}

func (s set) empty() bool { return !slices.ContainsFunc(s, func(x uint64) bool { return x != 0 }) }

// meets reports whether s and t have an element in common.
func (s set) meets(t set) bool {
	for i := range min(len(s), len(t)) {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

// covers reports whether s has all that t has.
func (s set) covers(t set) bool {
	for i, x := range t {
		if i < len(s) {
			x &^= s[i]
		}
		if x != 0 {
			return false
		}
	}
	return true
}

// apart returns how many elements one of s and t has alone.
func (s set) apart(t set) (n int) {
	for i := range max(len(s), len(t)) {
		var x, y uint64
		if i < len(s) {
			x = s[i]
		}
		if i < len(t) {
			y = t[i]
		}
		n += bits.OnesCount64(x ^ y)
	}
	return n
}

// one reports whether s has exactly one element.
func (s set) one() bool { return s.apart(nil) == 1 }

func (s set) clone() set { return slices.Clone(s) }

func (s set) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, x := range s {
			for ; x != 0; x &= x - 1 {
				if !yield(i<<6 + bits.TrailingZeros64(x)) {
					return
				}
			}
		}
	}
}
