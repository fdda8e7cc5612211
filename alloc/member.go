package alloc

import (
	"fmt"
	"runtime"
	"slices"
)

// What comes before what in a capture: waits between its members, and streams that join by waiting.

// knowsOf returns up to which of n's points its work comes before what m is given now. memory.mu is held.
func (m *member) knowsOf(n *member) uint64 {
	if n.index < len(m.knows) {
		return m.knows[n.index]
	}
	return 0
}

// learn notes that what m is given from now on comes behind p. memory.mu is held.
func (m *member) learn(p point) {
	for len(m.knows) < len(m.capture.members) {
		m.knows = append(m.knows, 0)
	}
	for i, n := range p.knows {
		m.knows[i] = max(m.knows[i], n)
	}
	i := p.member.index
	m.knows[i] = max(m.knows[i], p.number+1)
}

// point begins a new point of m, and returns what lies before it.
func (m *member) point() point {
	m.capture.memory.mu.Lock()
	defer m.capture.memory.mu.Unlock()
	p := point{m, m.count, slices.Clone(m.knows)}
	m.count++
	return p
}

// waitCaptured is s.Wait(t) where m, the part of s, or n, that of t, is in a capture.
func waitCaptured(s *Stream, m, n *member) {
	switch {
	case n == nil || m != nil && m.capture != n.capture:
		m.capture.fail(errOutside)
		return
	case !s.core.estate.enter():
		return // the pool is gone, and the capture with it
	}
	defer s.core.leave()
	e, err := s.core.event()
	if err == nil {
		defer s.core.estate.putEvent(e)
		p := n.point()
		s.core.calls.Add(1)
		if err = s.core.dev.Record(e, n.stream.heap.line.handle); err == nil {
			err = n.capture.follow(s, m, e, p)
		}
	}
	if err != nil {
		n.capture.fail(fmt.Errorf("wait: %w", err))
	}
}

// follow makes what s is given from now on come behind p, which e stands for. If s, whose part is m, is not
// in the capture it joins it.
func (k *capture) follow(s *Stream, m *member, e uintptr, p point) error {
	c := k.core
	c.calls.Add(1)
	if m != nil {
		if err := c.dev.Wait(s.heap.line.handle, e); err != nil {
			return err
		}
	} else {
		k.memory.mu.Lock()
		m = &member{capture: k, stream: s, index: len(k.members)}
		k.members = append(k.members, m)
		k.memory.mu.Unlock()
		if err := k.claim(m); err != nil {
			return err
		}
		if err := c.grapher.JoinCapture(k.origin.heap.line.handle, s.heap.line.handle, e); err != nil {
			k.release(m) // what it is given runs
			return err
		}
		m.take()
	}
	k.memory.mu.Lock()
	m.learn(p)
	k.memory.mu.Unlock()
	return nil
}

// record makes r an event of the capture.
func (m *member) record(r *eventRecord) error {
	c := m.capture.core
	e, err := c.event()
	if err != nil {
		return err
	}
	p := m.point()
	c.calls.Add(1)
	if err := c.dev.Record(e, m.stream.heap.line.handle); err != nil {
		c.estate.putEvent(e)
		return err
	}
	r.event, r.inside = e, &p
	runtime.AddCleanup(r, c.estate.putEvent, e)
	return nil
}

// waitInside is s.WaitEvent of an event r that was recorded in a capture, or on a stream whose part in one is
// m.
func (s *Stream) waitInside(m *member, r *eventRecord) {
	switch {
	case r == nil: // the zero Event is done
		return
	case r.inside == nil || m != nil && m.capture != r.inside.member.capture:
		m.capture.fail(errOutside)
		return
	case r.inside.member.stream.member() != r.inside.member || s.core != r.core:
		s.heap.line.fail(fmt.Errorf("alloc: wait event: event was recorded in a capture: Record one behind the graph's Launch: %w", ErrCapturing))
		return
	case !s.core.estate.enter():
		return
	}
	defer s.core.leave()
	k := r.inside.member.capture
	if err := k.follow(s, m, r.event, *r.inside); err != nil {
		k.fail(fmt.Errorf("wait event: %w", err))
	}
}
