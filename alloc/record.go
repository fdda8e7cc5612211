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
	} else if h, gen, err = s.makeBlock(typ, size); err == nil {
		c.tellMade(&s.heap.line, h.block)
	}
	if err == nil {
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

// segments lists what is mapped of all segments, and live adopted memory.
func (c *core) segments() []books.Segment {
	var m blockMap
	c.stopped(func() {
		c.walkLive(func(b *block) {
			if b.adopted != nil {
				m.gap()
				m.add(b.ptr, b.size, stateLive)
			}
		})
		for _, seg := range c.arena.segs {
			m.gap()
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
		}
	})
	return m.segments() // the pool goes on meanwhile
}

// A blockMap collects blocks in the order of their addresses. A gap begins a new segment: what has no
// memory is not shown.
type blockMap []mapped

// mapped is a piece of a blockMap: a gap if it has no bytes.
type mapped struct {
	ptr   Ptr
	size  int64
	state state
}

func (m *blockMap) gap() { *m = append(*m, mapped{}) }

// add adds a block. What only one goroutine has at the moment counts as idle.
func (m *blockMap) add(p Ptr, size int64, st state) { *m = append(*m, mapped{p, size, st}) }

// addRun adds the slots of a run, idle ones side by side as one, and what is left over of it.
func (m *blockMap) addRun(b *block) {
	at := b.ptr // of what is idle
	for i := range b.slots.all {
		s := &b.slots.all[i]
		if s.state != stateLive && s.state != statePending {
			continue
		}
		if s.ptr > at {
			m.add(at, int64(s.ptr-at), stateIdle)
		}
		m.add(s.ptr, s.size, s.state)
		at = s.ptr + Ptr(s.size)
	}
	if end := b.ptr + Ptr(b.size); end > at {
		m.add(at, int64(end-at), stateIdle)
	}
}

// segments returns the segments that the pieces make up.
func (m blockMap) segments() (all []books.Segment) {
	open := false
	for _, b := range m {
		if b.size == 0 {
			open = false
			continue
		}
		if !open {
			all = append(all, books.Segment{Base: uint64(b.ptr)})
			open = true
		}
		s := &all[len(all)-1]
		word := "idle"
		if b.state == stateLive || b.state == statePending {
			word = b.state.String()
		}
		s.Blocks = append(s.Blocks, books.Block{Offset: int64(uint64(b.ptr) - s.Base), Size: b.size, State: word})
		s.Size += b.size
	}
	return all
}
