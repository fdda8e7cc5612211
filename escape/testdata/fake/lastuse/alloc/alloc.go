// Package alloc has the exported shape of the real alloc and its directives,
// without a device behind it, so that the cases load in no time.
package alloc

import (
	"context"
	"errors"
)

var (
	ErrFreed       = errors.New("alloc: freed")
	ErrOutOfMemory = errors.New("alloc: out of memory")
)

// A Ptr is a device address.
type Ptr uintptr

// A header stands for what a Buffer owns.
type header struct{ p Ptr }

func make_(s *Stream, bytes int64) (*header, error)
func free(h *header)
func addr(s *Stream, h *header) Ptr
func enqueue(s *Stream, h *header) error
func query(e Event) bool
func handle(s *Stream) uintptr

// A Device makes memory and streams.
type Device interface{ Name() string }

// Options of a pool; the zero Options is good.
type Options struct {
	Limit, Keep int64
	Check       bool
}

// A Pool hands out device memory.
type Pool struct{ def *Stream }

func NewPool(dev Device, o Options) (*Pool, error) { return &Pool{def: new(Stream)}, nil }

//lastuse:effect recv borrowed
func (p *Pool) NewStream() (*Stream, error) { return &Stream{pool: p}, nil }

//lastuse:effect recv borrowed
func (p *Pool) DefaultStream() *Stream { return p.def }

//lastuse:effect recv borrowed
func (p *Pool) Trim(keep int64) int64 { return keep }
func (p *Pool) Close() error          { return enqueue(p.def, nil) }

// A Stream orders work.
type Stream struct{ pool *Pool }

//lastuse:effect recv borrowed, arg t borrowed
func (s *Stream) Wait(t *Stream) { enqueue(s, nil) }

//lastuse:effect recv borrowed, arg e borrowed
func (s *Stream) WaitEvent(e Event) { enqueue(s, nil) }

//lastuse:effect recv borrowed
func (s *Stream) Record() Event { return Event{handle(s)} }

//lastuse:effect recv borrowed
func (s *Stream) Sync() error { return enqueue(s, nil) }

//lastuse:effect recv borrowed, arg ctx borrowed
func (s *Stream) SyncContext(ctx context.Context) error { return enqueue(s, nil) }

//lastuse:effect recv borrowed
func (s *Stream) Handle() uintptr { return handle(s) }
func (s *Stream) Close() error    { return enqueue(s, nil) }

//lastuse:effect recv borrowed
func (s *Stream) Pool() *Pool { return s.pool }

// An Event is a point on a stream.
type Event struct{ h uintptr }

func (e Event) Query() bool { return query(e) }
func (e Event) Sync() error { return enqueue(nil, nil) }

// An Arg is an argument of a launch.
type Arg struct{ h *header }

// Scalar returns the argument that passes x by value.
func Scalar[T any](x T) Arg { return Arg{} }

// A Buffer owns device memory.
type Buffer[T any] struct {
	h *header
	n int
}

// A View is a part of a Buffer. It owns nothing.
type View[T any] struct {
	h *header
	n int
}

// Make returns a buffer of n elements.
//
//lastuse:effect result 0 owned on success, arg n borrowed, arg s borrowed
func Make[T any](s *Stream, n int) (Buffer[T], error) {
	h, err := make_(s, int64(n))
	return Buffer[T]{h, n}, err
}

// Adopt returns a buffer that owns memory made by somebody else.
//
//lastuse:effect result 0 owned on success, arg n borrowed, arg s borrowed
func Adopt[T any](s *Stream, p Ptr, n int, release func()) (Buffer[T], error) {
	h, err := make_(s, int64(n))
	return Buffer[T]{h, n}, err
}

// Free gives the memory back, in stream order. It may be repeated.
//
//lastuse:effect recv freed repeatable
func (b Buffer[T]) Free() { free(b.h) }

// Len returns the number of elements.
//
//lastuse:effect recv borrowed
func (b Buffer[T]) Len() int { return b.n }

// Bytes returns the size in bytes.
//
//lastuse:effect recv borrowed
func (b Buffer[T]) Bytes() int64 { return int64(b.n) }

// CopyFrom fills b from src.
//
//lastuse:effect recv borrowed, arg src borrowed, arg s borrowed
func (b Buffer[T]) CopyFrom(s *Stream, src []T) error { return enqueue(s, b.h) }

// CopyTo reads b into dst.
//
//lastuse:effect recv borrowed, arg dst borrowed, arg s borrowed
func (b Buffer[T]) CopyTo(s *Stream, dst []T) error { return enqueue(s, b.h) }

// Fill sets every element to x.
//
//lastuse:effect recv borrowed, arg s borrowed
func (b Buffer[T]) Fill(s *Stream, x T) error { return enqueue(s, b.h) }

// View returns elements i to j.
//
//lastuse:effect result 0 views recv, arg i borrowed, arg j borrowed
func (b Buffer[T]) View(i, j int) View[T] { return View[T]{b.h, j - i} }

// All returns a view of all elements.
//
//lastuse:effect result 0 views recv
func (b Buffer[T]) All() View[T] { return View[T]{b.h, b.n} }

// Ptr returns the device address for work on s.
//
//lastuse:effect result 0 views recv, arg s borrowed
func (b Buffer[T]) Ptr(s *Stream) Ptr { return addr(s, b.h) }

// Arg returns b as an argument of a launch.
//
//lastuse:effect result 0 views recv
func (b Buffer[T]) Arg() Arg { return Arg{b.h} }

// Len returns the number of elements.
//
//lastuse:effect recv borrowed
func (v View[T]) Len() int { return v.n }

// Bytes returns the size in bytes.
//
//lastuse:effect recv borrowed
func (v View[T]) Bytes() int64 { return int64(v.n) }

// CopyFrom fills v from src.
//
//lastuse:effect recv borrowed, arg src borrowed, arg s borrowed
func (v View[T]) CopyFrom(s *Stream, src []T) error { return enqueue(s, v.h) }

// CopyTo reads v into dst.
//
//lastuse:effect recv borrowed, arg dst borrowed, arg s borrowed
func (v View[T]) CopyTo(s *Stream, dst []T) error { return enqueue(s, v.h) }

// Fill sets every element to x.
//
//lastuse:effect recv borrowed, arg s borrowed
func (v View[T]) Fill(s *Stream, x T) error { return enqueue(s, v.h) }

// View returns elements i to j.
//
//lastuse:effect result 0 views recv, arg i borrowed, arg j borrowed
func (v View[T]) View(i, j int) View[T] { return View[T]{v.h, j - i} }

// All returns v.
//
//lastuse:effect result 0 is recv
func (v View[T]) All() View[T] { return v }

// Ptr returns the device address for work on s.
//
//lastuse:effect result 0 views recv, arg s borrowed
func (v View[T]) Ptr(s *Stream) Ptr { return addr(s, v.h) }

// Arg returns v as an argument of a launch.
//
//lastuse:effect result 0 views recv
func (v View[T]) Arg() Arg { return Arg{v.h} }

// Copy copies src to dst.
//
//lastuse:effect arg dst borrowed, arg src borrowed, arg s borrowed
func Copy[T any, D, S interface{ All() View[T] }](s *Stream, dst D, src S) error {
	return enqueue(s, dst.All().h)
}

// Pinned is page-locked host memory.
type Pinned[T any] struct{ s []T }

// MakePinned returns page-locked host memory for n elements.
//
//lastuse:effect result 0 owned on success, arg n borrowed, arg p borrowed
func MakePinned[T any](p *Pool, n int) (Pinned[T], error) {
	return Pinned[T]{make([]T, n)}, nil
}

// Slice returns the memory.
//
//lastuse:effect result 0 views recv
func (h Pinned[T]) Slice() []T { return h.s }

// Free gives the memory back. It may be repeated.
//
//lastuse:effect recv freed repeatable
func (h Pinned[T]) Free() { free(nil) }
