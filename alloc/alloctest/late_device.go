package alloctest

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/lastuse/lastuse/alloc"
)

// Streams, events and memory of a Late.

var (
	_ alloc.Mapper        = (*Late)(nil)
	_ alloc.Pinner        = (*Late)(nil)
	_ alloc.Capturer      = (*Late)(nil)
	_ alloc.StreamAdopter = (*Late)(nil)
)

// Name says whose memory it is.
func (l *Late) Name() string { return "late " + l.dev.Name() }

// MemInfo is that of the device whose memory it is.
func (l *Late) MemInfo() (free, total int64, err error) { return l.dev.MemInfo() }

// DefaultStream returns the stream that is always there.
func (l *Late) DefaultStream() uintptr { return lateDefault }

// NewStream makes a stream. Handles of streams and events are never used again.
func (l *Late) NewStream() (uintptr, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.streams[l.last] = &lateStream{handle: l.last}
	return l.last, nil
}

// DestroyStream gives up a stream whose work has run.
func (l *Late) DestroyStream(s uintptr) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	st, err := l.on(s)
	switch {
	case err != nil:
		return err
	case s == lateDefault:
		return errors.New("alloctest: late: destroy stream: the default stream stays")
	case len(st.queue) > 0:
		return fmt.Errorf("alloctest: late: destroy stream: %d pieces of its work have not run",
			len(st.queue))
	}
	delete(l.streams, s)
	return nil
}

// Sync runs all work of the stream.
func (l *Late) Sync(s uintptr) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	st, err := l.running(s)
	if err == nil {
		l.finish(&lateMark{st, st.end()})
	}
	return err
}

// SetCapturing makes a stream behave as if it were being captured into a graph, or ends that. Meanwhile it
// refuses all work, and Sync. To record an event on it or to make it wait is a fault.
func (l *Late) SetCapturing(s uintptr, on bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	st, err := l.on(s)
	if err == nil {
		st.captured = on
	}
	return err
}

// Capturing reports whether SetCapturing said so, or a capture is under way.
func (l *Late) Capturing(s uintptr) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	st, err := l.on(s)
	return err == nil && (st.captured || st.member != nil), err
}

// AdoptStream knows the streams of l.
func (l *Late) AdoptStream(s uintptr) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.on(s)
	return err
}

// NewEvent makes an event.
func (l *Late) NewEvent() (uintptr, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.events[l.last] = &lateEvent{}
	return l.last, nil
}

// event returns an event. l.mu is held.
func (l *Late) event(e uintptr) (*lateEvent, error) {
	if ev := l.events[e]; ev != nil {
		return ev, nil
	}
	return nil, fmt.Errorf("%w: event %d", errNoHandle, e)
}

// DestroyEvent gives an event up.
func (l *Late) DestroyEvent(e uintptr) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.event(e)
	delete(l.events, e)
	return err
}

// Record makes e stand for what the stream has been given.
func (l *Late) Record(e, s uintptr) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	st, err := l.takes(s)
	if err != nil {
		l.tiesIn("record", err)
		return err
	}
	ev, err := l.event(e)
	if err != nil {
		return err
	}
	if ev.place = nil; st.member != nil {
		ev.place = st.member.place()
		return nil
	}
	ev.mark = &lateMark{st, st.end()}
	return nil
}

// Query answers yes to whoever has been told so before, and else now and then: then it runs the work first.
func (l *Late) Query(e uintptr) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ev, err := l.event(e)
	if err == nil && ev.place != nil {
		err = fmt.Errorf("alloctest: late: event %d was recorded in a capture: %w", e, alloc.ErrCapturing)
	}
	if err != nil {
		return false, err
	}
	m := ev.mark
	if m == nil || m.stream.told >= m.number {
		return true, nil
	}
	if l.rand.IntN(l.coy) != 0 || !l.run(m.stream, m.number, false) {
		return false, nil
	}
	m.stream.told = m.number
	return true, nil
}

// SyncEvent runs the work that e stands for.
func (l *Late) SyncEvent(e uintptr) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ev, err := l.event(e)
	if err == nil && ev.place != nil {
		return fmt.Errorf("alloctest: late: event %d was recorded in a capture: %w", e, alloc.ErrCapturing)
	}
	if err == nil && ev.mark != nil {
		l.finish(ev.mark)
	}
	return err
}

// Wait enqueues the wait for what e stands for now.
func (l *Late) Wait(s, e uintptr) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ev, err := l.event(e)
	if err != nil {
		return err
	}
	st, err := l.takes(s)
	if err == nil && (st.member != nil || ev.place != nil) {
		if p := ev.place; p != nil && st.member != nil && p.member.taking == st.member.taking {
			st.member.learn(p)
			return nil
		}
		err = fmt.Errorf("alloctest: late: stream %d and event %d are not of one capture: %w", s, e,
			alloc.ErrCapturing)
	}
	if err != nil {
		l.tiesIn("wait", err)
		return err
	}
	st.queue = append(st.queue, &lateWork{after: ev.mark})
	return nil
}

// Alloc is like alloc.Device.Alloc.
func (l *Late) Alloc(size int64) (alloc.Ptr, error) { return l.dev.Alloc(size) }

// Free keeps the memory if there is work left that would touch it.
func (l *Late) Free(p alloc.Ptr, size int64) error {
	if l.gone("free", uintptr(p), size) {
		return nil
	}
	return l.dev.Free(p, size)
}

// Granularity is like alloc.Mapper.Granularity.
func (l *Late) Granularity() int64 {
	if l.mapper == nil {
		return 0
	}
	return l.mapper.Granularity()
}

// Reserve is like alloc.Mapper.Reserve.
func (l *Late) Reserve(size int64) (alloc.Ptr, error) { return l.mapper.Reserve(size) }

// Unreserve is like alloc.Mapper.Unreserve.
func (l *Late) Unreserve(p alloc.Ptr, size int64) error { return l.mapper.Unreserve(p, size) }

// Map is like alloc.Mapper.Map.
func (l *Late) Map(p alloc.Ptr, size int64) error { return l.mapper.Map(p, size) }

// Move drops work that is left on what moves.
func (l *Late) Move(dst, src alloc.Ptr, size int64) error {
	l.gone("move", uintptr(src), size)
	return l.mapper.Move(dst, src, size)
}

// Unmap drops work that is left on what goes.
func (l *Late) Unmap(p alloc.Ptr, size int64) error {
	l.gone("unmap", uintptr(p), size)
	return l.mapper.Unmap(p, size)
}

// AllocHost is like alloc.Pinner.AllocHost, and errors.ErrUnsupported if there is no page-locked memory.
func (l *Late) AllocHost(size int64) (unsafe.Pointer, error) {
	if l.pinner == nil {
		return nil, errors.ErrUnsupported
	}
	return l.pinner.AllocHost(size)
}

// FreeHost keeps the memory if there is work left that would touch it.
func (l *Late) FreeHost(p unsafe.Pointer, size int64) error {
	if l.gone("free of host memory", uintptr(p), size) {
		return nil
	}
	return l.pinner.FreeHost(p, size)
}
