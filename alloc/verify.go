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
// looks at the books. It is for tests and for hunting errors.
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
	w := walk{core: c, seen: make(map[*block]bool)}
	c.stopped(func() {
		c.eachHeap(w.heap)
		c.eachHeap(func(hp *heap) {
			for _, seg := range hp.segs {
				w.segment(hp, seg)
			}
		})
		w.totals()
	})
	if hp := c.pinned.Load(); hp != nil {
		errs = append(errs, hp.check())
	}
	return errors.Join(append(errs, w.errs...)...)
}

// A walk collects what it finds wrong, and sums in bytes.
type walk struct {
	core *core
	seen map[*block]bool // met in a list
	errs []error

	live, pending, idle, mapped int64
	adoptedPending              int64
}

func (w *walk) wrong(format string, args ...any) {
	w.errs = append(w.errs, fmt.Errorf("alloc: check: "+format, args...))
}

// heap checks the lists of one heap. The segments come when all lists are known: a block
// may be in the list of another heap than its segment.
func (w *walk) heap(hp *heap) {
	w.bins(hp, &hp.idle, stateIdle, "idle", false)
	w.bins(hp, &hp.whole, stateIdle, "whole", false)
	w.bins(hp, &hp.voids, stateVoid, "void", false)
	w.bins(hp, &hp.guests, stateIdle, "guest", true)
	if b := hp.warm; b != nil {
		w.listed(hp, b, stateWarm, "warm")
		if b.run != nil || b.adopted != nil {
			w.wrong("warm block %#x is a slot or adopted", b.ptr)
		}
	}
	pens := int64(0)
	for _, q := range hp.pending {
		for batch := q.first; batch != nil; batch = batch.next {
			if batch.first == nil {
				w.wrong("an empty batch")
			}
			for b := batch.first; b != nil; b = b.next {
				w.listed(hp, b, statePending, "pending")
				pens += b.size
				if b.adopted != nil {
					w.pending += b.size
					w.adoptedPending += b.size
				}
			}
		}
	}
	for b := hp.held.first; b != nil; b = b.next {
		w.listed(hp, b, statePending, "quarantine")
		pens += b.size
	}
	if pens != hp.pens {
		w.wrong("%d bytes are pending in a heap that counts %d", pens, hp.pens)
	}
	for h := hp.headers; h != nil; h = h.next {
		if h.block != nil {
			w.wrong("spare header %d has a block", h.net)
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

func (w *walk) listed(hp *heap, b *block, want state, list string) {
	switch {
	case w.seen[b]:
		w.wrong("%s block %#x is in two lists", list, b.ptr)
	case b.state != want:
		w.wrong("%s block %#x is %v", list, b.ptr, b.state)
	case b.heap != hp:
		w.wrong("%s block %#x is listed in a heap that does not have it", list, b.ptr)
	}
	w.seen[b] = true
}

// bins checks that bitmaps and lists of s agree, and that the blocks are where their size
// belongs.
func (w *walk) bins(hp *heap, s *bins, want state, list string, lent bool) {
	bytes := int64(0)
	defer func() {
		if bytes != s.bytes {
			w.wrong("%s bins count %d bytes and have %d", list, s.bytes, bytes)
		}
	}()
	for r, row := range s.row {
		if row == nil {
			if s.rows>>r&1 != 0 {
				w.wrong("%s row %d is marked and missing", list, r)
			}
			continue
		}
		if (row.words != 0) != (s.rows>>r&1 != 0) {
			w.wrong("%s row %d is marked wrongly", list, r)
		}
		for col, b := range row.head {
			word := row.bits[col/64]
			if (b != nil) != (word>>(col%64)&1 != 0) || (word != 0) != (row.words>>(col/64)&1 != 0) {
				w.wrong("%s bin %d.%d is marked wrongly", list, r, col)
			}
			for prev := (*block)(nil); b != nil; prev, b = b, b.next {
				w.listed(hp, b, want, list)
				bytes += b.size
				if b.prev != prev || b.lent != lent {
					w.wrong("%s block %#x is linked wrongly", list, b.ptr)
				}
				if br, bc := binOf(b.size); int(br) != r || int(bc) != col {
					w.wrong("%s block %#x of %d bytes is in bin %d.%d", list, b.ptr, b.size, r, col)
				}
			}
		}
	}
}

// segment checks that the blocks of a segment lie side by side and fill it, that no two
// neighbours should have been joined, and that memory is where it is said to be.
func (w *walk) segment(hp *heap, seg *segment) {
	at, prev := seg.base, (*block)(nil)
	for b := seg.first; b != nil; prev, b = b, b.right {
		if b.ptr != at || b.left != prev || b.seg != seg || b.size <= 0 || b.size%unit != 0 {
			w.wrong("block %#x of %d bytes in segment %#x, where %#x comes next", b.ptr, b.size, seg.base, at)
			return
		}
		at += Ptr(b.size)
		if prev != nil && !prev.lent && !b.lent && prev.state == b.state && (b.state == stateIdle || b.state == stateVoid) {
			w.wrong("%v blocks %#x and %#x lie side by side", b.state, prev.ptr, b.ptr)
		}
		w.memory(seg, b)
		if b.state == stateRun {
			w.run(b)
		} else {
			w.block(b)
		}
		if b.heap != hp && !b.lent {
			w.wrong("block %#x has left home without being lent", b.ptr)
		}
	}
	if at != seg.base+Ptr(seg.size) {
		w.wrong("segment %#x of %d bytes is filled up to %#x", seg.base, seg.size, at)
	}
	w.mapped += seg.granules.mapped()
}

// memory checks that b has memory behind it if and only if it is not void.
func (w *walk) memory(seg *segment, b *block) {
	g := seg.granules
	if g.bits == nil {
		if b.state == stateVoid {
			w.wrong("void block %#x in a segment that does not map", b.ptr)
		}
		return
	}
	first, end := int64(b.ptr-seg.base), int64(b.ptr-seg.base)+b.size
	if b.state == stateVoid && (first%g.unit != 0 || end%g.unit != 0) {
		w.wrong("void block %#x of %d bytes is no whole granules", b.ptr, b.size)
	}
	for i := first / g.unit; i*g.unit < end; i++ {
		if (g.bits[i/64]>>(i%64)&1 != 0) == (b.state == stateVoid) {
			w.wrong("%v block %#x: granule %d is mapped or not, wrongly", b.state, b.ptr, i)
			return
		}
	}
}

// block checks one block or slot and adds it to the sums.
func (w *walk) block(b *block) {
	switch b.state {
	case stateLive:
		w.live += b.size
	case statePending:
		w.pending += b.size
	case stateIdle, stateWarm:
		w.idle += b.size
	case stateVoid:
	default:
		w.wrong("block %#x is %v at a stop", b.ptr, b.state)
	}
	if listed := b.state == stateIdle && b.run == nil || b.state == stateVoid || b.state == stateWarm || b.state == statePending; listed && !w.seen[b] {
		w.wrong("%v block %#x is in no list", b.state, b.ptr)
	}
	if h := b.header; h != nil && (b.state == stateLive || h.block != b || b.net != h.net) {
		w.wrong("%v block %#x refers to header %d", b.state, b.ptr, h.net)
	}
	if (b.state == stateIdle || b.state == stateWarm) && b.others.Load() != 0 {
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
	st := c.account.Stats()
	adopted := int64(0)
	c.estate.mu.Lock()
	for a := range c.estate.adopted {
		adopted += a.size
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
		{"claimed", c.claimed.Load(), w.mapped},
		{"live + pending + idle", live + w.pending + w.idle, st.Reserved},
	} {
		if x.got != x.want {
			w.wrong("%s: found %d bytes where the books say %d", x.what, x.got, x.want)
		}
	}
	if limit := c.options.Limit; limit > 0 && st.Reserved-adopted > limit {
		w.wrong("%d bytes reserved, limit %d", st.Reserved-adopted, limit)
	}
}
