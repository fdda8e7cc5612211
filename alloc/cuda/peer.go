package cuda

import (
	"fmt"
	"slices"

	"github.com/lastuse/lastuse/alloc"
)

// CanAccessPeer reports whether the machine lets kernels on d use memory of the other device, so that
// [Device.EnablePeer] works and [CopyPeer] goes from one to the other without the host. A program asks it for
// each pair to learn which of its devices belong together.
func (d *Device) CanAccessPeer(other *Device) (bool, error) {
	if d.base == other.base || d.ordinal == other.ordinal {
		return true, nil
	}
	can, err := d.drv.DeviceCanAccessPeer(d.ctx.Device(), other.ctx.Device())
	if err != nil {
		return false, d.work(err)
	}
	return can, nil
}

// EnablePeer lets kernels on d use memory of the other device: what its pools hold and what they will. It is
// an error if the machine's devices cannot reach each other; copies with [CopyPeer] work then too.
func (d *Device) EnablePeer(other *Device) error {
	if d.base == other.base || d.ordinal == other.ordinal {
		return nil
	}
	can, err := d.CanAccessPeer(other)
	if err != nil {
		return err
	}
	if !can {
		return fmt.Errorf("cuda: enable peer: device %d cannot reach device %d: use CopyPeer: %w", d.ordinal,
			other.ordinal, ErrUnavailable)
	}
	// Plain allocations follow the contexts, mapped memory has its own list of who may use it.
	if err := d.ctx.EnablePeerAccess(&other.ctx); err != nil {
		return d.with(other.base, err)
	}
	a := &other.atlas
	a.order.Lock() // so nothing is being mapped
	defer a.order.Unlock()
	peer := d.ctx.Device()
	if slices.Contains(a.peers, peer) {
		return nil
	}
	for _, x := range a.extents.All() {
		if err := other.ctx.MemSetAccess(x.P, x.N, peer); err != nil {
			return other.work(err)
		}
	}
	a.peers = append(a.peers, peer)
	return nil
}

// CopyPeer copies src, which belongs to the pool of stream from, to dst, which belongs to the pool of stream
// to; the pools may be on different devices. It is ordered after what both streams have now, and later work
// of both runs after it, so that either side may be freed at once.
//
//lastuse:effect arg dst borrowed, arg src borrowed, arg to borrowed, arg from borrowed
func CopyPeer[T any, D, S interface{ All() alloc.View[T] }](to *alloc.Stream, dst D, from *alloc.Stream,
	src S) error {
	d, s := dst.All(), src.All()
	if d.Len() != s.Len() {
		return fmt.Errorf("cuda: copy between devices: %d elements to %d: %w", s.Len(), d.Len(),
			alloc.ErrSize)
	}
	return copyPeer(to, d.Arg(), from, s.Arg())
}

// copyPeer is CopyPeer for any type.
func copyPeer(to *alloc.Stream, dst alloc.Arg, from *alloc.Stream, src alloc.Arg) error {
	here, err := under(to, "copy between devices")
	if err != nil {
		return err
	}
	there, err := under(from, "copy between devices")
	if err != nil {
		return err
	}
	if to.Captured() || from.Captured() {
		return fmt.Errorf("cuda: copy between devices: a graph takes none: copy before Capture: %w", alloc.ErrCapturing)
	}
	var room [2]alloc.Param
	d, err := to.Begin(room[0:0:1], dst)
	if err != nil {
		return err
	}
	defer to.End(dst)
	s, err := from.Begin(room[1:1:2], src)
	if err != nil {
		return err
	}
	defer from.End(src)
	if d[0].Size == 0 {
		return nil
	}
	if err := order(there, from, here, to); err != nil {
		return err
	}
	err = here.ctx.MemcpyPeer(uintptr(d[0].Ptr), &there.ctx, uintptr(s[0].Ptr), d[0].Size, to.LaunchHandle())
	if err != nil {
		return here.with(there, err)
	}
	return order(here, to, there, from)
}

// order makes later work of stream t on device y run after what stream s on device x has now.
func order(x *base, s *alloc.Stream, y *base, t *alloc.Stream) error {
	e, err := x.ctx.EventCreate()
	if err != nil {
		return x.work(err)
	}
	defer func() { _ = x.ctx.EventDestroy(e) }() // the driver keeps it until its work is done
	if _, err := x.ctx.EventRecord(e, s.LaunchHandle()); err != nil {
		return x.work(err)
	}
	if err := y.ctx.StreamWaitEvent(t.LaunchHandle(), e); err != nil {
		return y.with(x, err)
	}
	return nil
}
