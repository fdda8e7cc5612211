package alloc

import "errors"

// Moving: whole granules that lie idle anywhere are put behind other addresses, so that they need
// not be fresh ones. See grow.go for when.

// idleIsMuch reports whether so much lies idle that n bytes more should come from
// there first.
func (c *core) idleIsMuch(n int64) bool {
	idle := int64(0)
	c.eachHeap(func(hp *heap) {
		hp.mu.Lock()
		hp.cool()
		idle += hp.idle.bytes + hp.whole.bytes + hp.guests.bytes
		hp.mu.Unlock()
	})
	return idle > (c.claimed.Load()-idle+n)/idleShare
}

// moveTo puts idle granules, of hp and then of other heaps, behind b, which is busy
// and void, until n bytes of it have memory or no more are to be had. It returns how many have.
func (hp *heap) moveTo(b *block, n int64) int64 {
	c := hp.core
	done := int64(0)
	from := func(o *heap) {
		o.ready()
		for done < n {
			p := o.takeGranules(n - done)
			if p == nil {
				return
			}
			c.quiesce()
			c.calls.Add(1)
			err := c.mapper.Move(b.ptr+Ptr(done), p.ptr, p.size)
			o.mu.Lock()
			if err != nil {
				if errors.Is(err, ErrUnmapped) {
					p.seg.granules.set(p.ptr, p.size, false)
					c.account.AddReserved(-p.size)
					c.unclaim(p.size)
					o.putVoid(p)
				} else {
					o.putIdle(p)
				}
				o.mu.Unlock()
				return
			}
			p.seg.granules.set(p.ptr, p.size, false)
			b.seg.granules.set(b.ptr+Ptr(done), p.size, true)
			done += p.size
			o.putVoid(p)
			o.mu.Unlock()
		}
	}
	from(hp)
	c.eachHeap(func(o *heap) {
		if o != hp && done < n {
			from(o)
		}
	})
	return done
}

// candidates bounds how many blocks a search through idle ones looks at: the ones that
// come first may all be too young to be complete.
const candidates = 32

// takeGranules takes whole granules, n bytes of them at most, out of the largest idle
// block whose work is known to be complete. What it returns is busy.
func (o *heap) takeGranules(n int64) *block {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cool()
	g := o.core.granule
	b := o.idle.largest()
	for i := 0; b != nil && i < candidates; i++ {
		if b.size < g {
			return nil
		}
		next := o.idle.before(b)
		// Whole granules of b; a block of hardly more than one may hold none.
		first := (int64(b.ptr) + g - 1) &^ (g - 1)
		size := (int64(b.ptr)+b.size)&^(g-1) - first
		if size > 0 && o.lane.complete(b.stamp) {
			o.idle.take(b)
			if skip := first - int64(b.ptr); skip > 0 {
				rest := o.split(b, skip)
				o.idle.put(b)
				b = rest
			}
			if rest := o.split(b, min(size, n)); rest != nil {
				rest.state = stateIdle
				o.idle.put(rest)
			}
			if h := b.header; h != nil {
				b.header = nil
				o.spareHeader(h)
			}
			b.state = stateBusy
			return b
		}
		b = next
	}
	return nil
}

// look asks the device how far the work on what is idle or pending in o has come.
func (o *heap) look() {
	o.mu.Lock()
	last := o.last
	o.mu.Unlock()
	o.lane.look(last)
	o.core.inquire(o)
}

// ready brings o's lists up to date before others take from them: what pending
// blocks and guests are known to be free, and which runs are empty. It asks the
// device how far the streams have come.
func (o *heap) ready() {
	o.look()
	o.returnGuests()
	o.mu.Lock()
	o.dissolve(true)
	o.mu.Unlock()
}
