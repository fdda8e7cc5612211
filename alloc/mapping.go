package alloc

import "errors"

// A device that maps gives each heap a range of addresses, its segment, larger than all of the device's
// memory. Parts of it that have no memory are holes. Memory is put behind them in extents: what one call of
// Map got, and only whole extents can go elsewhere or back. To grow, a heap picks a hole, with the idle
// blocks beside it where that takes less memory, and puts extents behind it: first idle ones from anywhere
// in the pool, if much is idle; the rest fresh.
//
// What is idle of an extent that also has something live stays where it is until a request fits it. Such
// fragments lie at the ends of large blocks. Growth uses them up: where one lies beside a hole, a request
// may begin or end in it, and takes a granule less if it is large enough.

// extent returns the size of the extents that n bytes of fresh memory come in: one while memory is plenty, as
// a call of the device costs the same for any size; a granule each where all memory may be wanted, under a
// limit or when an eighth of what the device had left is reserved, because the smaller extents are the sooner
// they are all idle.
func (c *core) extent(n int64) int64 {
	if c.options.Growth == Tight || c.options.Limit > 0 || c.claimed.Load()+n > c.free/8 {
		return c.granule
	}
	return n
}

// roundGranule rounds n up to whole granules.
func (c *core) roundGranule(n int64) int64 { return (n + c.granule - 1) &^ (c.granule - 1) }

// A room is a hole that memory is to be put behind, with the idle blocks beside it that count towards what
// is asked for. All of them are busy.
type room struct {
	hole        *block
	left, right *block // nil: nothing counts on that side
	need        int64  // bytes from the hole's start on that serve with them, whole granules
}

// growMapped puts memory behind addresses of hp so that a block of size bytes fits somewhere.
func (c *core) growMapped(hp *heap, size int64, force bool) error {
	a := &c.arena
	move := force || c.idleIsMuch(size)
	if move {
		c.tidyAll()
	}
	c.moving.RLock()
	defer c.moving.RUnlock()
	r, err := c.takeRoom(hp, size)
	if err != nil {
		return err
	}
	want := r.need
	if spare := min(c.options.Segment/4, c.claimed.Load()/spareShare) &^ (c.granule - 1); !force &&
		r.right == nil && c.options.Growth != Tight {
		want = min(r.need+spare, r.hole.size)
	}
	done := int64(0) // bytes of the hole that have memory
	if move {
		done = c.moveTo(r.hole, r.need)
	}
	if done < r.need {
		var n int64
		if n, err = c.mapFresh(r.hole, done, want-done); n == 0 && errors.Is(err, ErrOutOfMemory) &&
			want > r.need {
			n, err = c.mapFresh(r.hole, done, r.need-done)
		}
		done += n
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, idle := range []*block{r.left, r.right} {
		if idle != nil {
			a.put(idle)
		}
	}
	if done == 0 {
		a.putHole(r.hole)
		return err
	}
	if rest := a.split(r.hole, done); rest != nil {
		a.putHole(rest)
	}
	r.hole.stamp = stamp{line: &hp.line}
	a.put(r.hole) // which joins it with them
	if done >= r.need {
		return nil
	}
	return err
}

// takeRoom takes a room out of hp's lists in which a block of size bytes fits when memory is behind it.
func (c *core) takeRoom(hp *heap, size int64) (room, error) {
	a := &c.arena
	for {
		a.mu.Lock()
		r := c.bestRoom(hp, size)
		if r.hole != nil {
			holes := &hp.shelf.holes[r.hole.seg.kind]
			holes.take(r.hole)
			if r.right != nil && r.hole.size > r.need {
				rest := a.split(r.hole, r.hole.size-r.need)
				holes.put(r.hole)
				r.hole = rest
			}
			r.hole.leave()
			for _, idle := range []*block{r.left, r.right} {
				if idle != nil {
					idle.binsOf().take(idle)
					idle.leave()
				}
			}
			a.mu.Unlock()
			return r, nil
		}
		a.mu.Unlock()
		if err := c.newRange(hp, c.kindOf(size), roundLarge(c.roundGranule(size))); err != nil {
			return room{}, err
		}
	}
}

// holesSeen bounds how many holes a search for a room looks at. What it costs is little beside the calls of
// the device that follow.
const holesSeen = 256

// bestRoom returns the room in which size bytes take the fewest granules, and of those the one in which
// least is left over, or the zero room if no hole is large enough. a.mu is held.
func (c *core) bestRoom(hp *heap, size int64) (best room) {
	holes := &hp.shelf.holes[c.kindOf(size)]
	over := int64(0)
	try := func(r room) {
		have := int64(0)
		for _, idle := range []*block{r.left, r.right} {
			if idle != nil {
				have += idle.size
			}
		}
		if r.need = c.roundGranule(size - have); r.left != nil && r.right != nil {
			r.need = r.hole.size
		}
		left := have + r.need - size
		if r.need <= r.hole.size && left >= 0 && left < c.granule &&
			(best.hole == nil || r.need < best.need || r.need == best.need && left < over) {
			best, over = r, left
		}
	}
	if h := holes.find(roundLarge(c.roundGranule(size))); h != nil {
		try(room{hole: h})
	}
	fragment := func(n *block) *block {
		if n != nil && n.shelved == stateIdle && n.stamp.line == &hp.line && n.size < size {
			return n
		}
		return nil
	}
	h := holes.largest()
	for i := 0; h != nil && i < holesSeen; i++ {
		l, r := fragment(h.left), fragment(h.right)
		if l != nil {
			try(room{hole: h, left: l})
		}
		if r != nil {
			try(room{hole: h, right: r})
		}
		if l != nil && r != nil {
			try(room{hole: h, left: l, right: r})
		}
		h = holes.before(h)
	}
	return best
}

// newRange reserves addresses for a new segment of a kind that can hold size bytes and more.
func (c *core) newRange(hp *heap, k kind, size int64) error {
	// Half as much again as the device has: moved extents leave holes behind.
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
	g := &granules{base: p, size: room, maps: true}
	c.estate.add(g)
	a := &c.arena
	a.mu.Lock()
	defer a.mu.Unlock()
	a.putHole(a.open(&segment{base: p, size: room, home: hp, kind: k, granules: g}, stamp{}))
	return nil
}

// mapFresh puts n bytes of fresh memory behind the busy block b from off on, and returns how many it could.
func (c *core) mapFresh(b *block, off, n int64) (done int64, err error) {
	if !c.claim(n) {
		return 0, errLimit
	}
	size := c.extent(n)
	for ; done < n && err == nil; size = min(size, n-done) {
		p := b.ptr + Ptr(off+done)
		c.calls.Add(1)
		if err = c.mapper.Map(p, size); err == nil {
			b.seg.granules.add(p, size)
			done += size
		}
	}
	c.unclaim(n - done)
	c.account.AddReserved(done)
	return done, err
}

// moveTo puts idle extents of the pool, which has been tidied up, behind the busy hole b, until n bytes of it
// have memory or no more are to be had. It returns how many have.
func (c *core) moveTo(b *block, n int64) (done int64) {
	a := &c.arena
	for done < n {
		p := a.takeExtents(n-done, b.size-done)
		if p == nil {
			break
		}
		err := errNotObservable
		if c.quiesce() {
			c.calls.Add(1)
			err = c.mapper.Move(b.ptr+Ptr(done), p.ptr, p.size)
		}
		a.mu.Lock()
		switch {
		case err == nil:
			b.seg.granules.moved(b.ptr+Ptr(done), p.seg.granules, p.ptr, p.size)
			done += p.size
			a.putHole(p)
		case errors.Is(err, ErrUnmapped):
			c.lost(p)
		default:
			a.put(p)
		}
		a.mu.Unlock()
		if err != nil {
			break
		}
	}
	return done
}

// lost makes the busy block p, whose memory is the device's again, a hole. The arena's lock is held.
func (c *core) lost(p *block) {
	p.seg.granules.remove(p.ptr, p.size)
	c.account.AddReserved(-p.size)
	c.unclaim(p.size)
	c.arena.putHole(p)
}
