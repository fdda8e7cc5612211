package alloc

import (
	"fmt"
	"weak"

	"github.com/lastuse/lastuse/internal/books"
)

// What the books want to know beyond the counters: single events, if they keep a history, and a map
// of the segments.

// makeCarefully is make on a stream that wants a closer look, or in a pool that does: see
// Stream.careful.
func (s *Stream) makeCarefully(typ any, size int64) (h *header, gen uint64, err error) {
	c := s.core
	if err := s.ready(); err != nil {
		return nil, 0, fmt.Errorf("alloc: make: %w", err)
	}
	if c.options.Check {
		h, gen, err = s.makeChecked(typ, size)
	} else {
		h, gen, err = s.makeBlock(typ, size)
	}
	if err == nil {
		c.tellMade(&s.heap.line, h.block)
		if c.trace != nil {
			c.trace.made(s.heap.line.index, h.block.ptr, size)
		}
		c.record(h.block.heap(), books.Made, h.block.ptr, h.block.size)
	}
	return h, gen, err
}

// record adds an event to the history, if there is one.
func (c *core) record(hp *heap, kind books.Kind, ptr Ptr, size int64) {
	if c.recording {
		hp.shard.Record(kind, uintptr(ptr), size)
	}
}

// mapOf returns a function that lists p's segments and does not keep p alive.
func mapOf(p *Pool) func() []books.Segment {
	w := weak.Make(p)
	return func() []books.Segment {
		if p := w.Value(); p != nil {
			return p.core.segments()
		}
		return nil
	}
}

// segments lists what is mapped of all segments, and live adopted memory. It stops the pool while it
// looks.
func (c *core) segments() []books.Segment {
	var all []books.Segment
	c.stopped(func() {
		c.walkLive(func(b *block) {
			if b.adopted != nil {
				m := mapping{}
				m.add(b.ptr, b.size, stateLive)
				all = append(all, m.all...)
			}
		})
		for _, seg := range c.arena.segs {
			m := mapping{}
			for b := seg.first; b != nil; b = b.right {
				switch b.state {
				case stateHole:
					m.gap()
				case stateRun:
					m.addRun(b)
				default:
					m.add(b.ptr, b.size, b.state)
				}
			}
			all = append(all, m.all...)
		}
	})
	return all
}

// A mapping collects blocks in the order of their addresses. A gap begins a new segment: what has no
// memory is not shown.
type mapping struct {
	all  []books.Segment
	open bool
}

func (m *mapping) gap() { m.open = false }

// add adds a block. What only one goroutine has at the moment counts as idle.
func (m *mapping) add(p Ptr, size int64, st state) {
	if !m.open {
		m.all = append(m.all, books.Segment{Base: uint64(p)})
		m.open = true
	}
	s := &m.all[len(m.all)-1]
	word := "idle"
	if st == stateLive || st == statePending {
		word = st.String()
	}
	s.Blocks = append(s.Blocks, books.Block{Offset: int64(uint64(p) - s.Base), Size: size, State: word})
	s.Size += size
}

// addRun adds the slots of a run, idle ones side by side as one, and what is left over of it.
func (m *mapping) addRun(b *block) {
	at, idle := b.ptr, int64(0)
	flush := func() {
		if idle > 0 {
			m.add(at-Ptr(idle), idle, stateIdle)
			idle = 0
		}
	}
	for i := range b.slots.all {
		s := &b.slots.all[i]
		if s.state != stateLive && s.state != statePending {
			at += Ptr(s.size)
			idle += s.size
			continue
		}
		flush()
		m.add(s.ptr, s.size, s.state)
		at += Ptr(s.size)
	}
	idle += int64(b.ptr) + b.size - int64(at)
	at = b.ptr + Ptr(b.size)
	flush()
}
