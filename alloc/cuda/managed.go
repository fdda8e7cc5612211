package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv"
)

// A Managed is a buffer whose memory the host reaches by itself: the driver brings its pages to whoever
// touches them. It is the pool's like any buffer, but not of the pool's segments: each is an allocation of
// the driver's, which costs microseconds, and counts beyond the pool's limit, as adopted memory does. It is
// for what both sides touch here and there; what goes over as a whole is faster copied. Free ends all copies.
type Managed[T any] struct {
	alloc.Buffer[T]
	at uintptr // of the memory, for the host
	n  int
}

// MakeManaged returns managed memory for n elements, whose contents are unspecified, in the order of s. It
// takes no more than the device has free: beyond that pages would go to and fro. Errors: that of
// [alloc.MemoryError] or alloc.ErrOutOfMemory; [ErrUnavailable] of a device that has no memory that host and
// device may touch at the same time; alloc.ErrCapturing.
//
//lastuse:effect result 0 owned on success, arg n borrowed, arg s borrowed
func MakeManaged[T any](s *alloc.Stream, n int) (Managed[T], error) {
	if n == 0 || unsafe.Sizeof(*(*T)(nil)) == 0 {
		b, err := alloc.Make[T](s, n) // of no bytes
		return Managed[T]{Buffer: b}, err
	}
	p, free, err := makeManaged(s, n, int64(unsafe.Sizeof(*(*T)(nil))))
	if err != nil {
		return Managed[T]{}, err
	}
	b, err := alloc.Adopt[T](s, p, n, free)
	if err != nil {
		free()
		return Managed[T]{}, fmt.Errorf("cuda: make managed: %w", err)
	}
	return Managed[T]{b, uintptr(p), n}, nil
}

// makeManaged returns memory for n elements, and what gives it back.
func makeManaged(s *alloc.Stream, n int, elem int64) (alloc.Ptr, func(), error) {
	const op = "make managed"
	b, err := under(s, op)
	if err != nil {
		return 0, nil, err
	}
	if s.Captured() {
		return 0, nil, fmt.Errorf("cuda: %s: %w: make it before Capture", op, alloc.ErrCapturing)
	}
	for _, a := range []cudadrv.Attribute{cudadrv.ManagedMemory, cudadrv.ConcurrentManaged} {
		can, err := b.drv.DeviceGetAttribute(b.ctx.Device(), a)
		if err != nil {
			return 0, nil, b.work(err)
		}
		if can == 0 {
			return 0, nil, fmt.Errorf("cuda: %s: host and %s cannot touch memory at the same time: use Make and "+
				"copies: %w", op, b.name, ErrUnavailable)
		}
	}
	free, _, err := b.MemInfo()
	if err != nil {
		return 0, nil, err
	}
	if n < 0 || int64(n) > (1<<62)/elem {
		return 0, nil, fmt.Errorf("cuda: %s: %d elements of %d bytes: %w", op, n, elem, alloc.ErrSize)
	}
	size := int64(n) * elem
	var p uintptr
	if size <= free {
		p, err = b.ctx.MemAllocManaged(size)
	}
	if err = b.work(err); size > free || errors.Is(err, alloc.ErrOutOfMemory) {
		return 0, nil, fmt.Errorf("cuda: %s: %d bytes, the device has %d free: trim the pools: %w", op, size, free,
			alloc.ErrOutOfMemory)
	} else if err != nil {
		return 0, nil, err
	}
	return alloc.Ptr(p), func() {
		_ = b.deviceWide(func() error { return b.Free(alloc.Ptr(p), size) })
	}, nil
}

// Slice waits for what s has been given so far and returns the memory. It may be read and written until work
// with the buffer is enqueued, and is good until Free or until m becomes unreachable. Work on other streams
// must have been waited for by s.
//
//lastuse:effect result 0 views recv, arg s borrowed
func (m Managed[T]) Slice(s *alloc.Stream) ([]T, error) {
	var room [1]alloc.Param
	if _, err := s.Begin(room[:0], m.Arg()); err != nil { // it has been freed
		return nil, err
	}
	defer s.End(m.Arg())
	if err := s.Sync(); err != nil {
		return nil, err
	}
	return unsafe.Slice((*T)(hostPointer(m.at)), m.n), nil
}

// Free gives the memory back, in stream order, like [alloc.Buffer.Free].
//
//lastuse:effect recv freed repeatable
func (m Managed[T]) Free() { m.Buffer.Free() }
