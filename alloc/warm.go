package alloc

import (
	"math/bits"
	"unsafe"

	"github.com/lastuse/lastuse/internal/probe"
)

// The warm pair: the Make and the Free that nearly all of them are, in one function each. Whatever else
// there is to do is left to one call at the end of it, so that the compiler keeps nothing on the
// goroutine's stack for later: a pair has three locked instructions, each of which waits for the
// stores before it, and written as a tree of calls it took a quarter more time.

// make is Make, once for all element types. typ is a nil pointer to the element type, elem the
// element's size.
func (s *Stream) make(typ any, elem uintptr, n int) (*header, uint64, error) {
	hi, lo := bits.Mul64(uint64(elem), uint64(n))
	if hi != 0 || lo-1 >= maxSize || s.none() { // n <= 0 as well
		return s.makeNothing(typ, elem, n)
	}
	size := int64(lo)
	if s.careful.Load() {
		return s.makeCarefully(typ, size)
	}
	var hp *heap
	var b *block
	if s.late.Len() == 0 {
		if hp = s.lane.heap; s.lane.wide.Load() {
			hp = s.lane.pick()
		}
		if !hp.mu.TryLock() {
			hp = nil
		} else if w := *(*unsafe.Pointer)(unsafe.Pointer(&typ)); *hp.elem(w) == w && !hp.shut { // elemWord, without a copy
			if size <= smallMax {
				if r := hp.runs[classOf(size)]; r != nil && r.idle > 1 {
					b = r.free
					r.free, b.next = b.next, nil
					r.idle--
				}
			} else if hp.warm != nil && hp.warm.size == roundLarge(size) {
				b, hp.warm = hp.warm, nil
			}
			if b != nil {
				b.state = stateLive
				hp.shard.Alloc(b.size)
				if h := b.header; h != nil && !hp.shard.Due() {
					b.header = nil
					ptr, size, seq := b.ptr, b.size, hp.shard.Seq()
					hp.mu.Unlock()
					probe.Alloc(uintptr(ptr), uintptr(size), 0, seq)
					return h, h.word.Load() >> pinBits, nil
				}
			}
		}
	}
	return s.makeBlock(typ, size, hp, b, depthMake)
}

// free is Free: it ends generation gen. Of all the calls for one generation one releases the block;
// the others are counted as repeated.
func (h *header) free(gen uint64) {
	w := gen << pinBits // nobody uses the buffer
	if !h.word.CompareAndSwap(w, w+genUnit) {
		if h.end(gen) {
			h.release()
		}
		return
	}
	b := h.block
	hp := b.heap
	c := hp.core
	if c.careful || !hp.mu.TryLock() {
		h.release()
		return
	}
	r := b.run
	if b.site != 0 || b.others.Load() != 0 ||
		r != nil && (r.idle == 0 || b.lent) ||
		r == nil && (hp.warm != nil || b.adopted != nil) {
		h.releaseIn(hp, b)
		return
	}
	stamp := hp.lane.epoch.Load()
	b.stamp, hp.last = stamp, stamp
	if r != nil {
		b.state = stateIdle
		b.header, b.next, r.free = h, r.free, b
		r.idle++
	} else {
		b.state = stateWarm
		b.header, hp.warm = h, b
	}
	ptr, size := b.ptr, b.size
	hp.shard.Free(size)
	seq := hp.shard.Seq()
	hp.mu.Unlock()
	if c.closed.Load() {
		c.freed(hp, 0, true, ptr, size, seq, probe.Explicit)
		return
	}
	probe.Free(uintptr(ptr), uintptr(size), 0, seq, probe.Explicit)
}
