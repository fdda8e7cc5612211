package alloctest

import (
	"errors"
	"time"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
)

// What a device may be able to do with streams and page-locked memory, on an Order. A device behind it that
// cannot do so is asked for what every device can.

var (
	_ alloc.Transferer  = (*Order)(nil)
	_ alloc.RowCopier   = (*Order)(nil)
	_ alloc.Registrar   = (*Order)(nil)
	_ alloc.Prioritizer = (*Order)(nil)
	_ alloc.Timer       = (*Order)(nil)
	_ alloc.CrossWaiter = (*Order)(nil)
)

// Transfer is work on both, of which the host's is left to run as well.
func (o *Order) Transfer(s uintptr, p alloc.Ptr, host unsafe.Pointer, n int64, in bool) error {
	t, ok := o.dev.(alloc.Transferer)
	switch {
	case !ok && in:
		return o.CopyIn(s, p, host, n)
	case !ok:
		return o.CopyOut(s, host, p, n)
	}
	c := o.work("transfer", s, uintptr(p), n, uintptr(host), n)
	return c.end(t.Transfer(s, p, host, n, in), [2]bool{true, true})
}

// CopyRows is work on all that lies from the first row to the last, on both sides. It is
// errors.ErrUnsupported if the device behind o copies no rows.
func (o *Order) CopyRows(s uintptr, dst, src alloc.Rows, width, height int64) error {
	d, ok := o.dev.(alloc.RowCopier)
	if !ok {
		return errors.ErrUnsupported
	}
	to, from := spanOf(dst), spanOf(src)
	c := o.work("copy of rows", s, to, (height-1)*dst.Pitch+width, from, (height-1)*src.Pitch+width)
	return c.end(d.CopyRows(s, dst, src, width, height), [2]bool{true, true})
}

// spanOf returns where rows begin.
func spanOf(r alloc.Rows) uintptr {
	if r.Host != nil {
		return uintptr(r.Host)
	}
	return uintptr(r.Ptr)
}

// RegisterHost notes page-locked memory that stays the program's. It is errors.ErrUnsupported if the device
// behind o does not register.
func (o *Order) RegisterHost(p unsafe.Pointer, size int64) error {
	d, ok := o.dev.(alloc.Registrar)
	if !ok {
		return errors.ErrUnsupported
	}
	err := d.RegisterHost(p, size)
	if err == nil {
		lo, hi := bytesOf(uintptr(p), size)
		o.mu.Lock()
		o.come(&span{lo: lo, hi: hi, registered: true})
		o.mu.Unlock()
	}
	return err
}

// UnregisterHost judges like FreeHost.
func (o *Order) UnregisterHost(p unsafe.Pointer, size int64) error {
	return o.leaves("unregistering of host memory", uintptr(p), size,
		func() error { return o.dev.(alloc.Registrar).UnregisterHost(p, size) }) // which has registered it
}

// Priorities is like alloc.Prioritizer.Priorities, and only 0 if the device behind o has none.
func (o *Order) Priorities() (least, most int, err error) {
	if d, ok := o.dev.(alloc.Prioritizer); ok {
		return d.Priorities()
	}
	return 0, 0, nil
}

// NewPriorityStream is like NewStream.
func (o *Order) NewPriorityStream(priority int) (uintptr, error) {
	d, ok := o.dev.(alloc.Prioritizer)
	if !ok {
		return o.NewStream()
	}
	return o.begun(d.NewPriorityStream(priority))
}

// NewTimedEvent is like NewEvent. It is errors.ErrUnsupported if the device behind o does not time.
func (o *Order) NewTimedEvent() (uintptr, error) {
	d, ok := o.dev.(alloc.Timer)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return o.fresh(d.NewTimedEvent())
}

// Elapsed is like alloc.Timer.Elapsed.
func (o *Order) Elapsed(start, end uintptr) (time.Duration, error) {
	return o.dev.(alloc.Timer).Elapsed(start, end) // which has made them
}

// WaitAcross is like alloc.CrossWaiter.WaitAcross. What the other device's pool has is not judged here, so
// the stream learns nothing of it.
func (o *Order) WaitAcross(s uintptr, d alloc.Device, e uintptr) error {
	if w, ok := o.dev.(alloc.CrossWaiter); ok {
		return w.WaitAcross(s, d, e)
	}
	return alloc.ErrForeign
}
