package alloc

import (
	"unsafe"

	"github.com/lastuse/lastuse/tracker"
)

// A heap holds segments, and the blocks in them, for one stream. A stream has one heap
// until several goroutines are seen to meet on it, then up to one for each
// processor (see lane.widen). All heaps of a stream are in the same stream order, so a block of any
// serves any Make on the stream.
//
// Everything in a heap is guarded by mu, the leaf of the lock order. No device is
// called and nothing is waited for while mu is held.
type heap struct {
	_ [128]byte // no two heaps share a cache line

	mu    lock
	shard *tracker.Shard    // the counters
	shut  bool              // the pool is closed
	elems [8]unsafe.Pointer // element types known to be good, by address: see elemWord
	runs  [numClasses]*run  // runs with idle slots, by class
	lane  *lane             // the stream; constant
	core  *core             // constant

	headers *header // spare ones
	structs *block  // spare ones, linked by next
	batches *batch  // spare ones

	warm   *block // the large block that was freed last, or nil: see cool
	idle   bins   // idle large blocks
	whole  bins   // idle blocks that are whole segments got for one large buffer: see single
	voids  bins   // addresses without memory
	guests bins   // idle blocks lent to this heap by others: see lend

	pending []*queue // by the streams they wait for
	pens    int64    // bytes in pending
	last    uint64   // stamp of the latest Free
	grown   int64    // bytes got before looking at siblings: see settleIn
	segs    []*segment

	held quarantine // in Check mode; part of pens

	_ [128]byte
}

// grab takes an idle block of size bytes, or of class c if size is small, makes it live
// and counts it. It returns nil if there is none. hp.mu is held.
func (hp *heap) grab(size int64, c int) *block {
	var b *block
	if hp.shut {
		return nil
	}
	if c >= 0 {
		b = hp.grabSlot(c)
	} else {
		b = hp.grabLarge(size)
	}
	if b == nil {
		if c >= 0 {
			size = classSize(c)
		}
		if b = hp.grabGuest(size); b == nil {
			return nil
		}
	}
	b.state = stateLive
	hp.shard.Alloc(b.size)
	return b
}

// grabSlot takes an idle slot of class c, cutting a new run if an idle block
// is large enough.
func (hp *heap) grabSlot(c int) *block {
	r := hp.runs[c]
	if r == nil {
		if r = hp.cutRun(c); r == nil {
			return nil
		}
	}
	b := r.free
	r.free, b.next = b.next, nil
	if r.idle--; r.idle == 0 {
		hp.unlistRun(r, c)
	}
	return b
}

// cool puts the warm block among the idle ones. A large block that is freed stays warm until
// the next one is, or until somebody looks through the lists: programs ask for the size again
// that they have just freed, and then nothing has to be joined, split or looked for.
// hp.mu is held.
func (hp *heap) cool() {
	if b := hp.warm; b != nil {
		hp.warm = nil
		hp.retire(b)
	}
}

// grabLarge takes the best fit for size bytes and puts back what is too much.
func (hp *heap) grabLarge(size int64) *block {
	b := hp.warm
	if b != nil && b.size == size {
		hp.warm = nil
		return b
	}
	hp.cool()
	if hp.whole.rows != 0 && size >= hp.core.single() {
		if b = hp.whole.find(size); b != nil && b.size <= size+size/singleWaste {
			hp.whole.take(b)
			return b
		}
	}
	if b = hp.idle.find(size); b == nil {
		return nil
	}
	hp.idle.take(b)
	if rest := hp.split(b, size); rest != nil {
		hp.idle.put(rest)
	}
	return b
}

// grabGuest takes a block that was lent to this heap before. It is not split, so it must
// fit closely.
func (hp *heap) grabGuest(size int64) *block {
	if hp.guests.rows == 0 {
		return nil
	}
	b := hp.guests.find(size)
	if b == nil || b.size > size+size/8 {
		return nil
	}
	hp.guests.take(b)
	return b
}

// runSize returns the size of the block that a run of class c is cut from, in bytes.
func runSize(c int) int64 { return int64(runSlots(c)) * classSize(c) }

// cutRun cuts an idle block into slots of class c.
func (hp *heap) cutRun(c int) *run {
	b := hp.grabLarge(runSize(c))
	if b == nil {
		return nil
	}
	return hp.cut(b, c)
}

// cut cuts b, which is in no list, into slots of class c.
func (hp *heap) cut(b *block, c int) *run {
	n, size := runSlots(c), classSize(c)
	if h := b.header; h != nil {
		b.header = nil
		hp.spareHeader(h)
	}
	b.state = stateRun
	r := &run{block: b, idle: int32(n), slots: int32(n), all: make([]block, n)}
	for i := n - 1; i >= 0; i-- { // lowest address first
		s := &r.all[i]
		s.ptr, s.size, s.heap, s.run, s.class = b.ptr+Ptr(int64(i)*size), size, hp, r, uint8(c)
		s.state, s.stamp, s.seg = stateIdle, b.stamp, b.seg
		s.next, r.free = r.free, s
	}
	b.slots = r
	hp.listRun(r, c)
	return r
}

func (hp *heap) listRun(r *run, c int) {
	if r.next = hp.runs[c]; r.next != nil {
		r.next.prev = r
	}
	hp.runs[c] = r
}

func (hp *heap) unlistRun(r *run, c int) {
	if r.next != nil {
		r.next.prev = r.prev
	}
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		hp.runs[c] = r.next
	}
	r.next, r.prev = nil, nil
}

// giveBack takes b, which was live until now and has been counted as freed: to the
// idle blocks if only the heap's own stream has used it, else to the pending ones.
// Nothing is asked of the device. hp.mu is held.
func (hp *heap) giveBack(b *block) {
	if t := hp.core.trace; t != nil && b.adopted == nil {
		t.add('f', hp.lane.index, b.ptr, 0) // before anybody can have it
	}
	b.stamp = hp.lane.epoch.Load()
	hp.last = b.stamp
	b.site = 0
	if b.others.Load() != 0 || b.adopted != nil {
		hp.pend(b)
		return
	}
	if r := b.run; r != nil && r.idle > 0 && !b.lent {
		// What retire does, for the case that is nearly all of them.
		b.state = stateIdle
		b.next, r.free = r.free, b
		r.idle++
		return
	}
	if b.run == nil {
		hp.cool()
		b.state, hp.warm = stateWarm, b
		return
	}
	hp.retire(b)
}

// retire puts b among the idle blocks: all other streams are known to be done with
// it. hp.mu is held.
func (hp *heap) retire(b *block) {
	switch {
	case b.lent:
		b.state = stateIdle
		hp.guests.put(b)
	case b.run != nil:
		hp.putSlot(b)
	default:
		hp.putIdle(b)
	}
}

// putSlot gives a slot back to its run.
func (hp *heap) putSlot(b *block) {
	r := b.run
	b.state = stateIdle
	b.next, r.free = r.free, b
	if r.idle++; r.idle == 1 {
		hp.listRun(r, int(b.class))
	}
}

// dissolve makes idle large blocks of all runs that have no live slot, and reports
// whether there was one. Free does not do so: a run that empties and fills again and
// again would be cut each time. With done, it leaves the runs alone whose work is not
// known to be complete: joined with their neighbours they would keep these from other
// streams, to which only what is complete is of use. hp.mu is held.
func (hp *heap) dissolve(done bool) bool {
	hp.cool()
	any := false
	for c := range hp.runs {
		for r := hp.runs[c]; r != nil; {
			next := r.next
			if r.idle == r.slots && (!done || hp.lane.complete(r.stamp())) {
				hp.unlistRun(r, c)
				hp.dissolveRun(r)
				any = true
			}
			r = next
		}
	}
	return any
}

// stamp returns the latest stamp of r's slots, all of which are idle.
func (r *run) stamp() uint64 {
	latest := uint64(0)
	for i := range r.all {
		latest = max(latest, r.all[i].stamp)
	}
	return latest
}

func (hp *heap) dissolveRun(r *run) {
	b := r.block
	b.slots = nil
	b.stamp = max(b.stamp, r.stamp())
	for i := range r.all {
		s := &r.all[i]
		if h := s.header; h != nil {
			s.header = nil
			hp.spareHeader(h)
		}
	}
	hp.retire(b) // which may have been lent as a whole
}

// headerFor takes the header that goes with the live block b out of the heap, or a spare one,
// or returns nil. hp.mu is held.
func (hp *heap) headerFor(b *block) *header {
	h := b.header
	if h != nil {
		b.header = nil
		return h
	}
	if h = hp.headers; h != nil {
		hp.headers, h.next = h.next, nil
		h.bind(b)
	}
	return h
}

// repeated counts a Free of what was free already.
func (hp *heap) repeated() {
	hp.mu.Lock()
	hp.shard.Repeat()
	hp.mu.Unlock()
}
