package alloc

import (
	"unsafe"

	"github.com/lastuse/lastuse/internal/books"
	"github.com/lastuse/lastuse/internal/lockrank"
)

// A heap serves the Makes and Frees of one stream. It has runs with idle slots by size class, a few
// large blocks that were freed last, and what is pending; all else that is idle is in the arena. A heap
// outlives its stream: the next new stream gets it with what it has.
//
// What is not said to be constant or the arena's is guarded by mu. No device is called and nothing is
// waited for while mu is held.
type heap struct {
	_ [128]byte // no two heaps share a cache line

	mu     *lockrank.Mutex[rankHeap] // by itself: the readers of the shard keep it
	shard  *books.Shard              // the counters
	shut   bool                      // the pool is closed
	elems  [8]unsafe.Pointer         // element types known to be good, by address: see elemWord
	runs   [numClasses]*run          // runs with idle slots, by class
	core   *core                     // constant
	cached [cacheSize]*block         // large blocks that were freed last
	turn   int                       // place in cached of the next one
	kept   int64                     // bytes in cached

	headers *header // spare ones
	batches *batch  // spare ones

	pending      []*queue            // in the order of their masks
	pendingBytes int64               // bytes in pending, in held, and in quarantine
	last         stamp               // the latest Free
	held         map[*block]struct{} // pending, and named by graphs

	line  timeline // has a lock of its own
	shelf shelf    // the arena's

	_ [128]byte
}

// cacheSize is how many large blocks a heap keeps as they are when they are freed. Programs ask for the
// sizes again that they have just freed, and then nothing has to be joined, split or looked for. What is
// cached serves no other size, so all of it goes to the arena when a Make finds nothing there.
// Above cacheBytes only the one freed last is kept, and only until another size is asked for: large blocks
// that stay apart are missed.
const (
	cacheSize  = 8
	cacheBytes = 32 << 20
)

// grab takes an idle block of size bytes, or of class c if that is not negative, makes it live and counts
// it. It returns nil if there is none. hp.mu is held.
func (hp *heap) grab(size int64, c int) *block {
	if hp.shut {
		return nil
	}
	var b *block
	if c >= 0 {
		b = hp.grabSlot(c)
	} else {
		b = hp.grabLarge(size)
	}
	if b == nil {
		return nil
	}
	b.state = stateLive
	hp.shard.Alloc(b.size)
	return b
}

// grabSlot takes an idle slot of class c, cutting a new run if there is none.
func (hp *heap) grabSlot(c int) *block {
	r := hp.runs[c]
	if r == nil {
		b := hp.takeLarge(runSize(c))
		if b == nil {
			return nil
		}
		r = hp.newRun(b, c)
	}
	b := r.free
	r.free, b.next = b.next, nil
	if r.idle--; r.idle == 0 {
		hp.unlistRun(r, c)
	}
	return b
}

// grabLarge takes a block of size bytes: a cached one, or the best fit of the arena.
func (hp *heap) grabLarge(size int64) *block {
	for i, b := range hp.cached {
		if b != nil && b.size == size {
			hp.cached[i] = nil
			hp.kept -= size
			return b
		}
	}
	if hp.kept > cacheBytes {
		hp.flush()
	}
	return hp.takeLarge(size)
}

// takeLarge takes a block of size bytes out of the arena, and is not put off by what is cached.
func (hp *heap) takeLarge(size int64) *block {
	b := hp.core.arena.take(hp, size)
	if b == nil && hp.flush() {
		b = hp.core.arena.take(hp, size)
	}
	return b
}

// cache keeps the large block b, which was freed last, for the next Make of its size.
func (hp *heap) cache(b *block) {
	if hp.kept > 0 && hp.kept+b.size > cacheBytes {
		hp.flush()
	}
	old := hp.cached[hp.turn]
	hp.cached[hp.turn] = b
	hp.turn = (hp.turn + 1) % cacheSize
	hp.kept += b.size
	b.state = stateCached
	if old != nil {
		hp.kept -= old.size
		hp.retire(old)
	}
}

// flush puts what is cached into the arena, and reports whether there was anything. hp.mu is held.
func (hp *heap) flush() bool {
	if hp.kept == 0 {
		return false
	}
	for i, b := range hp.cached {
		if b != nil {
			hp.cached[i] = nil
			hp.retire(b)
		}
	}
	hp.kept = 0
	return true
}

// retire puts the large block b, which is in no list, into the arena.
func (hp *heap) retire(b *block) {
	hp.strip(b)
	a := &hp.core.arena
	a.mu.Lock()
	a.put(b)
	a.mu.Unlock()
}

// runSize returns the size of the block that a run of class c is cut from, in bytes.
func runSize(c int) int64 { return int64(runSlots(c)) * classSize(c) }

// newRun cuts b, which is in no list, into slots of class c.
func (hp *heap) newRun(b *block, c int) *run {
	n, size := runSlots(c), classSize(c)
	b.state = stateRun
	r := &run{block: b, idle: int32(n), slots: int32(n), all: make([]block, n)}
	for i := n - 1; i >= 0; i-- { // lowest address first
		s := &r.all[i]
		s.ptr, s.size, s.run, s.class = b.ptr+Ptr(int64(i)*size), size, r, uint8(c)
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

// idle takes back b, which nobody but hp's stream may still be using: a slot to its run, a large block
// to those that are cached. hp.mu is held.
func (hp *heap) idle(b *block) {
	r := b.run
	if r == nil {
		hp.cache(b)
		return
	}
	b.state = stateIdle
	b.next, r.free = r.free, b
	if r.idle++; r.idle == 1 {
		hp.listRun(r, int(b.class))
	}
}

// tidy puts into the arena what hp has and nobody uses: what is cached, and runs that have no live slot. A
// Free does not do so: a run that empties and fills again and again would be cut each time. With done, it
// leaves the runs alone whose work is not known to be complete: they are of no use to other streams yet.
// It reports whether there was anything. hp.mu is held.
func (hp *heap) tidy(done bool) bool {
	any := hp.flush()
	for c := range hp.runs {
		for r := hp.runs[c]; r != nil; {
			next := r.next
			if r.idle == r.slots && (!done || r.stamp().complete()) {
				hp.unlistRun(r, c)
				b := r.block
				b.slots, b.stamp = nil, r.stamp()
				for i := range r.all {
					hp.strip(&r.all[i])
				}
				hp.retire(b)
				any = true
			}
			r = next
		}
	}
	return any
}

// strip takes the header of a block that serves no buffer of its size any more. hp.mu is held.
func (hp *heap) strip(b *block) {
	if h := b.header; h != nil {
		b.header = nil
		h.unbind()
		h.next = hp.headers
		hp.headers = h
	}
}

// latest returns the stamp of the latest Free.
func (hp *heap) latest() stamp {
	hp.mu.Lock()
	defer hp.mu.Unlock()
	return hp.last
}

// ready brings up to date what others may take from hp: it asks the device how far the stream has come, and
// tidies up.
func (hp *heap) ready() {
	hp.latest().look()
	hp.inquire()
	hp.mu.Lock()
	hp.tidy(true)
	hp.mu.Unlock()
}

// tidyAll brings the arena up to date: all that is idle and complete lies there, as much of it in one piece
// as can be.
func (c *core) tidyAll() {
	for _, hp := range c.allHeaps() {
		hp.ready()
	}
	c.arena.sendHome()
}

// hasIdle reports whether large blocks of hp lie idle, and puts all of them into the arena.
func (hp *heap) hasIdle() bool {
	hp.mu.Lock()
	defer hp.mu.Unlock()
	hp.flush()
	a := &hp.core.arena
	a.mu.Lock()
	defer a.mu.Unlock()
	return !hp.shelf.empty()
}

// headerFor takes the header that goes with the live block b out of the heap, or a spare one, or makes
// one for pool p. hp.mu is held.
func (hp *heap) headerFor(p *Pool, b *block) *header {
	h := b.header
	if h != nil {
		b.header = nil
		return h
	}
	if h = hp.headers; h != nil {
		hp.headers, h.next = h.next, nil
	} else {
		h = newHeader(p, hp)
	}
	h.bind(b)
	return h
}
