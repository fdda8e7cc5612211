// Package host has the shape of the real alloc/host.
package host

import "github.com/lastuse/lastuse/alloc"

// Args is how a queued function gets its memory.
type Args struct{ n int }

func queue(s *alloc.Stream, f func(Args)) error

// Slice returns the memory of argument i.
func Slice[T any](a Args, i int) []T { return make([]T, a.n) }

// Value returns argument i, a scalar.
func Value[T any](a Args, i int) T {
	var x T
	return x
}

// Launch queues f on s.
//
//lastuse:effect arg args borrowed, arg s borrowed
func Launch(s *alloc.Stream, f func(Args), args ...alloc.Arg) error { return queue(s, f) }
