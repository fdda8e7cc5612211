package alloc

import (
	"fmt"
	"unsafe"
)

// Upload enqueues a copy of all of src to the first elements of dst, in stream order on s, and returns at
// once: transfers overlap with kernels of other streams. The device reads src when it gets to the copy. Until
// then, which an event recorded after it tells, src must not be changed; it may be freed, as may dst, and the
// pool waits for the copy before it uses the memory again. On a device that cannot copy so ([Transferer]) it
// waits like [Buffer.CopyFrom].
//
//lastuse:effect arg dst borrowed, arg src borrowed, arg s borrowed
func Upload[T any, D interface{ All() View[T] }](s *Stream, dst D, src Pinned[T]) error {
	return dst.All().part.transfer(s, src.header, src.gen, src.n, unsafe.Sizeof(*(*T)(nil)), true)
}

// Download enqueues a copy of the first elements of src to all of dst, in stream order on s, and returns at
// once. The device writes dst when it gets to the copy: until then dst must be neither read nor changed. The
// rest is as for [Upload].
//
//lastuse:effect arg dst borrowed, arg src borrowed, arg s borrowed
func Download[T any, S interface{ All() View[T] }](s *Stream, dst Pinned[T], src S) error {
	return src.All().part.transfer(s, dst.header, dst.gen, dst.n, unsafe.Sizeof(*(*T)(nil)), false)
}

// transfer enqueues a copy between p and page-locked memory of n elements.
func (p part) transfer(s *Stream, h *pinnedHeader, gen uint64, n int, elem uintptr, in bool) error {
	op, to := "upload", "into"
	if !in {
		op, to = "download", "of"
	}
	if n > p.n {
		return fmt.Errorf("alloc: %s: %d elements %s %d: %w", op, n, to, p.n, ErrSize)
	}
	ptr, err := p.begin(s, op)
	if err != nil {
		return err
	}
	defer p.end(s)
	size := int64(n) * int64(elem)
	host, err := s.beginPinned(h, gen, size)
	if err != nil || size == 0 {
		return err
	}
	defer host.End()
	if err := s.core.transfer(s.heap.line.handle, ptr, host.Ptr, size, in); err != nil {
		return fmt.Errorf("alloc: %s: %w", op, err)
	}
	return nil
}

// transfer enqueues a copy of n bytes, or makes it if the device knows no other way.
func (c *core) transfer(stream uintptr, p Ptr, host unsafe.Pointer, n int64, in bool) error {
	d, ok := c.dev.(Transferer)
	switch {
	case ok:
		return d.Transfer(stream, p, host, n, in)
	case in:
		return c.dev.CopyIn(stream, p, host, n)
	}
	return c.dev.CopyOut(stream, host, p, n)
}
