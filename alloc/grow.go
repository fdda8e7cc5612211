package alloc

import (
	"errors"
	"fmt"
)

// Growth: how a heap gets memory that no idle block has.
//
// A device that maps gives each heap a range of addresses, its segment, larger than
// all of the device's memory. Parts of it that have no memory are void blocks. To grow, a
// heap picks a void, with the idle block before it if there is one, and puts memory
// behind it: first whole granules that lie idle elsewhere, in this heap or in
// others, if much is idle; the rest fresh. So fragments of a granule and more are never
// lost, and a big Make succeeds whenever enough whole granules are idle.
//
// Any other device gives segments, each memory of its own, and nothing can cross their
// bounds. Large buffers get segments for themselves there, which are used again whole and
// go back to the device when much is idle; so it is the device, which has page tables,
// that puts the pieces together.

// idleShare is the part of the live bytes that may lie idle before growth moves
// idle granules instead of asking for fresh ones: 1/32. Moving costs device calls at each
// growth; not moving costs memory.
const idleShare = 32

// claim takes n bytes of the limit. The device is called after, never before.
func (c *core) claim(n int64) bool {
	for {
		old := c.claimed.Load()
		if limit := c.options.Limit; limit > 0 && n > limit-old {
			return false
		}
		if c.claimed.CompareAndSwap(old, old+n) {
			return true
		}
	}
}

// unclaim gives n bytes of the limit back: the device did not give them, or has
// them again.
func (c *core) unclaim(n int64) { c.claimed.Add(-n) }

// grow adds memory to hp so that a block of size bytes fits. With force, idle
// granules are moved before fresh ones are asked for, however few there are. It
// calls the device; no lock is held.
func (hp *heap) grow(size int64, force bool) error {
	c := hp.core
	if c.mapper != nil {
		return hp.growMapped(size, force)
	}
	if c.idleIsMuch(size) {
		// Segments of other sizes that nobody uses: their memory comes back in
		// one piece.
		c.trimSegments(0, size)
	}
	return hp.growSegment(size)
}

// single returns the least size of a buffer that gets a segment of its own, where the device
// does not map.
func (c *core) single() int64 { return c.options.Segment / 2 }

// singleWaste is the part of a request, 1/8, by which a whole segment may be larger than the
// buffer that it is used for again.
const singleWaste = 8

// growSegment gets a segment of at least size bytes, larger if the device will give
// it.
func (hp *heap) growSegment(size int64) error {
	c := hp.core
	// Segments grow with the pool: few large ones leave fewer bounds.
	if size >= c.single() && size > smallMax {
		return hp.newSegment(size, true)
	}
	want := max(c.options.Segment, roundLarge(c.claimed.Load()/32))
	for {
		err := hp.newSegment(want, false)
		if err == nil || want == size || !errors.Is(err, ErrOutOfMemory) {
			return err
		}
		want = max(size, roundLarge(want/2))
	}
}

func (hp *heap) newSegment(size int64, single bool) error {
	c := hp.core
	if !c.claim(size) {
		return errLimit
	}
	c.calls.Add(1)
	p, err := c.dev.Alloc(size)
	if err != nil {
		c.unclaim(size)
		return err
	}
	g := &granules{base: p, size: size}
	if !c.estate.add(g) {
		c.dev.Free(p, size)
		c.unclaim(size)
		return fmt.Errorf("pool %w", ErrClosed)
	}
	c.account.AddReserved(size)
	hp.mu.Lock()
	defer hp.mu.Unlock()
	seg := &segment{base: p, size: size, home: hp, granules: g, single: single}
	b := hp.newBlock()
	b.ptr, b.size, b.heap, b.seg = p, size, hp, seg
	seg.first = b
	hp.segs = append(hp.segs, seg)
	hp.putIdle(b)
	return nil
}

// growMapped puts memory behind addresses of hp so that a block of size bytes fits
// somewhere.
func (hp *heap) growMapped(size int64, force bool) error {
	c := hp.core
	b, have, err := hp.takeRoom(size)
	if err != nil {
		return err
	}
	// b is void and busy, and so is the idle block before it if that counts towards
	// size.
	hp.mu.Lock()
	need := c.roundGranule(size - have)
	want := need
	if spare := min(c.options.Segment, c.claimed.Load()/idleShare) &^ (c.granule - 1); !force && spare > 0 {
		want = min(need+spare, b.size)
	}
	rest := hp.split(b, want)
	if rest != nil {
		hp.putVoid(rest)
	}
	hp.mu.Unlock()

	done := int64(0) // bytes of b that have memory
	if force || c.idleIsMuch(need) {
		done = hp.moveTo(b, need)
	}
	for err = nil; done < need; {
		n := max(want, need) - done
		if err = c.mapFresh(b.seg.granules, b.ptr+Ptr(done), n); err == nil {
			done += n
			break
		}
		if n == need-done || !errors.Is(err, ErrOutOfMemory) {
			break
		}
		want = max(need, done+c.roundGranule((want-done)/2))
	}

	hp.mu.Lock()
	defer hp.mu.Unlock()
	if done == 0 {
		hp.putVoid(b)
	} else {
		if rest := hp.split(b, done); rest != nil {
			hp.putVoid(rest)
		}
		b.stamp = 0
	}
	if have > 0 {
		l := b.left
		if done > 0 {
			hp.join(l)
			b = l
		} else {
			hp.putIdle(l)
		}
	}
	if done > 0 {
		hp.putIdle(b)
	}
	return err
}

// roundGranule rounds n up to whole granules.
func (c *core) roundGranule(n int64) int64 { return (n + c.granule - 1) &^ (c.granule - 1) }

// takeRoom takes a void that is to be filled out of hp's lists, so that a block of size
// bytes fits, and leaves it busy. If an idle block lies before the void it is left busy
// too, and have is its size: so much less memory has to be put behind addresses. Hence idle blocks
// with room behind them are looked at first, the largest of them before others.
func (hp *heap) takeRoom(size int64) (v *block, have int64, err error) {
	c := hp.core
	want := roundLarge(c.roundGranule(size))
	for {
		hp.mu.Lock()
		hp.cool()
		v = hp.extensible(size)
		if v == nil {
			v = hp.findVoid(want)
		}
		if v != nil {
			hp.voids.take(v)
			v.state = stateBusy
			if l := v.left; hp.joins(l, stateIdle) && l.size < size {
				hp.idle.take(l)
				l.state = stateBusy
				have = l.size
			}
			hp.mu.Unlock()
			return v, have, nil
		}
		hp.mu.Unlock()
		if err := hp.newRange(want); err != nil {
			return nil, 0, err
		}
	}
}

// extensible returns the void behind the largest idle block that can grow to size bytes, or
// nil.
func (hp *heap) extensible(size int64) *block {
	c := hp.core
	l := hp.idle.largest()
	for i := 0; l != nil && i < candidates && l.size >= c.granule; i++ {
		if v := l.right; l.size < size && hp.joins(v, stateVoid) && v.size >= c.roundGranule(size-l.size) {
			return v
		}
		l = hp.idle.before(l)
	}
	return nil
}

// Blocks of roomy granules and more get room behind them, as long as there are addresses for
// it: where the largest void is spread times the size they start in its middle. Once
// such a block is idle it can grow to serve a larger request, and only the difference has to be
// moved or mapped.
const (
	roomy  = 4
	spread = 4
)

// findVoid returns a void of size bytes or more, or nil. It stays in the lists, unless it
// is half of one that was.
func (hp *heap) findVoid(size int64) *block {
	g := hp.core.granule
	v := hp.voids.largest()
	if v == nil || size < roomy*g || v.size < spread*size {
		return hp.voids.find(size)
	}
	if v.left == nil {
		return v // nobody is before it who could grow
	}
	hp.voids.take(v)
	half := hp.split(v, v.size/2&^(g-1))
	hp.voids.put(v)
	hp.voids.put(half)
	return half
}

// newRange reserves addresses for a new segment that can hold size bytes and more.
func (hp *heap) newRange(size int64) error {
	c := hp.core
	// Half as much again as the device has: moved granules leave voids behind.
	room := c.roundGranule(max(c.total+c.total/2, 2*size))
	c.calls.Add(1)
	p, err := c.mapper.Reserve(room)
	if err != nil && room > size {
		room = c.roundGranule(size)
		c.calls.Add(1)
		p, err = c.mapper.Reserve(room)
	}
	if err != nil {
		return err
	}
	g := &granules{base: p, size: room, unit: c.granule, bits: make([]uint64, (room/c.granule+63)/64)}
	if !c.estate.add(g) {
		c.mapper.Unreserve(p, room)
		return fmt.Errorf("pool %w", ErrClosed)
	}
	hp.mu.Lock()
	defer hp.mu.Unlock()
	seg := &segment{base: p, size: room, home: hp, granules: g}
	b := hp.newBlock()
	b.ptr, b.size, b.heap, b.seg = p, room, hp, seg
	seg.first = b
	hp.segs = append(hp.segs, seg)
	hp.putVoid(b)
	return nil
}

// mapFresh puts fresh memory behind [p, p+n) of g.
func (c *core) mapFresh(g *granules, p Ptr, n int64) error {
	if !c.claim(n) {
		return errLimit
	}
	c.calls.Add(1)
	if err := c.mapper.Map(p, n); err != nil {
		c.unclaim(n)
		return err
	}
	g.set(p, n, true)
	c.account.AddReserved(n)
	return nil
}
