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
	if m := s.member(); m != nil {
		return m.make(typ, size)
	}
	if c.options.Apart {
		return s.makeApart(typ, size)
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

// segments lists what is mapped of all segments, and live adopted memory. What only one goroutine has at
// the moment counts as idle.
func (c *core) segments() (all []books.Segment) {
	gap := true // what comes next begins a segment: what has no memory is not shown
	add := func(p Ptr, size int64, st state) {
		if size == 0 {
			return
		}
		if gap {
			all, gap = append(all, books.Segment{Base: uint64(p)}), false
		}
		if st != stateLive && st != statePending {
			st = stateIdle
		}
		s := &all[len(all)-1]
		s.Blocks = append(s.Blocks, books.Block{Offset: s.Size, Size: size, State: st.String()})
		s.Size += size
	}
	c.stopped(func() {
		c.walkLive(func(b *block) {
			if b.adopted != nil {
				gap = true
				add(b.ptr, b.size, stateLive)
			}
		})
		for _, seg := range c.arena.segs {
			gap = true
			for b := seg.first; b != nil; b = b.right {
				switch b.state {
				case stateHole:
					gap = true
				case stateRun:
					b.eachPart(add)
				default:
					add(b.ptr, b.size, b.state)
				}
			}
		}
	})
	return all
}

// eachPart calls f with the slots of the run b, idle ones side by side as one, and with what is left over of
// it. Between two that are not idle there may be nothing.
func (b *block) eachPart(f func(p Ptr, size int64, st state)) {
	idle := b.ptr
	for i := range b.slots.all {
		if s := &b.slots.all[i]; s.state == stateLive || s.state == statePending {
			f(idle, int64(s.ptr-idle), stateIdle)
			f(s.ptr, s.size, s.state)
			idle = s.ptr + Ptr(s.size)
		}
	}
	f(idle, int64(b.ptr-idle)+b.size, stateIdle)
}
