package host

import (
	"errors"
	"fmt"
	"sync"
)

// An event is a name for the latest mark that was recorded under it.
type event struct {
	mu   sync.Mutex
	mark *mark // nil before the first Record
}

// A mark is one recording: a point on one stream that comes to pass once. Waits
// hold on to the mark, so recording the event again does not change what they wait
// for.
type mark struct {
	mu     sync.Mutex
	cond   sync.Cond
	passed bool
	refs   int // who knows of it; protected by marks.mu
	next   *mark
}

func (m *mark) pass() {
	m.mu.Lock()
	m.passed = true
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
		m = &mark{}
		m.cond.L = &m.mu
	} else {
		ms.free = m.next
	}
	m.passed, m.refs, m.next = false, refs, nil
	return m
}

// hold adds one who knows of m.
func (ms *marks) hold(m *mark) {
	ms.mu.Lock()
	m.refs++
	ms.mu.Unlock()
}

// drop takes one away.
func (ms *marks) drop(m *mark) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m.refs--; m.refs == 0 {
		m.next, ms.free = ms.free, m
	}
}

var errNoEvent = errors.New("host: no such event")

// NewEvent makes an event.
func (d *Device) NewEvent() (uintptr, error) { return d.events.add(&event{}), nil }

// DestroyEvent gives an event up.
func (d *Device) DestroyEvent(h uintptr) error {
	e := d.events.remove(h)
	if e == nil {
		return fmt.Errorf("%w: %d", errNoEvent, h)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mark != nil {
		d.marks.drop(e.mark)
		e.mark = nil
	}
	return nil
}

// Record makes an event stand for what a stream has now.
func (d *Device) Record(h, sh uintptr) error {
	s, err := d.on(sh)
	if err != nil {
		return err
	}
	e := d.events.get(h)
	if e == nil {
		return fmt.Errorf("%w: %d", errNoEvent, h)
	}
	m := d.marks.new(1)
	if s.begin() { // nothing is left to run
		m.pass()
		s.end()
	} else {
		d.marks.hold(m)
		s.enqueue(d, op{kind: opRecord, mark: m})
	}
	e.mu.Lock()
	old := e.mark
	e.mark = m
	e.mu.Unlock()
	if old != nil {
		d.marks.drop(old)
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
	defer d.marks.drop(m)
	return m.done(), nil
}

// SyncEvent waits until it has.
func (d *Device) SyncEvent(h uintptr) error {
	m, err := d.current(h)
	if m == nil {
		return err
	}
	m.wait()
	d.marks.drop(m)
	return nil
}

// Wait makes later work on a stream wait for an event.
func (d *Device) Wait(sh, h uintptr) error {
	s, err := d.on(sh)
	if err != nil {
		return err
	}
	m, err := d.current(h)
	if m == nil {
		return err
	}
	if m.done() {
		d.marks.drop(m)
		return nil
	}
	s.enqueue(d, op{kind: opWait, mark: m})
	return nil
}
