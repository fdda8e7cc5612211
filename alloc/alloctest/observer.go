package alloctest

import "github.com/lastuse/lastuse/internal/custody"

// An observer is what one pool tells an Order.
type observer struct{ order *Order }

var _ custody.Observed = (*Order)(nil)

// Observe is for alloc.NewPool.
func (o *Order) Observe() custody.Observer { return &observer{o} }

func bytesOf(p uintptr, size int64) (lo, hi uintptr) { return p, p + uintptr(size) }

// Made is custody.Observer's, like the other methods.
func (w *observer) Made(stream, p uintptr, size int64) { w.made("buffer made", stream, p, size, false) }

// Adopted takes memory that is a pool's already for that pool's.
func (w *observer) Adopted(stream, p uintptr, size int64) {
	w.made("buffer adopted", stream, p, size, true)
}

func (w *observer) made(what string, stream, p uintptr, size int64, adopted bool) {
	o := w.order
	o.mu.Lock()
	defer o.mu.Unlock()
	lo, hi := bytesOf(p, size)
	if adopted {
		for _, s := range o.mem.in(lo, hi) {
			if s.owner != nil {
				return
			}
		}
	}
	known := o.streams.host
	var t *thread
	if stream != custody.Host {
		t = o.streams.get(stream)
		known = t.clock
	}
	d := newDeed(what, t, lo, hi)
	b := &owner{pool: w, made: d, adopted: adopted}
	o.own(d, b, known)
	if t != nil {
		b.n = t.next()
	}
}

// Freed does nothing if the Make has failed in the middle.
func (w *observer) Freed(p uintptr, size int64) {
	o := w.order
	o.mu.Lock()
	defer o.mu.Unlock()
	lo, hi := bytesOf(p, size)
	d := newDeed("freed", nil, lo, hi)
	for _, s := range o.mem.cut(lo, hi) {
		switch {
		case s.owner == nil || s.owner.pool != w:
		case s.owner.adopted:
			o.release(s) // it is the buffer's until Released
			s.freed = d
		default:
			o.disown(s, d)
		}
	}
}

// Begin may come several times for the same memory and stream.
func (w *observer) Begin(stream, p uintptr, size int64) {
	o := w.order
	o.mu.Lock()
	defer o.mu.Unlock()
	lo, hi := bytesOf(p, size)
	t := o.streams.get(stream)
	if t.taking != nil {
		t.taking.add(lo, hi)
		return
	}
	o.begin(newDeed("work", t, lo, hi))
}

// End ends one of them.
func (w *observer) End(stream, p uintptr, size int64) {
	o := w.order
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.streams.get(stream)
	lo, hi := bytesOf(p, size)
	for _, s := range o.mem.in(lo, hi) {
		for _, x := range s.open {
			if x.thread == t && x.lo == lo && x.hi == hi && x.what == "work" {
				o.end(x.deed, t.next())
				return
			}
		}
	}
}

// Held notes one address for each stream.
func (w *observer) Held(stream, p uintptr, size int64) {
	o := w.order
	o.mu.Lock()
	defer o.mu.Unlock()
	lo, hi := bytesOf(p, size)
	t := o.streams.get(stream)
	if t.taking != nil {
		t.taking.add(lo, hi)
		return
	}
	d := newDeed("address given away for work", t, lo, hi)
next:
	for _, s := range o.mem.cut(lo, hi) {
		o.follow(s, d)
		for _, h := range s.holds {
			if h.thread == d.thread {
				continue next
			}
		}
		s.holds = append(s.holds, d)
	}
}

// Released judges like a free of the memory: its owner may do anything with it.
func (w *observer) Released(p uintptr, size int64) {
	o := w.order
	o.mu.Lock()
	defer o.mu.Unlock()
	lo, hi := bytesOf(p, size)
	d := newDeed("adopted memory released", nil, lo, hi)
	for _, s := range o.mem.cut(lo, hi) {
		if s.owner == nil || !s.owner.adopted || s.owner.pool != w {
			continue
		}
		o.take(s, d)
		if s.brought {
			o.mem.remove(s.lo, s.hi)
			continue
		}
		s.owner, s.freed = nil, d
		s.pass(o.streams.host)
	}
}

// Closed ends the addresses that were given away for a stream.
func (w *observer) Closed(stream uintptr) {
	o := w.order
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.streams.get(stream)
	o.mem.each(func(s *span) {
		if s.owner == nil || s.owner.pool != w {
			return
		}
		for i := 0; i < len(s.holds); i++ {
			if h := s.holds[i]; h.thread == t {
				s.cur = addAccess(s.cur, access{t.index, t.count, h}, o.streams.host)
				s.holds = append(s.holds[:i:i], s.holds[i+1:]...)
				i--
			}
		}
	})
}

// Dropped frees all of the pool's.
func (w *observer) Dropped() {
	o := w.order
	o.mu.Lock()
	defer o.mu.Unlock()
	d := newDeed("pool dropped", nil, 0, 0)
	o.mem.each(func(s *span) {
		if s.owner != nil && s.owner.pool == w && !s.owner.adopted {
			o.disown(s, d)
		}
	})
}
