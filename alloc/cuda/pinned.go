package cuda

import (
	"fmt"

	"github.com/lastuse/lastuse/alloc"
)

// CopyIn enqueues a copy from page-locked memory and returns at once. The copy reads src when the device
// gets to it: until an event recorded after it is done, src must not be changed. It may be freed: the pool
// waits for the copy before it uses the memory again. Buffer.CopyFrom takes the same memory and returns
// when it may be changed.
//
//lastuse:effect arg dst borrowed, arg src borrowed
func CopyIn[T any, D interface{ All() alloc.View[T] }](s *alloc.Stream, dst D, src alloc.Pinned[T]) error {
	v := dst.All()
	if src.Len() != v.Len() {
		return misfit(src.Len(), v.Len())
	}
	host, err := alloc.BeginPinned(s, src)
	if err != nil {
		return fmt.Errorf("cuda: copy: %w", err)
	}
	defer host.End()
	return transfer(s, v.Arg(), host, true)
}

// CopyOut enqueues a copy to page-locked memory and returns at once. The copy writes dst when the device
// gets to it: until an event recorded after it is done, dst must not be read. It may be freed, as in
// [CopyIn].
//
//lastuse:effect arg dst borrowed, arg src borrowed
func CopyOut[T any, S interface{ All() alloc.View[T] }](s *alloc.Stream, dst alloc.Pinned[T], src S) error {
	v := src.All()
	if dst.Len() != v.Len() {
		return misfit(v.Len(), dst.Len())
	}
	host, err := alloc.BeginPinned(s, dst)
	if err != nil {
		return fmt.Errorf("cuda: copy: %w", err)
	}
	defer host.End()
	return transfer(s, v.Arg(), host, false)
}

func misfit(from, to int) error {
	return fmt.Errorf("cuda: copy: %d elements to %d: %w", from, to, alloc.ErrSize)
}

// transfer enqueues a copy between a buffer and page-locked memory.
func transfer(s *alloc.Stream, arg alloc.Arg, host alloc.PinnedUse, in bool) error {
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
	case in:
		err = b.ctx.MemcpyHtoD(uintptr(p[0].Ptr), uintptr(host.Ptr), n, s.LaunchHandle())
	default:
		err = b.ctx.MemcpyDtoH(uintptr(host.Ptr), uintptr(p[0].Ptr), n, s.LaunchHandle())
	}
	if err != nil {
		return b.work(err)
	}
	return nil
}
