package alloc

import "errors"

// Growth: how a heap gets memory that no idle block has.
//
// A device that maps gives each heap a range of addresses, its segment, larger than
// all of the device's memory. Parts of it that have no memory are void blocks. To grow, a
// heap picks a void, with the idle blocks beside it where that takes fewer granules (see
// room.go), and puts memory behind it: first whole granules that lie idle elsewhere, in this heap
// or in others, if much is idle; the rest fresh. So fragments of a granule and more are never
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
	c.estate.add(g)
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
	r, err := hp.takeRoom(size)
	if err != nil {
		return err
	}
	b, need, want := r.void, r.need, r.need
	hp.mu.Lock()
	if spare := min(c.options.Segment, c.claimed.Load()/idleShare) &^ (c.granule - 1); !force && spare > 0 && r.right == nil {
		want = min(need+spare, b.size)
	}
	if rest := hp.split(b, want); rest != nil {
		hp.putVoid(rest)
	}
	hp.mu.Unlock()

	done := int64(0) // bytes of b that have memory
	if force || c.idleIsMuch(need) {
		if done = hp.moveTo(b, need); done > 0 {
			want = need // what lies idle was too much already, without spare granules
		}
	}
	for err = nil; done < need; {
		n := max(want, need) - done
		least := need - done
		var more int64
		more, err = c.mapFresh(b.seg.granules, b.ptr+Ptr(done), n)
		if done += more; err == nil {
			break
		}
		if n == least || !errors.Is(err, ErrOutOfMemory) {
			break
		}
		want = max(need, done+c.roundGranule((want-done)/2))
	}

	hp.mu.Lock()
	defer hp.mu.Unlock()
	for _, idle := range []*block{r.left, r.right} {
		if idle != nil {
			hp.putIdle(idle)
		}
	}
	if done == 0 {
		hp.putVoid(b)
		return err
	}
	if rest := hp.split(b, done); rest != nil {
		hp.putVoid(rest)
	}
	b.stamp = 0
	hp.putIdle(b) // which joins it with them
	return err
}

// roundGranule rounds n up to whole granules.
func (c *core) roundGranule(n int64) int64 { return (n + c.granule - 1) &^ (c.granule - 1) }

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
	c.estate.add(g)
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

// mapFresh puts fresh memory behind [p, p+n) of g, an extent for each granule, so that each can be moved. It returns
// how much of it has memory now.
func (c *core) mapFresh(g *granules, p Ptr, n int64) (done int64, err error) {
	if !c.claim(n) {
		return 0, errLimit
	}
	for ; err == nil && done < n; done += c.granule {
		c.calls.Add(1)
		if err = c.mapper.Map(p+Ptr(done), c.granule); err != nil {
			break
		}
	}
	c.unclaim(n - done)
	g.set(p, done, true)
	c.account.AddReserved(done)
	return done, err
}
