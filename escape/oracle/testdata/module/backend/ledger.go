// Package backend is the pool under a run: here, the ledger.
package backend

import (
	"errors"

	"github.com/lastuse/lastuse/alloc"
)

// Backend is the pool of one run.
type Backend struct {
	l   *alloc.Ledger
	s   *alloc.Stream
	t   *alloc.Stream
	bad *alloc.Stream
}

var now *Backend

// Procs is how many processors the programs run on: with one, a goroutine runs only when
// the program waits, which is as late as can be.
const Procs = 1

// New starts a pool.
func New() *Backend {
	l := &alloc.Ledger{}
	now = &Backend{l, &alloc.Stream{L: l}, &alloc.Stream{L: l}, &alloc.Stream{L: l, Bad: true}}
	return now
}

// Sizes is nil: the ledger knows each buffer by name.
func Sizes(int) []int64 { return nil }

// Current is the pool of the run that goes on.
func Current() *Backend { return now }

func (b *Backend) Stream() *alloc.Stream { return b.s }
func (b *Backend) Second() *alloc.Stream { return b.t }
func (b *Backend) Bad() *alloc.Stream    { return b.bad }

// Live calls do with the elements of each live buffer.
func (b *Backend) Live(do func(n int)) int64 {
	b.l.Each(func(n int, live bool, _ int) {
		if live {
			do(n)
		}
	})
	return 0
}

// Frees calls do with the elements of each buffer and how often it was freed.
func (b *Backend) Frees(do func(n, frees int)) {
	b.l.Each(func(n int, _ bool, frees int) { do(n, frees) })
}

func (b *Backend) UAF() []string                   { return b.l.UAF }
func (b *Backend) Poke(p alloc.Ptr, x int64)       { b.l.Poke(p, x) }
func (b *Backend) Foreign(int) (alloc.Ptr, func()) { return 1, func() {} }
func (b *Backend) Close()                          {}

// IsFault reports whether err was injected.
func IsFault(err error) bool { return errors.Is(err, alloc.ErrFault) }
