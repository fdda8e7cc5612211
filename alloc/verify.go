package alloc

import (
	"errors"
	"fmt"
)

// Check walks everything that p knows and returns what does not fit together: the books
// of the pool itself, and in Check mode what a program has written where it must not
// write: in the red zones of buffers, live ones too, and in freed memory. Each such write is
// returned once, as a [*CorruptionError]. Check does not wait for queued work, so
// only writes that have run are found: [Stream.Sync] first. It stops the pool while it
// looks at the books, and waits for other goroutines that are getting memory from the device, moving it or
// giving it back. It is for tests and for hunting errors.
//
//lastuse:effect recv borrowed
func (p *Pool) Check() error {
	c := p.core
	var errs []error
	if !c.estate.enter() {
		return nil
	}
	defer c.leave()
	if c.options.Check {
		errs = append(errs, c.checkLive(), c.checkQuarantine())
	}
	w := walk{core: c, seen: make(map[*block]bool), pendingBytes: make(map[*heap]int64)}
	c.moving.Lock()
	c.stopped(func() {
		for _, hp := range c.allHeaps() {
			w.heap(hp)
		}
		w.held(c.checker)
		for _, seg := range c.arena.segs {
			w.segment(seg)
		}
		w.totals()
	})
	c.moving.Unlock()
	if hp := c.pinned.Load(); hp != nil {
		errs = append(errs, hp.check())
	}
	return errors.Join(append(errs, w.errs...)...)
}

// A walk collects what it finds wrong, and sums in bytes.
type walk struct {
	core         *core
	seen         map[*block]bool // met in a list
	pendingBytes map[*heap]int64 // bytes met that are pending, less what the heap counts
	errs         []error

	live, pending, idle, mapped int64
	adoptedPending              int64
}

func (w *walk) wrong(format string, args ...any) {
	w.errs = append(w.errs, fmt.Errorf("alloc: check: "+format, args...))
}

// heap checks the lists of one heap, and what the arena keeps for it. The segments come when all lists are
// known.
func (w *walk) heap(hp *heap) {
	for k := range numKinds {
		w.bins(&hp.shelf.idle[k], stateIdle, "idle")
		w.bins(&hp.shelf.holes[k], stateHole, "hole")
	}
	for _, b := range hp.cached {
		if b == nil {
			continue
		}
		w.listed(b, stateCached, "cached")
		if b.run != nil || b.adopted != nil || b.heap() != hp {
			w.wrong("cached block %#x is a slot, or adopted, or of another heap", b.ptr)
		}
	}
	w.pendingBytes[hp] -= hp.pendingBytes
	for _, q := range hp.pending {
		for batch := q.first; batch != nil; batch = batch.next {
			if batch.first == nil {
				w.wrong("an empty batch")
			}
			for b := batch.first; b != nil; b = b.next {
				w.listed(b, statePending, "pending")
				w.pendingBytes[b.heap()] += b.size
				if b.adopted != nil {
					w.pending += b.size
					w.adoptedPending += b.size
				}
			}
		}
	}
	for b := range hp.held {
		w.listed(b, statePending, "held")
		w.pendingBytes[hp] += b.size
		if b.adopted != nil {
			w.pending += b.size
			w.adoptedPending += b.size
		}
	}
	for h := hp.headers; h != nil; h = h.next {
		if h.block != nil {
			w.wrong("spare header %d has a block", h.number)
		}
	}
	for c, r := range hp.runs {
		var prev *run
		for ; r != nil; prev, r = r, r.next {
			if r.idle == 0 || r.prev != prev || classSize(c) != r.all[0].size {
				w.wrong("class %d lists a run with %d idle slots of %d bytes", c, r.idle, r.all[0].size)
			}
		}
	}
}

// held checks the quarantine, and with it what is pending in each heap.
func (w *walk) held(k *checker) {
	if k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, b := range k.held {
			w.listed(b, statePending, "quarantine")
			w.pendingBytes[b.heap()] += b.size
		}
		for b := range k.out {
			w.listed(b, statePending, "quarantine, out of it,")
			w.pendingBytes[b.heap()] += b.size
		}
	}
	for _, bytes := range w.pendingBytes {
		if bytes != 0 {
			w.wrong("%d bytes more are pending in a heap than it counts", bytes)
		}
	}
}

func (w *walk) listed(b *block, want state, list string) {
	switch {
	case w.seen[b]:
		w.wrong("%s block %#x is in two lists", list, b.ptr)
	case b.state != want:
		w.wrong("%s block %#x is %v", list, b.ptr, b.state)
	}
	w.seen[b] = true
}

// bins checks that the bitmaps of s lead to all its blocks, and that these are linked as they should be.
func (w *walk) bins(s *bins, want state, list string) {
	bytes := int64(0)
	for b := s.largest(); b != nil; b = s.before(b) {
		circle := w.seen[b]
		if w.listed(b, want, list); circle {
			break
		}
		bytes += b.size
		if b.next != nil && b.next.prev != b || b.shelved != b.state || b.header != nil ||
			want == stateIdle && b.binsOf() != s {
			w.wrong("%s block %#x is linked wrongly", list, b.ptr)
		}
	}
	if bytes != s.bytes {
		w.wrong("%s bins count %d bytes and have %d", list, s.bytes, bytes)
	}
}

// segment checks that the blocks of a segment lie side by side and fill it, that no two
// neighbours should have been joined, and that memory is where it is said to be.
func (w *walk) segment(seg *segment) {
	at, prev := seg.base, (*block)(nil)
	mapped := seg.granules.mapped()
	for b := seg.first; b != nil; prev, b = b, b.right {
		if b.ptr != at || b.left != prev || b.seg != seg || b.size <= 0 || b.size%unit != 0 {
			w.wrong("block %#x of %d bytes in segment %#x, where %#x comes next", b.ptr, b.size, seg.base, at)
			return
		}
		at += Ptr(b.size)
		if prev != nil && prev.state == b.state &&
			(b.state == stateIdle && prev.stamp.line == b.stamp.line || b.state == stateHole) {
			w.wrong("%v blocks %#x and %#x lie side by side", b.state, prev.ptr, b.ptr)
		}
		w.memory(b, mapped)
		if b.state == stateRun {
			w.run(b)
		} else {
			w.block(b)
		}
	}
	if at != seg.base+Ptr(seg.size) {
		w.wrong("segment %#x of %d bytes is filled up to %#x", seg.base, seg.size, at)
	}
	for _, x := range mapped {
		w.mapped += x.N
	}
}

// memory checks that b has memory behind it, of what is mapped, if and only if it is no hole.
func (w *walk) memory(b *block, mapped []piece) {
	covered := int64(0)
	for _, x := range mapped {
		covered += max(0, min(int64(x.P)+x.N, int64(b.ptr)+b.size)-max(int64(x.P), int64(b.ptr)))
	}
	if b.state == stateHole && covered != 0 || b.state != stateHole && covered != b.size {
		w.wrong("%v block %#x has memory behind %d of %d bytes", b.state, b.ptr, covered, b.size)
	}
}

// block checks one block or slot and adds it to the sums.
func (w *walk) block(b *block) {
	switch b.state {
	case stateLive:
		w.live += b.size
	case statePending:
		w.pending += b.size
	case stateIdle, stateCached:
		w.idle += b.size
	case stateHole:
	default:
		w.wrong("block %#x is %v at a stop", b.ptr, b.state)
	}
	if listed := b.state == stateIdle && b.run == nil || b.state == stateHole || b.state == stateCached ||
		b.state == statePending; listed && !w.seen[b] {
		w.wrong("%v block %#x is in no list", b.state, b.ptr)
	}
	if h := b.header; h != nil && (b.state == stateLive || h.block != b || b.owner != h.number) {
		w.wrong("%v block %#x refers to header %d", b.state, b.ptr, h.number)
	}
	if (b.state == stateIdle || b.state == stateCached) && b.others.Load() != 0 {
		w.wrong("idle block %#x has users", b.ptr)
	}
}

func (w *walk) run(b *block) {
	idle := make(map[*block]bool)
	for s := b.slots.free; s != nil; s = s.next {
		if idle[s] || s.state != stateIdle {
			w.wrong("slot %#x is listed twice, or is %v", s.ptr, s.state)
			return
		}
		idle[s] = true
	}
	if len(idle) != int(b.slots.idle) {
		w.wrong("run %#x counts %d idle slots and has %d", b.ptr, b.slots.idle, len(idle))
	}
	used := int64(0)
	for i := range b.slots.all {
		s := &b.slots.all[i]
		used += s.size
		w.block(s)
		if s.state == stateIdle && !idle[s] && !w.seen[s] {
			w.wrong("idle slot %#x is in no list", s.ptr)
		}
	}
	w.idle += b.size - used
}

// totals compares the sums with what the counters say.
func (w *walk) totals() {
	c := w.core
	st := c.account.StatsLocked()
	adopted, own := int64(0), int64(0)
	c.estate.mu.Lock()
	for a := range c.estate.adopted {
		adopted += a.size
		if a.own {
			own += a.size
		}
	}
	c.estate.mu.Unlock()
	live := w.live + adopted - w.adoptedPending
	for _, x := range []struct {
		what      string
		got, want int64
	}{
		{"live", live, st.Live},
		{"pending", w.pending, st.Pending},
		{"reserved", w.mapped + adopted, st.Reserved},
		{"claimed", c.claimed.Load(), w.mapped + own},
		{"live + pending + idle", live + w.pending + w.idle, st.Reserved},
	} {
		if x.got != x.want {
			w.wrong("%s: found %d bytes where the books say %d", x.what, x.got, x.want)
		}
	}
	if limit := c.options.Limit; limit > 0 && st.Reserved-adopted+own > limit {
		w.wrong("%d bytes reserved, limit %d", st.Reserved-adopted+own, limit)
	}
}
