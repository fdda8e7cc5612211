package alloctest

import (
	"errors"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
)

// The methods of alloc.Device and of what a device may be able to do beyond. What hands order on is read
// before the device is asked and written after it has answered.

var (
	_ alloc.Mapper        = (*Order)(nil)
	_ alloc.Pinner        = (*Order)(nil)
	_ alloc.Capturer      = (*Order)(nil)
	_ alloc.StreamAdopter = (*Order)(nil)
)

// Name returns the name of the device behind o.
func (o *Order) Name() string { return o.dev.Name() }

// MemInfo is like alloc.Device.MemInfo.
func (o *Order) MemInfo() (free, total int64, err error) { return o.dev.MemInfo() }

// Alloc notes fresh memory.
func (o *Order) Alloc(size int64) (alloc.Ptr, error) {
	p, err := o.dev.Alloc(size)
	if err == nil {
		o.arrives(uintptr(p), size)
	}
	return p, err
}

// Free judges that all work on the memory is known to be over.
func (o *Order) Free(p alloc.Ptr, size int64) error {
	return o.leaves("free", uintptr(p), size, func() error { return o.dev.Free(p, size) })
}

func (o *Order) arrives(p uintptr, size int64) {
	lo, hi := bytesOf(p, size)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.come(&span{lo: lo, hi: hi})
}

// leaves calls the device to take memory away. It is out of the books before: others may have the same
// addresses at once.
func (o *Order) leaves(what string, p uintptr, size int64, call func() error) error {
	lo, hi := bytesOf(p, size)
	o.mu.Lock()
	gone := o.leave(newDeed(what, nil, lo, hi))
	o.mu.Unlock()
	err := call()
	if err != nil && !errors.Is(err, alloc.ErrUnmapped) {
		o.mu.Lock()
		o.bring(gone)
		o.mu.Unlock()
	}
	return err
}

// DefaultStream is like alloc.Device.DefaultStream.
func (o *Order) DefaultStream() uintptr { return o.dev.DefaultStream() }

// NewStream begins a thread.
func (o *Order) NewStream() (uintptr, error) {
	return o.begun(o.dev.NewStream())
}

// begun notes a new stream.
func (o *Order) begun(h uintptr, err error) (uintptr, error) {
	if err == nil {
		o.mu.Lock()
		o.streams.remove(h)
		o.streams.add(h)
		o.mu.Unlock()
	}
	return h, err
}

// DestroyStream ends a thread.
func (o *Order) DestroyStream(s uintptr) error {
	o.mu.Lock()
	t := o.streams.remove(s)
	o.mu.Unlock()
	err := o.dev.DestroyStream(s)
	if err != nil {
		o.mu.Lock()
		o.streams.restore(t)
		o.mu.Unlock()
	}
	return err
}

// Sync tells the host what the stream has been given before.
func (o *Order) Sync(s uintptr) error {
	o.mu.Lock()
	t := o.streams.get(s)
	known := t.clock.copy()
	o.mu.Unlock()
	err := o.dev.Sync(s)
	o.learn(known, err == nil)
	o.mu.Lock()
	if t.failed++; err == nil || errors.Is(err, alloc.ErrCapturing) {
		t.failed = 0
	}
	o.mu.Unlock()
	return err
}

// learn notes what the host knows to be over, if it does.
func (o *Order) learn(known clock, sure bool) {
	if sure {
		o.mu.Lock()
		o.streams.host.join(known)
		o.mu.Unlock()
	}
}

// NewEvent makes an event that knows nothing.
func (o *Order) NewEvent() (uintptr, error) {
	return o.fresh(o.dev.NewEvent())
}

// fresh notes a new event.
func (o *Order) fresh(e uintptr, err error) (uintptr, error) {
	if err == nil {
		o.mu.Lock()
		o.events[e] = &event{}
		o.mu.Unlock()
	}
	return e, err
}

// DestroyEvent forgets it.
func (o *Order) DestroyEvent(e uintptr) error {
	o.mu.Lock()
	old := o.events[e]
	delete(o.events, e)
	o.mu.Unlock()
	err := o.dev.DestroyEvent(e)
	if err != nil && old != nil {
		o.mu.Lock()
		o.events[e] = old
		o.mu.Unlock()
	}
	return err
}

// Record makes e know what the stream has been given before.
func (o *Order) Record(e, s uintptr) error {
	o.mu.Lock()
	t := o.streams.get(s)
	known, taken := t.clock.copy(), t.taking != nil
	o.mu.Unlock()
	err := o.dev.Record(e, s)
	if err == nil && !taken { // in a capture it comes to pass at each launch, and nobody can ask
		o.mu.Lock()
		ev := o.event(e)
		ev.clock, ev.number = known, ev.number+1
		o.mu.Unlock()
	}
	return err
}

func (o *Order) event(e uintptr) *event {
	ev := o.events[e]
	if ev == nil {
		ev = &event{}
		o.events[e] = ev
	}
	return ev
}

// read returns what e knows, and the number of its recording.
func (o *Order) read(e uintptr) (clock, uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ev := o.event(e)
	return ev.clock.copy(), ev.number
}

// reread drops from known, which read has returned, what e does not know any more if it has been recorded
// meanwhile: nobody can say which recording the device has meant.
func (o *Order) reread(e uintptr, known clock, number uint64) {
	if now, again := o.read(e); again != number {
		known.meet(now)
	}
}

// Query tells the host what e knows, if the answer is yes.
func (o *Order) Query(e uintptr) (bool, error) {
	known, number := o.read(e)
	done, err := o.dev.Query(e)
	o.reread(e, known, number)
	o.learn(known, done && err == nil)
	return done, err
}

// SyncEvent tells the host what e knows.
func (o *Order) SyncEvent(e uintptr) error {
	known, _ := o.read(e) // a recording during the call is not what it waits for
	err := o.dev.SyncEvent(e)
	o.learn(known, err == nil)
	return err
}

// Wait tells the stream what e knows.
func (o *Order) Wait(s, e uintptr) error {
	known, number := o.read(e)
	err := o.dev.Wait(s, e)
	if err == nil {
		o.reread(e, known, number)
		o.mu.Lock()
		if t := o.streams.get(s); t.taking == nil {
			t.clock.join(known)
		}
		o.mu.Unlock()
	}
	return err
}

// A call is a call of the device that enqueues work.
type call struct {
	order  *Order
	thread *thread
	known  clock    // of the stream before
	deeds  [2]*deed // what it does to the device's memory, or to page-locked memory
}

// copies is work for a call that copies between p and host memory and is done with that when it returns. What
// is only registered is like any other memory to it, and may cease to be registered meanwhile.
func (o *Order) copies(what string, s uintptr, p alloc.Ptr, host unsafe.Pointer, n int64) *call {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := n
	if spans := o.mem.in(bytesOf(uintptr(host), n)); len(spans) > 0 && spans[0].registered {
		m = 0
	}
	return o.enqueue(what, s, uintptr(p), n, uintptr(host), m)
}

// work begins a call that touches [p, p+n), and [q, q+m) if m is not 0.
func (o *Order) work(what string, s, p uintptr, n int64, q uintptr, m int64) *call {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.enqueue(what, s, p, n, q, m)
}

// enqueue is work. o.mu is held.
func (o *Order) enqueue(what string, s, p uintptr, n int64, q uintptr, m int64) *call {
	c := &call{order: o, thread: o.streams.get(s)}
	c.known = c.thread.clock.copy()
	if t := c.thread.taking; t != nil {
		t.add(bytesOf(p, n))
		if m > 0 {
			t.add(bytesOf(q, m))
		}
		return c
	}
	lo, hi := bytesOf(p, n)
	c.deeds[0] = newDeed(what, c.thread, lo, hi)
	if m > 0 {
		lo, hi := bytesOf(q, m)
		c.deeds[1] = newDeed(what, c.thread, lo, hi)
	}
	for _, d := range c.deeds {
		if d != nil {
			o.begin(d)
		}
	}
	return c
}

// end ends it. Of what it did to deeds[i] something is left to run if left[i] says so.
func (c *call) end(err error, left [2]bool) error {
	c.order.mu.Lock()
	defer c.order.mu.Unlock()
	var n uint64
	if err == nil && (left[0] || left[1]) && c.deeds[0] != nil {
		n = c.thread.next()
	}
	for i, d := range c.deeds {
		switch {
		case d == nil:
		case left[i]:
			c.order.end(d, n)
		default:
			c.order.end(d, 0)
		}
	}
	return err
}

// CopyIn is work on dst. The source is read when it returns.
func (o *Order) CopyIn(s uintptr, dst alloc.Ptr, src unsafe.Pointer, n int64) error {
	c := o.copies("copy in", s, dst, src, n)
	return c.end(o.dev.CopyIn(s, dst, src, n), [2]bool{true, false})
}

// CopyOut is work that is over when it returns, and all work of the stream before it.
func (o *Order) CopyOut(s uintptr, dst unsafe.Pointer, src alloc.Ptr, n int64) error {
	c := o.copies("copy out", s, src, dst, n)
	err := c.end(o.dev.CopyOut(s, dst, src, n), [2]bool{})
	o.learn(c.known, err == nil)
	return err
}

// Copy is work on both.
func (o *Order) Copy(s uintptr, dst, src alloc.Ptr, n int64) error {
	c := o.work("copy", s, uintptr(dst), n, uintptr(src), n)
	return c.end(o.dev.Copy(s, dst, src, n), [2]bool{true, true})
}

// Fill is work.
func (o *Order) Fill(s uintptr, dst alloc.Ptr, pattern uint32, width int, count int64) error {
	c := o.work("fill", s, uintptr(dst), int64(width)*count, 0, 0)
	return c.end(o.dev.Fill(s, dst, pattern, width, count), [2]bool{true, false})
}

// Granularity is like alloc.Mapper.Granularity, and 0 if the device behind o does not map.
func (o *Order) Granularity() int64 {
	if o.mapper == nil {
		return 0
	}
	return o.mapper.Granularity()
}

// Reserve is like alloc.Mapper.Reserve.
func (o *Order) Reserve(size int64) (alloc.Ptr, error) { return o.mapper.Reserve(size) }

// Unreserve is like alloc.Mapper.Unreserve.
func (o *Order) Unreserve(p alloc.Ptr, size int64) error { return o.mapper.Unreserve(p, size) }

// Map notes fresh memory.
func (o *Order) Map(p alloc.Ptr, size int64) error {
	err := o.mapper.Map(p, size)
	if err == nil {
		o.arrives(uintptr(p), size)
	}
	return err
}

// Move judges like Unmap, which it is if it loses the memory. What the memory has behind it goes with it to
// dst, and that is nothing: its work is over.
func (o *Order) Move(dst, src alloc.Ptr, size int64) error {
	err := o.leaves("move", uintptr(src), size, func() error { return o.mapper.Move(dst, src, size) })
	if err == nil {
		o.arrives(uintptr(dst), size)
	}
	return err
}

// Unmap judges that all work on the memory is known to be over.
func (o *Order) Unmap(p alloc.Ptr, size int64) error {
	return o.leaves("unmap", uintptr(p), size, func() error { return o.mapper.Unmap(p, size) })
}

// AllocHost notes fresh page-locked memory. It is errors.ErrUnsupported if the device behind o does not pin.
func (o *Order) AllocHost(size int64) (unsafe.Pointer, error) {
	if o.pinner == nil {
		return nil, errors.ErrUnsupported
	}
	p, err := o.pinner.AllocHost(size)
	if err == nil {
		o.arrives(uintptr(p), size)
	}
	return p, err
}

// FreeHost judges like Free.
func (o *Order) FreeHost(p unsafe.Pointer, size int64) error {
	return o.leaves("free of host memory", uintptr(p), size,
		func() error { return o.pinner.FreeHost(p, size) })
}

// Capturing is like alloc.Capturer.Capturing, and false if the device behind o does not capture.
func (o *Order) Capturing(s uintptr) (bool, error) {
	if o.capturer == nil {
		return false, nil
	}
	return o.capturer.Capturing(s)
}

// AdoptStream is like alloc.StreamAdopter.AdoptStream: errors.ErrUnsupported if the device behind o adopts
// none.
func (o *Order) AdoptStream(s uintptr) error {
	if o.adopter == nil {
		return errors.ErrUnsupported
	}
	return o.adopter.AdoptStream(s)
}

// Staged is like alloc.Stager.Staged, and 0 if the device behind o stages nothing.
func (o *Order) Staged() int64 {
	if d, ok := o.dev.(alloc.Stager); ok {
		return d.Staged()
	}
	return 0
}
