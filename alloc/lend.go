package alloc

// Lending. A stream that finds no memory of its own may get an idle block that lies
// in another stream's segment, once that stream's work on it is known to be complete. The
// block is lent: its heap is the borrower's, whose lock guards it, whose counters count
// it, and among whose guests, or warm, it is idle after a Free. Guests are used again whole, for
// requests they fit closely. They go home when somebody looks for memory and the
// borrower's work on them is complete. The block's neighbours and its place in the
// segment stay under the lock of the segment's home.

// lend takes an idle block of size bytes, or of class c, whose work is complete or
// comes before number after of the heap's lane. It leaves the block busy and lent, in no list.
// o.mu is held; the caller makes it the borrower's.
func (o *heap) lend(size int64, c int, after uint64) *block {
	if o.shut {
		return nil
	}
	o.cool()
	fine := func(b *block) bool { return b.stamp < after || o.lane.complete(b.stamp) }
	var b *block
	if c >= 0 {
		b = o.lendSlot(c, fine)
		size = classSize(c)
	}
	if b == nil && o.whole.rows != 0 {
		// Whole segments are lent whole.
		if b = o.whole.find(size); b != nil && fine(b) && b.size <= size+size/singleWaste {
			o.whole.take(b)
		} else {
			b = nil
		}
	}
	if b == nil {
		b = o.idle.find(size)
		for i := 0; b != nil && !fine(b); i++ {
			if i == candidates {
				return nil
			}
			b = o.idle.after(b)
		}
		if b == nil {
			return nil
		}
		o.idle.take(b)
		if rest := o.split(b, size); rest != nil {
			o.idle.put(rest)
		}
	}
	b.state = stateBusy
	b.lent = true
	return b
}

// lendSlot takes a slot of class c out of its run.
func (o *heap) lendSlot(c int, fine func(*block) bool) *block {
	i := 0
	for r := o.runs[c]; r != nil && i < candidates; r = r.next {
		for at := &r.free; *at != nil && i < candidates; at = &(*at).next {
			i++
			b := *at
			if !fine(b) {
				continue
			}
			*at, b.next = b.next, nil
			if r.idle--; r.idle == 0 {
				o.unlistRun(r, c)
			}
			return b
		}
	}
	return nil
}

// empty reports whether o has certainly nothing to give.
func (o *heap) empty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.warm != nil || o.idle.rows != 0 || o.whole.rows != 0 || o.guests.rows != 0 || o.pens != 0 {
		return false
	}
	for _, r := range o.runs {
		if r != nil {
			return false
		}
	}
	return true
}

// hasGuests reports whether idle blocks of others are with hp.
func (hp *heap) hasGuests() bool {
	hp.mu.Lock()
	defer hp.mu.Unlock()
	hp.cool()
	return hp.guests.rows != 0
}

// has reports whether o has an idle block for a request, complete or not.
func (o *heap) has(size int64, c int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cool()
	if c >= 0 {
		if o.runs[c] != nil {
			return true
		}
		size = classSize(c)
	}
	if b := o.whole.find(size); b != nil && b.size <= size+size/singleWaste {
		return true
	}
	return o.idle.find(size) != nil
}

// returnGuests sends home the guests whose work is known to be complete.
func (hp *heap) returnGuests() {
	hp.mu.Lock()
	hp.cool()
	var home *block
	for b := hp.guests.largest(); b != nil; {
		next := hp.guests.before(b)
		if hp.lane.complete(b.stamp) {
			hp.guests.take(b)
			b.state = stateBusy
			b.next, home = home, b
		}
		b = next
	}
	hp.mu.Unlock()
	for home != nil {
		b := home
		home, b.next = b.next, nil
		o := b.seg.home
		if b.run != nil {
			o = b.run.block.heap // which may have the run as a guest itself
		}
		o.mu.Lock()
		b.heap, b.lent, b.stamp = o, false, 0
		if h := b.header; h != nil {
			h.bind(b)
		}
		o.retire(b)
		o.mu.Unlock()
	}
}

// others looks through the heaps of other streams for a block whose work is known to be
// complete, or which the stream's own order puts behind that work. With wait, it makes the stream wait for
// the work of the first one that has a block at all.
func (m *climber) others(wait bool) *block {
	l := m.stream.lane
	for _, o := range *l.all.Load() {
		if o.hasGuests() {
			o.ready()
		}
	}
	// First what lies ready. Tidying up takes the empty runs from streams that may be about to
	// use them: these would come here next, and do the same to others.
	for _, t := range *m.core.lanes.Load() {
		if t == l {
			continue
		}
		for _, o := range *t.all.Load() {
			if !o.empty() {
				o.look()
				if b := m.borrow(o); b != nil {
					return b
				}
			}
		}
	}
	for _, t := range *m.core.lanes.Load() {
		if t == l {
			continue
		}
		waited := false
		for _, o := range *t.all.Load() {
			if o.empty() {
				continue
			}
			o.ready()
			if b := m.borrow(o); b != nil {
				return b
			}
			if !wait || waited || m.stream.ready() != nil {
				continue
			}
			o.mu.Lock()
			o.dissolve(false) // runs that are not complete either
			o.mu.Unlock()
			if !o.has(m.size, m.class) {
				continue
			}
			if l.follow(t) != nil {
				continue
			}
			waited = true
			m.core.waits.Add(1)
			if b := m.borrow(o); b != nil {
				return b
			}
		}
	}
	return nil
}

// borrow takes a block from o, a heap of another stream, for the climber's heap.
func (m *climber) borrow(o *heap) *block {
	after := m.stream.lane.follows(o.lane)
	var b *block
	run := false
	o.mu.Lock()
	if m.class >= 0 {
		// A run rather than a slot, unless there is nothing else: the next Make finds one of
		// its own, and the streams do not meet in one run's bookkeeping again and again, as the
		// slot would stay with this one.
		b = o.lend(m.need, -1, after)
		run = b != nil
	}
	if b == nil && (m.class < 0 || m.slots) {
		b = o.lend(m.size, m.class, after)
	}
	o.mu.Unlock()
	if b == nil {
		return nil
	}
	hp := m.heap
	hp.mu.Lock()
	b.heap = hp
	if h := b.header; h != nil {
		h.bind(b) // says so to whoever finds the header dead
	}
	if run {
		hp.cut(b, m.class)
		if b = hp.grab(m.size, m.class); b == nil {
			hp.mu.Unlock() // the pool was closed meanwhile
		}
		return b
	}
	b.state = stateLive
	hp.shard.Alloc(b.size)
	return b
}
