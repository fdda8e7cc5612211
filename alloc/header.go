package alloc

import (
	"runtime"
	"sync/atomic"

	"github.com/lastuse/lastuse/finalize"
	"github.com/lastuse/lastuse/internal/lockrank"
	"github.com/lastuse/lastuse/internal/probe"
)

// A header is what buffers point to and what the collector watches. It serves one
// buffer after another; its cleanup is attached once, at birth, and stays. So a warm
// Make allocates nothing and registers nothing.
//
// What refers to what decides who can die:
//
//	Buffer -> header -> block, Pool       a live buffer keeps its pool alive
//	block  -> header                      only while the block is idle
//	cleanup -> slot -> late queue         neither header, block nor pool
//	owners[number] -> block               how a drained slot finds its block again
//
// Nothing in the pool refers to a header whose buffer is live. A buffer dropped
// without a Free therefore takes its header with it, the collector puts the header's
// slot on the late queue, and whoever drains the queue frees the block.
type header struct {
	// word holds the generation in its upper 48 bits and the number of pins below.
	// A buffer is good while its generation is the header's. Free moves the generation
	// on, and the next buffer gets the new one as it is: a Make writes nothing here.
	word atomic.Uint64

	block  *block  // the memory it owns, or will; written under the lock of the block's heap
	pool   *Pool   // constant
	birth  *heap   // constant; whose shard counts repeated frees
	next   *header // among the spare headers of a heap, under its lock
	number uint32  // constant; in core.owners

	// past says where the last sampled buffer was made: its SiteID, and the lower half of its generation
	// above that.
	past atomic.Uint64
}

const (
	pinBits = 16
	pinMask = 1<<pinBits - 1
	genUnit = 1 << pinBits
)

// pin keeps the block that a buffer of generation gen owns from being given away, until
// unpin. It reports false if that buffer has been freed.
func (h *header) pin(gen uint64) bool {
	for {
		w := h.word.Load()
		if w>>pinBits != gen {
			return false
		}
		if w&pinMask == pinMask {
			runtime.Gosched() // 65,535 uses are being enqueued: let one finish
			continue
		}
		if h.word.CompareAndSwap(w, w+1) {
			return true
		}
	}
}

// unpin ends a pin. If the buffer was freed meanwhile and this was the last pin, the
// Free takes effect now.
func (h *header) unpin(gen uint64) {
	w := h.word.Add(^uint64(0))
	if w&pinMask == 0 && w>>pinBits != gen {
		h.pool.core.release(h.block, h, probe.Explicit)
	}
}

// end ends generation gen. It reports whether the caller is to release the block: not if the buffer has been
// freed before, which is counted, nor if somebody uses it, who does so at the unpin.
func (h *header) end(gen uint64) bool {
	for {
		w := h.word.Load()
		if w>>pinBits != gen {
			h.birth.mu.Lock()
			h.birth.shard.Repeat()
			h.birth.mu.Unlock()
			return false
		}
		if h.word.CompareAndSwap(w, w+genUnit) {
			return w&pinMask == 0
		}
	}
}

// newHeader returns a header that the collector watches, not yet bound to a block.
func newHeader(p *Pool, hp *heap) *header {
	h := &header{pool: p, birth: hp}
	c := p.core
	h.number = c.owners.add()
	h.word.Store(genUnit) // generation 0 is the zero Buffer's
	finalize.Arm(&c.estate.late, h, h.number)
	return h
}

// bind makes h the header of b. The lock of b's heap is held.
func (h *header) bind(b *block) {
	h.block, b.owner = b, h.number
	h.pool.core.owners.set(h.number, b)
}

// unbind takes h from its block.
func (h *header) unbind() {
	h.block = nil
	h.pool.core.owners.set(h.number, nil)
}

// Owners say which block each header owns or owned last, by the header's number. That is
// how the slot of a dead header, which must not lead to a block, leads to one.
//
// An entry is written by whoever holds the lock of the block's heap, and dropped
// after the header's death, when nobody else can write it.
type owners struct {
	chunks atomic.Pointer[[]*ownerChunk] // only grows, under mu

	mu   lockrank.Mutex[rankOwners]
	used uint32
	free []uint32 // numbers of dead headers
}

const ownerChunkSize = 1024

type ownerChunk [ownerChunkSize]atomic.Pointer[block]

// add returns a number that no header has.
func (o *owners) add() uint32 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.free); n > 0 {
		id := o.free[n-1]
		o.free = o.free[:n-1]
		return id
	}
	id := o.used
	o.used++
	if id%ownerChunkSize == 0 {
		var chunks []*ownerChunk
		if old := o.chunks.Load(); old != nil {
			chunks = append(chunks, *old...)
		}
		chunks = append(chunks, new(ownerChunk))
		o.chunks.Store(&chunks)
	}
	return id
}

func (o *owners) entry(id uint32) *atomic.Pointer[block] {
	return &(*o.chunks.Load())[id/ownerChunkSize][id%ownerChunkSize]
}

func (o *owners) set(id uint32, b *block) { o.entry(id).Store(b) }

// drop returns the block of a dead header and takes its number back.
func (o *owners) drop(id uint32) *block {
	b := o.entry(id).Swap(nil)
	o.mu.Lock()
	o.free = append(o.free, id)
	o.mu.Unlock()
	return b
}
