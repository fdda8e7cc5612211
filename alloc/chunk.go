package alloc

import (
	"errors"

	"github.com/lastuse/lastuse/internal/books"
)

// How graph memory comes from the pool.

// plainChunk is the least number of bytes of a chunk where the device does not map.
const plainChunk = 64 << 10

// chunk returns a chunk for a capture that began with s, in which size bytes fit: memory on which no work is
// left, in whole granules.
func (s *Stream) chunk(size int64) (chunk, error) {
	c := s.core
	n := roundLarge(max(size, plainChunk))
	if c.mapper != nil {
		n = c.roundGranule(size)
	}
	x, err := s.findChunk(n)
	if x == nil {
		c.rungs[rungFail].Add(1)
		switch {
		case c.closed.Load():
			return chunk{}, errPoolClosed
		case err != nil && !errors.Is(err, ErrOutOfMemory):
			return chunk{}, err
		}
		return chunk{}, s.pool.memoryError(n, err)
	}
	return *x, nil
}

// findChunk climbs a ladder like a Make's, but takes nothing on which work may be left.
func (s *Stream) findChunk(n int64) (*chunk, error) {
	c := s.core
	var err error
	complete := func() *chunk { return s.takeChunk(n, rungOther, c.arena.takeComplete) }
	fresh := func(force bool) *chunk {
		x := s.freshChunk(n, force, &err)
		if x == nil && err == nil { // it is in the arena, or others were quicker
			x = complete()
		}
		return x
	}
	scrape := func() *chunk {
		c.tidyAll()
		if x := complete(); x != nil || c.closed.Load() || err != nil && !errors.Is(err, ErrOutOfMemory) {
			return x
		}
		return fresh(true)
	}
	if x := complete(); x != nil {
		return x, nil
	}
	for _, o := range c.allHeaps() {
		o.inquire()
		o.latest().look()
		o.hasIdle()
	}
	if x := complete(); x != nil {
		return x, nil
	}
	if x := fresh(false); x != nil {
		return x, nil
	}
	if x := scrape(); x != nil {
		return x, nil
	}
	for _, o := range c.allHeaps() {
		for _, n := range append(o.needs(), o.latest()) {
			if n.complete() || n.await() != nil {
				continue
			}
			o.settle()
			if x := scrape(); x != nil {
				return x, nil
			}
		}
	}
	for range 2 { // what the program dropped may need one collection for its owners and one for itself
		c.collect()
		c.drain(-1)
		if x := scrape(); x != nil {
			return x, nil
		}
	}
	return nil, err
}

// takeChunk makes what take finds a chunk.
func (s *Stream) takeChunk(n int64, r rung, take func(hp *heap, n int64) *block) *chunk {
	c, hp := s.core, s.heap
	c.moving.RLock()
	defer c.moving.RUnlock()
	b := take(hp, n)
	if b == nil {
		return nil
	}
	hp.mu.Lock()
	b.state = stateLive
	b.stamp = stamp{line: &hp.line}
	hp.shard.Alloc(b.size)
	h := hp.headerFor(s.pool, b)
	x := chunk{header: h, gen: h.word.Load() >> pinBits, ptr: b.ptr, size: b.size, seq: hp.shard.Seq(),
		sample: hp.shard.Sample()}
	hp.mu.Unlock()
	c.tellMade(&hp.line, b)
	if c.trace != nil {
		c.trace.made(hp.line.index, b.ptr, b.size)
	}
	c.record(hp, books.Made, b.ptr, b.size)
	c.rungs[r].Add(1)
	return &x
}

// takeComplete takes n bytes of whole granules out of the idle blocks whose work is known to be over, for hp.
func (a *arena) takeComplete(hp *heap, n int64) *block {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := max(a.core.granule, unit)
	for _, o := range append([]*heap{hp}, a.core.allHeaps()...) {
		for k := range numKinds {
			bins := &o.shelf.idle[k]
			b := bins.find(roundLarge(n))
			for i := 0; b != nil && i < candidates; i, b = i+1, bins.after(b) {
				off := (g - int64(b.ptr-b.seg.base)%g) % g
				if b.stamp.complete() && off+n <= b.size {
					return a.carve(b, off, n)
				}
			}
		}
	}
	return nil
}

// carve takes [off, off+n) of the idle block b, and leaves the rest idle. What it returns is busy. a.mu is
// held.
func (a *arena) carve(b *block, off, n int64) *block {
	bins := b.binsOf()
	bins.take(b)
	if off > 0 {
		rest := a.split(b, off)
		bins.put(b)
		b = rest
	}
	if rest := a.split(b, n); rest != nil {
		bins.put(rest)
	}
	b.leave()
	return b
}

// freshChunk gets n bytes from the device: where it maps a chunk, else a segment, which the arena has then.
// With force idle memory is moved, or given back for it, before.
func (s *Stream) freshChunk(n int64, force bool, err *error) *chunk {
	c, hp := s.core, s.heap
	*err = nil
	if c.mapper == nil {
		if force {
			c.trimSegments(0, n)
		}
		*err = c.growSegment(hp, n)
		return nil
	}
	return s.takeChunk(n, rungFresh, func(hp *heap, n int64) *block {
		h, e := c.takeHole(hp, n)
		if e != nil {
			*err = e
			return nil
		}
		done := int64(0)
		if force {
			done = c.moveTo(h, n)
		}
		if done < n {
			var more int64
			more, *err = c.mapFresh(h, done, n-done)
			done += more
		}
		if done == n {
			return h
		}
		a := &c.arena
		a.mu.Lock()
		defer a.mu.Unlock()
		if done == 0 {
			a.putHole(h)
			return nil
		}
		if rest := a.split(h, done); rest != nil {
			a.putHole(rest)
		}
		h.stamp = stamp{line: &hp.line}
		a.put(h)
		return nil
	})
}

// takeHole takes a hole of n bytes, whole granules, of hp's, and makes it busy.
func (c *core) takeHole(hp *heap, n int64) (*block, error) {
	a, k := &c.arena, c.kindOf(n)
	for {
		a.mu.Lock()
		holes := &hp.shelf.holes[k]
		if h := holes.find(roundLarge(n)); h != nil {
			holes.take(h)
			if rest := a.split(h, n); rest != nil {
				holes.put(rest)
			}
			h.leave()
			a.mu.Unlock()
			return h, nil
		}
		a.mu.Unlock()
		if err := c.newRange(hp, k, roundLarge(n)); err != nil {
			return nil, err
		}
	}
}
