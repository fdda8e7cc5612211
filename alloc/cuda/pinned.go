package cuda

import (
	"fmt"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
)

// CopyIn enqueues a copy from page-locked memory and returns at once. The copy reads src when the device gets to it: until
// an event recorded after it is done, src must be neither changed nor freed. Buffer.CopyFrom takes the same memory and
// returns when it may be changed.
//
//lastuse:effect arg dst borrowed, arg src borrowed
func CopyIn[T any, D interface{ All() alloc.View[T] }](s *alloc.Stream, dst D, src alloc.Pinned[T]) error {
	v, host := dst.All(), src.Slice()
	if len(host) != v.Len() {
		return misfit(len(host), v.Len())
	}
	return transfer(s, v.Arg(), unsafe.Pointer(unsafe.SliceData(host)), true)
}

// CopyOut enqueues a copy to page-locked memory and returns at once. The copy writes dst when the device gets to it:
// until an event recorded after it is done, dst must be neither read nor freed.
//
//lastuse:effect arg dst borrowed, arg src borrowed
func CopyOut[T any, S interface{ All() alloc.View[T] }](s *alloc.Stream, dst alloc.Pinned[T], src S) error {
	v, host := src.All(), dst.Slice()
	if len(host) != v.Len() {
		return misfit(v.Len(), len(host))
	}
	return transfer(s, v.Arg(), unsafe.Pointer(unsafe.SliceData(host)), false)
}

func misfit(from, to int) error {
	return fmt.Errorf("cuda: copy: %d elements to %d: %w", from, to, alloc.ErrSize)
}

// transfer enqueues a copy between a buffer and page-locked memory.
func transfer(s *alloc.Stream, arg alloc.Arg, host unsafe.Pointer, in bool) error {
	b, err := under(s, "copy")
	if err != nil {
		return err
	}
	var room [1]alloc.Param
	p, err := s.Begin(room[:0], arg)
	if err != nil {
		return err
	}
	defer s.End(arg)
	n := p[0].Size
	switch {
	case n == 0:
		return nil
	case !b.pinned.holds(uintptr(host), n):
		return fmt.Errorf("cuda: copy: host memory is not page-locked by this device's pools: %w", alloc.ErrForeign)
	case in:
		err = b.ctx.MemcpyHtoD(uintptr(p[0].Ptr), uintptr(host), n, s.LaunchHandle())
	default:
		err = b.ctx.MemcpyDtoH(uintptr(host), uintptr(p[0].Ptr), n, s.LaunchHandle())
	}
	if err != nil {
		return b.work(err)
	}
	return nil
}
