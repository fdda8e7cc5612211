package alloctest

import (
	"errors"
	"time"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
)

// What a device may be able to do with streams and page-locked memory, on a Faulty. A device behind it that
// cannot do so is asked for what every device can.

var (
	_ alloc.Transferer  = (*Faulty)(nil)
	_ alloc.RowCopier   = (*Faulty)(nil)
	_ alloc.Registrar   = (*Faulty)(nil)
	_ alloc.Prioritizer = (*Faulty)(nil)
	_ alloc.Timer       = (*Faulty)(nil)
	_ alloc.CrossWaiter = (*Faulty)(nil)
)

// Transfer is like alloc.Transferer.Transfer. If it fails on cue nothing is copied.
func (f *Faulty) Transfer(s uintptr, p alloc.Ptr, host unsafe.Pointer, n int64, in bool) error {
	t, ok := f.Device.(alloc.Transferer)
	switch {
	case !ok && in:
		return f.CopyIn(s, p, host, n)
	case !ok:
		return f.CopyOut(s, host, p, n)
	}
	if err := f.fail("Transfer", 0); err != nil {
		return err
	}
	return t.Transfer(s, p, host, n, in)
}

// CopyRows is like alloc.RowCopier.CopyRows. If it fails on cue nothing is copied; errors.ErrUnsupported if
// the device behind f copies no rows.
func (f *Faulty) CopyRows(s uintptr, dst, src alloc.Rows, width, height int64) error {
	d, ok := f.Device.(alloc.RowCopier)
	if !ok {
		return errors.ErrUnsupported
	}
	if err := f.fail("CopyRows", 0); err != nil {
		return err
	}
	return d.CopyRows(s, dst, src, width, height)
}

// RegisterHost is like alloc.Registrar.RegisterHost, and fails on cue: errors.ErrUnsupported if the device
// behind f does not register.
func (f *Faulty) RegisterHost(p unsafe.Pointer, size int64) error {
	d, ok := f.Device.(alloc.Registrar)
	if !ok {
		return errors.ErrUnsupported
	}
	if err := f.fail("RegisterHost", 0); err != nil {
		return err
	}
	return d.RegisterHost(p, size)
}

// UnregisterHost is like alloc.Registrar.UnregisterHost, and fails on cue.
func (f *Faulty) UnregisterHost(p unsafe.Pointer, size int64) error {
	if err := f.fail("UnregisterHost", 0); err != nil {
		return err
	}
	return f.Device.(alloc.Registrar).UnregisterHost(p, size) // which has registered it
}

// Priorities is like alloc.Prioritizer.Priorities, and fails on cue.
func (f *Faulty) Priorities() (least, most int, err error) {
	d, ok := f.Device.(alloc.Prioritizer)
	if !ok {
		return 0, 0, nil
	}
	if err := f.fail("Priorities", 0); err != nil {
		return 0, 0, err
	}
	return d.Priorities()
}

// NewPriorityStream is like alloc.Prioritizer.NewPriorityStream, and fails on cue.
func (f *Faulty) NewPriorityStream(priority int) (uintptr, error) {
	d, ok := f.Device.(alloc.Prioritizer)
	if !ok {
		return f.NewStream()
	}
	if err := f.fail("NewPriorityStream", 0); err != nil {
		return 0, err
	}
	return d.NewPriorityStream(priority)
}

// NewTimedEvent is like alloc.Timer.NewTimedEvent, and fails on cue: errors.ErrUnsupported if the device
// behind f does not time.
func (f *Faulty) NewTimedEvent() (uintptr, error) {
	d, ok := f.Device.(alloc.Timer)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	if err := f.fail("NewTimedEvent", 0); err != nil {
		return 0, err
	}
	return d.NewTimedEvent()
}

// Elapsed is like alloc.Timer.Elapsed, and fails on cue.
func (f *Faulty) Elapsed(start, end uintptr) (time.Duration, error) {
	if err := f.fail("Elapsed", 0); err != nil {
		return 0, err
	}
	return f.Device.(alloc.Timer).Elapsed(start, end) // which has made them
}

// WaitAcross is like alloc.CrossWaiter.WaitAcross. If it fails on cue the stream waits for nothing.
func (f *Faulty) WaitAcross(s uintptr, d alloc.Device, e uintptr) error {
	w, ok := f.Device.(alloc.CrossWaiter)
	if !ok {
		return alloc.ErrForeign
	}
	if err := f.fail("WaitAcross", 0); err != nil {
		return err
	}
	return w.WaitAcross(s, d, e)
}
