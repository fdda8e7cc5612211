package alloc

import (
	"unsafe"
)

// A Buffer owns device memory for elements of type T. It is a small value, like a
// slice header: copying it copies the handle, not the memory, and one Free ends all
// copies. The zero Buffer is empty and its Free does nothing.
//
// A Buffer that is dropped without a Free is freed after the collector has found it
// dead. That is a net, not a plan: the collector does not know how large the memory is.
type Buffer[T any] struct {
	header *header
	gen    uint64
	n      int
}

// A View is a part of a buffer. It owns nothing and has no Free, but it keeps the
// buffer from the collector. When the buffer is freed its views are dead too.
type View[T any] struct{ part part }

// Make returns a buffer of n elements of T in stream order on s: work that is enqueued
// on s from now on may use it. Its contents are unspecified, its alignment is 512
// bytes at least. T is any type of fixed size without Go pointers; any other is an
// [ErrType]. A negative n, or one that makes 2^48 bytes or more, which no device could hold, is an
// [ErrSize]; n == 0 gives the zero Buffer. Elements of no size take no memory.
//
// If the pool has an idle block that fits, Make calls no device and waits for nothing. Otherwise
// it climbs the ladder of the package comment, which may block. If memory cannot be
// found the error is a [*MemoryError], for which errors.Is(err, [ErrOutOfMemory]) is
// true.
//
//lastuse:effect result 0 owned on success, arg n borrowed, arg s borrowed
func Make[T any](s *Stream, n int) (Buffer[T], error) {
	h, gen, err := s.make((*T)(nil), unsafe.Sizeof(*(*T)(nil)), n)
	if err != nil {
		n = 0
	}
	return Buffer[T]{h, gen, n}, err
}

// Free gives b's memory back to its pool, in order after the work enqueued so far on
// the streams that used b. It never waits and calls no device, unless the pool is closed, when
// memory goes back to the device, or in Check mode, when b is poisoned. If other goroutines are enqueuing
// work with b right now, it takes effect when they have. All copies of b and all its
// views are dead from now on. Freeing again does nothing but count, and freeing the
// zero Buffer does nothing at all.
//
//lastuse:effect recv freed repeatable
func (b Buffer[T]) Free() {
	if b.header != nil {
		b.header.free(b.gen)
	}
}

// Len returns the number of elements.
//
//lastuse:effect recv borrowed
func (b Buffer[T]) Len() int { return b.n }

// Bytes returns the size in bytes, without what rounding added.
//
//lastuse:effect recv borrowed
func (b Buffer[T]) Bytes() int64 { return int64(b.n) * int64(unsafe.Sizeof(*(*T)(nil))) }

// View returns the elements [i, j) of b. It panics if they are not all in b.
//
//lastuse:effect result 0 views recv, arg i borrowed, arg j borrowed
func (b Buffer[T]) View(i, j int) View[T] {
	return View[T]{b.part().view(i, j, unsafe.Sizeof(*(*T)(nil)))}
}

// All returns a view of all of b.
//
//lastuse:effect result 0 views recv
func (b Buffer[T]) All() View[T] { return View[T]{b.part()} }

func (b Buffer[T]) part() part { return part{b.header, b.gen, 0, b.n} }

// CopyFrom copies src to the first elements of b in stream order on s. It returns when
// src may be changed, which may be before the copy has run. If src is longer than b
// the error is an [ErrSize].
//
//lastuse:effect recv borrowed, arg src borrowed, arg s borrowed
func (b Buffer[T]) CopyFrom(s *Stream, src []T) error {
	return b.part().copyHost(s, false, unsafe.Pointer(unsafe.SliceData(src)), len(src),
		unsafe.Sizeof(*(*T)(nil)))
}

// CopyTo copies the first elements of b to dst in stream order on s, as many as dst
// has, and returns when they are there. If dst is longer than b the error is an
// [ErrSize].
//
//lastuse:effect recv borrowed, arg dst borrowed, arg s borrowed
func (b Buffer[T]) CopyTo(s *Stream, dst []T) error {
	return b.part().copyHost(s, true, unsafe.Pointer(unsafe.SliceData(dst)), len(dst),
		unsafe.Sizeof(*(*T)(nil)))
}

// Fill sets all elements to x, in stream order on s.
//
//lastuse:effect recv borrowed, arg s borrowed
func (b Buffer[T]) Fill(s *Stream, x T) error {
	return b.part().fill(s, unsafe.Pointer(&x), unsafe.Sizeof(x))
}

// Ptr returns b's device address, for work that is about to be enqueued on s. Naming
// the stream is how the pool learns where b is used. The address is good until b's
// Free, or until b becomes unreachable: foreign code that gets it needs
// runtime.KeepAlive(b), or the Free itself, behind the enqueue. The zero Buffer's
// address is zero. Ptr panics if b has been freed, if s belongs to another pool or is closed, and
// during capture.
//
//lastuse:effect result 0 views recv, arg s borrowed
func (b Buffer[T]) Ptr(s *Stream) Ptr { return b.part().ptr(s) }

// Arg returns b as an argument of a launch.
//
//lastuse:effect result 0 views recv
func (b Buffer[T]) Arg() Arg { return b.part().arg((*T)(nil)) }

// Len returns the number of elements.
//
//lastuse:effect recv borrowed
func (v View[T]) Len() int { return v.part.n }

// Bytes returns the size in bytes.
//
//lastuse:effect recv borrowed
func (v View[T]) Bytes() int64 { return int64(v.part.n) * int64(unsafe.Sizeof(*(*T)(nil))) }

// View returns the elements [i, j) of v. It panics if they are not all in v.
//
//lastuse:effect result 0 views recv, arg i borrowed, arg j borrowed
func (v View[T]) View(i, j int) View[T] {
	return View[T]{v.part.view(i, j, unsafe.Sizeof(*(*T)(nil)))}
}

// All returns v.
//
//lastuse:effect result 0 is recv
func (v View[T]) All() View[T] { return v }

// CopyFrom is like [Buffer.CopyFrom].
//
//lastuse:effect recv borrowed, arg src borrowed, arg s borrowed
func (v View[T]) CopyFrom(s *Stream, src []T) error {
	return v.part.copyHost(s, false, unsafe.Pointer(unsafe.SliceData(src)), len(src),
		unsafe.Sizeof(*(*T)(nil)))
}

// CopyTo is like [Buffer.CopyTo].
//
//lastuse:effect recv borrowed, arg dst borrowed, arg s borrowed
func (v View[T]) CopyTo(s *Stream, dst []T) error {
	return v.part.copyHost(s, true, unsafe.Pointer(unsafe.SliceData(dst)), len(dst),
		unsafe.Sizeof(*(*T)(nil)))
}

// Fill is like [Buffer.Fill].
//
//lastuse:effect recv borrowed, arg s borrowed
func (v View[T]) Fill(s *Stream, x T) error {
	return v.part.fill(s, unsafe.Pointer(&x), unsafe.Sizeof(x))
}

// Ptr is like [Buffer.Ptr].
//
//lastuse:effect result 0 views recv, arg s borrowed
func (v View[T]) Ptr(s *Stream) Ptr { return v.part.ptr(s) }

// Arg is like [Buffer.Arg].
//
//lastuse:effect result 0 views recv
func (v View[T]) Arg() Arg { return v.part.arg((*T)(nil)) }

// Copy copies all of src to the first elements of dst, in stream order on s. Both may be
// buffers or views. If src is longer than dst the error is an [ErrSize]; what arrives
// where they overlap is unspecified.
//
//lastuse:effect arg dst borrowed, arg src borrowed, arg s borrowed
func Copy[T any, D, S interface{ All() View[T] }](s *Stream, dst D, src S) error {
	return copyParts(s, dst.All().part, src.All().part, unsafe.Sizeof(*(*T)(nil)))
}
