// Package alloc stands in for the real one where the oracle wants to know of
// each buffer whether it is live: a ledger with the same shapes, the same
// effects and nothing behind them. A use of a dead handle is noted and goes on.
package alloc

import (
	"errors"
	"sync"
)

var ErrFreed = errors.New("buffer was freed")
var ErrFault = errors.New("injected fault")

// Ptr is an address: the number of a block and an offset in elements.
type Ptr uintptr

const offsetBits = 16

// Ledger is the books of one run.
type Ledger struct {
	mu     sync.Mutex
	blocks []*block
	UAF    []string
}

type block struct {
	n     int
	live  bool
	frees int
	ints  []int64 // what a raw pointer leads to
}

// Stream queues nothing: everything happens at once. A bad one fails everything.
type Stream struct {
	L   *Ledger
	Bad bool
}

// Wait orders s after t.
//
//lastuse:effect recv borrowed, arg t borrowed
func (s *Stream) Wait(t *Stream) {}

// Sync waits for the stream.
//
//lastuse:effect recv borrowed
func (s *Stream) Sync() error { return nil }

// Buffer owns a block.
type Buffer[T any] struct {
	l    *Ledger
	b    *block
	data *[]T // a pointer, so that buffers are keys of maps as the real ones are
	id   int
}

// View is a part of a buffer.
type View[T any] struct {
	buf    Buffer[T]
	lo, hi int
}

// Arg is an argument of a launch.
type Arg struct {
	data any
	err  error
}

// Make makes a buffer.
//
//lastuse:effect result 0 owned on success, arg n borrowed, arg s borrowed
func Make[T any](s *Stream, n int) (Buffer[T], error) {
	if s.Bad {
		return Buffer[T]{}, ErrFault
	}
	data := make([]T, n)
	b := &block{n: n, live: true}
	b.ints, _ = any(data).([]int64)
	s.L.mu.Lock()
	defer s.L.mu.Unlock()
	s.L.blocks = append(s.L.blocks, b)
	return Buffer[T]{s.L, b, &data, len(s.L.blocks)}, nil
}

// Adopt makes a buffer of memory made elsewhere.
//
//lastuse:effect result 0 owned on success, arg n borrowed, arg s borrowed
func Adopt[T any](s *Stream, p Ptr, n int, release func()) (Buffer[T], error) {
	return Make[T](s, n)
}

func (l *Ledger) use(b *block, what string) error {
	if b == nil || b.live {
		return nil
	}
	l.UAF = append(l.UAF, what)
	return ErrFreed
}

func (b Buffer[T]) check(s *Stream, what string) error {
	if s != nil && s.Bad {
		return ErrFault
	}
	if b.b == nil {
		return nil
	}
	b.l.mu.Lock()
	defer b.l.mu.Unlock()
	return b.l.use(b.b, what)
}

// Len returns the number of elements.
//
//lastuse:effect recv borrowed
func (b Buffer[T]) Len() int { b.check(nil, "Len"); return len(b.elems()) }

func (b Buffer[T]) elems() []T {
	if b.data == nil {
		return nil
	}
	return *b.data
}

// Bytes returns the number of bytes.
//
//lastuse:effect recv borrowed
func (b Buffer[T]) Bytes() int64 { b.check(nil, "Bytes"); return int64(len(b.elems())) * 8 }

// Fill sets every element.
//
//lastuse:effect recv borrowed, arg s borrowed
func (b Buffer[T]) Fill(s *Stream, x T) error { return b.All().fill(s, x) }

// CopyFrom copies from src.
//
//lastuse:effect recv borrowed, arg src borrowed, arg s borrowed
func (b Buffer[T]) CopyFrom(s *Stream, src []T) error {
	if err := b.check(s, "CopyFrom"); err != nil {
		return err
	}
	copy(b.elems(), src)
	return nil
}

// CopyTo copies to dst.
//
//lastuse:effect recv borrowed, arg dst borrowed, arg s borrowed
func (b Buffer[T]) CopyTo(s *Stream, dst []T) error { return b.all().CopyTo(s, dst) }

// View returns elements i to j.
//
//lastuse:effect result 0 views recv, arg i borrowed, arg j borrowed
func (b Buffer[T]) View(i, j int) View[T] {
	b.check(nil, "View")
	_ = b.elems()[i:j]
	return View[T]{b, i, j}
}

// All returns all elements.
//
//lastuse:effect result 0 views recv
func (b Buffer[T]) All() View[T] { b.check(nil, "All"); return b.all() }

func (b Buffer[T]) all() View[T] { return View[T]{b, 0, len(b.elems())} }

// Ptr returns the address.
//
//lastuse:effect result 0 views recv, arg s borrowed
func (b Buffer[T]) Ptr(s *Stream) Ptr { b.check(nil, "Ptr"); return Ptr(b.id << offsetBits) }

// Arg returns b as an argument.
//
//lastuse:effect result 0 views recv
func (b Buffer[T]) Arg() Arg { return Arg{b.elems(), b.check(nil, "Arg")} }

// Free gives the block back.
//
//lastuse:effect recv freed repeatable
func (b Buffer[T]) Free() {
	if b.b == nil {
		return
	}
	b.l.mu.Lock()
	defer b.l.mu.Unlock()
	b.b.live = false
	b.b.frees++
}

// Len returns the number of elements.
//
//lastuse:effect recv borrowed
func (v View[T]) Len() int { v.buf.check(nil, "view Len"); return v.hi - v.lo }

// Fill sets every element.
//
//lastuse:effect recv borrowed, arg s borrowed
func (v View[T]) Fill(s *Stream, x T) error { return v.fill(s, x) }

func (v View[T]) fill(s *Stream, x T) error {
	if err := v.buf.check(s, "Fill"); err != nil {
		return err
	}
	for i := v.lo; i < v.hi; i++ {
		v.buf.elems()[i] = x
	}
	return nil
}

// CopyTo copies to dst.
//
//lastuse:effect recv borrowed, arg dst borrowed, arg s borrowed
func (v View[T]) CopyTo(s *Stream, dst []T) error {
	if err := v.buf.check(s, "CopyTo"); err != nil {
		return err
	}
	copy(dst, v.buf.elems()[v.lo:v.hi])
	return nil
}

// View returns elements i to j.
//
//lastuse:effect result 0 views recv, arg i borrowed, arg j borrowed
func (v View[T]) View(i, j int) View[T] {
	v.buf.check(nil, "view View")
	return View[T]{v.buf, v.lo + i, v.lo + j}
}

// All returns v.
//
//lastuse:effect result 0 is recv
func (v View[T]) All() View[T] { return v }

// Ptr returns the address.
//
//lastuse:effect result 0 views recv, arg s borrowed
func (v View[T]) Ptr(s *Stream) Ptr { return v.buf.Ptr(s) + Ptr(v.lo) }

// Arg returns v as an argument.
//
//lastuse:effect result 0 views recv
func (v View[T]) Arg() Arg { return Arg{v.buf.elems()[v.lo:v.hi], v.buf.check(nil, "view Arg")} }

// Copy copies src to dst.
//
//lastuse:effect arg dst borrowed, arg src borrowed, arg s borrowed
func Copy[T any, D, S interface{ All() View[T] }](s *Stream, dst D, src S) error {
	d, r := dst.All(), src.All()
	if err := d.buf.check(s, "Copy"); err != nil {
		return err
	}
	if err := r.buf.check(s, "Copy"); err != nil {
		return err
	}
	copy(d.buf.elems()[d.lo:d.hi], r.buf.elems()[r.lo:r.hi])
	return nil
}

// Data is what an argument holds, for package host.
//
//lastuse:effect recv borrowed
func (a Arg) Data() (any, error) { return a.data, a.err }

// Poke writes through a raw pointer, as foreign code would.
func (l *Ledger) Poke(p Ptr, x int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.blocks[int(p>>offsetBits)-1]
	if l.use(b, "raw pointer") == nil {
		b.ints[int(p&(1<<offsetBits-1))] = x
	}
}

// Each calls do for every buffer made.
func (l *Ledger) Each(do func(n int, live bool, frees int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.blocks {
		do(b.n, b.live, b.frees)
	}
}
