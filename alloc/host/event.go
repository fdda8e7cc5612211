package host

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lastuse/lastuse/alloc"
)

// An event is a name for the latest mark that was recorded under it.
type event struct {
	mu    sync.Mutex
	mark  *mark  // nil before the first Record
	timed bool   // constant
	place *place // in a capture, if it was recorded in one last
}

// A mark is one recording: a point on one stream that comes to pass once. Waits
// hold on to the mark, so recording the event again does not change what they wait
// for.
type mark struct {
	mu     sync.Mutex
	cond   sync.Cond
	passed bool
	timed  bool      // at is wanted
	at     time.Time // when it passed
	refs   int       // who knows of it; protected by home.mu
	next   *mark
	home   *marks // of the device whose event it is; constant
}

func (m *mark) pass() {
	m.mu.Lock()
	m.passed = true
	if m.timed {
		m.at = time.Now()
	}
	m.cond.Broadcast()
	m.mu.Unlock()
}

func (m *mark) wait() {
	m.mu.Lock()
	for !m.passed {
		m.cond.Wait()
	}
	m.mu.Unlock()
}

func (m *mark) done() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.passed
}

// marks makes marks and uses them again.
type marks struct {
	mu   sync.Mutex
	free *mark
}

// new returns a mark known to refs.
func (ms *marks) new(refs int) *mark {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.free
	if m == nil {
		m = &mark{home: ms}
		m.cond.L = &m.mu
	} else {
		ms.free = m.next
	}
	m.passed, m.timed, m.refs, m.next = false, false, refs, nil
	return m
}

// hold adds one who knows of m.
func (ms *marks) hold(m *mark) {
	ms.mu.Lock()
	m.refs++
	ms.mu.Unlock()
}

// drop takes one away.
func (m *mark) drop() {
	ms := m.home
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m.refs--; m.refs == 0 {
		m.next, ms.free = ms.free, m
	}
}

var errNoEvent = errors.New("host: no such event")

// NewEvent makes an event.
func (d *Device) NewEvent() (uintptr, error) { return d.events.add(&event{}), nil }

// NewTimedEvent makes an event that notes when it comes to pass.
func (d *Device) NewTimedEvent() (uintptr, error) { return d.events.add(&event{timed: true}), nil }

// Elapsed returns the time between two timed events that have come to pass.
func (d *Device) Elapsed(start, end uintptr) (time.Duration, error) {
	var at [2]time.Time
	for i, h := range []uintptr{start, end} {
		m, err := d.current(h)
		if err != nil {
			return 0, err
		}
		if m == nil {
			return 0, fmt.Errorf("host: elapsed: event %d was never recorded", h)
		}
		m.mu.Lock()
		ok := m.passed && m.timed
		at[i] = m.at
		m.mu.Unlock()
		if m.drop(); !ok {
			return 0, fmt.Errorf("host: elapsed: event %d is not timed, or has not come to pass", h)
		}
	}
	return at[1].Sub(at[0]), nil
}

// DestroyEvent gives an event up.
func (d *Device) DestroyEvent(h uintptr) error {
	e := d.events.remove(h)
	if e == nil {
		return fmt.Errorf("%w: %d", errNoEvent, h)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mark != nil {
		e.mark.drop()
		e.mark = nil
	}
	return nil
}

// Record makes an event stand for what a stream has now.
func (d *Device) Record(h, sh uintptr) error {
	s, err := d.takes(sh)
	if err != nil {
		return err
	}
	e := d.events.get(h)
	if e == nil {
		return fmt.Errorf("%w: %d", errNoEvent, h)
	}
	if t := s.taker.Load(); t != nil {
		e.mu.Lock()
		e.place = t.point()
		e.mu.Unlock()
		return nil
	}
	m := d.marks.new(1)
	m.timed = e.timed
	if s.begin() { // nothing is left to run
		m.pass()
		s.end()
	} else {
		d.marks.hold(m)
		s.enqueue(d, op{kind: opRecord, mark: m})
	}
	e.mu.Lock()
	old := e.mark
	e.mark, e.place = m, nil
	e.mu.Unlock()
	if old != nil {
		old.drop()
	}
	return nil
}

// current returns the event's mark, held, or nil if it was never recorded.
func (d *Device) current(h uintptr) (*mark, error) {
	e := d.events.get(h)
	if e == nil {
		return nil, fmt.Errorf("%w: %d", errNoEvent, h)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.place != nil {
		return nil, fmt.Errorf("host: event %d was recorded in a capture: %w", h, alloc.ErrCapturing)
	}
	if e.mark != nil {
		d.marks.hold(e.mark)
	}
	return e.mark, nil
}

// Query reports whether an event has come to pass.
func (d *Device) Query(h uintptr) (bool, error) {
	m, err := d.current(h)
	if m == nil {
		return err == nil, err
	}
	defer m.drop()
	return m.done(), nil
}

// SyncEvent waits until it has.
func (d *Device) SyncEvent(h uintptr) error {
	m, err := d.current(h)
	if m == nil {
		return err
	}
	m.wait()
	m.drop()
	return nil
}

// Wait makes later work on a stream wait for an event.
func (d *Device) Wait(sh, h uintptr) error { return d.waitFor(sh, d, h) }

// WaitAcross is Wait for an event of another host device.
func (d *Device) WaitAcross(sh uintptr, of alloc.Device, h uintptr) error {
	for of != nil {
		if o, ok := of.(*Device); ok {
			return d.waitFor(sh, o, h)
		}
		w, ok := of.(interface{ Unwrap() alloc.Device })
		if !ok {
			break
		}
		of = w.Unwrap()
	}
	return fmt.Errorf("host: wait: %w", alloc.ErrForeign)
}

// waitFor makes later work on a stream of d wait for an event of o.
func (d *Device) waitFor(sh uintptr, o *Device, h uintptr) error {
	s, err := d.takes(sh)
	if err != nil {
		return err
	}
	if t := s.taker.Load(); t != nil {
		return t.waitFor(o, h)
	}
	m, err := o.current(h)
	if m == nil {
		return err
	}
	if m.done() {
		m.drop()
		return nil
	}
	s.enqueue(d, op{kind: opWait, mark: m})
	return nil
}
