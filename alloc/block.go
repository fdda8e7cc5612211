package alloc

import (
	"sync/atomic"
	"unsafe"

	"github.com/lastuse/lastuse/internal/books"
)

// A state says what a block is at the moment. The package comment has a paragraph for each.
type state uint8

const (
	stateHole    state = iota // in the arena: addresses without memory
	stateIdle                 // in the arena's bins, or a slot in its run
	stateCached               // idle too, and kept by a heap: see heap.cache
	stateLive                 // owned by a buffer
	statePending              // freed, but other streams may still be at work on it
	stateBusy                 // in the hands of one goroutine that talks to the device
	stateRun                  // cut into small blocks
	stateInner                // of graph memory: see inner
)

func (s state) String() string {
	return [...]string{"hole", "idle", "cached", "live", "pending", "busy", "run", "inner"}[s]
}

// A block is a part of a segment, or one slot of a run. The bookkeeping is here, in the Go heap, and
// never in the device's memory, which the host may not be able to read and which belongs to whoever has
// the buffer.
//
// Large blocks in the arena's lists, and the neighbours and the shelf of all of them, are guarded by the
// arena's lock. All else of a block that a heap has (cached, live, pending, a run and its slots) is guarded
// by that heap's. Whoever has it busy needs no lock. A Make and a Free of a small block touch no more than
// two cache lines of it: what comes before prev.
type block struct {
	ptr    Ptr
	size   int64   // bytes
	run    *run    // of a slot, else nil
	header *header // of a cached block or an idle or pending slot: for the next buffer
	next   *block  // in a list of any kind
	stamp  stamp   // its stream, and the last Free
	state  state
	class  uint8 // size class of a slot

	owner  uint32        // number of the header that owns the block while it is live
	site   books.Sample  // where it was made, if that was sampled; 0 otherwise
	others atomic.Uint64 // streams but its own that it was used on, by timeline bit; not guarded

	adopted *adopted // memory made by somebody else, else nil
	checked *checked // in Check mode, else nil

	prev        *block // in a bin
	left, right *block // the neighbours in the segment; of no meaning for slots
	shelved     state  // stateIdle or stateHole if the arena has it; else stateBusy
	seg         *segment
	slots       *run   // in stateRun
	inner       *inner // in stateInner
}

// heap returns the heap that has b, or whose stream may use it at once if the arena has it. It changes only
// while b is busy or in the arena.
func (b *block) heap() *heap { return b.stamp.line.heap }

// A roomyBlock is a block that shares no cache line with the next: blocks that are split off one another
// may serve different streams.
type roomyBlock struct {
	block
	_ [256 - unsafe.Sizeof(block{})]byte
}

// A run is a large block cut into slots of one size class. It belongs to one heap until all its slots
// are idle and the heap gives it back.
type run struct {
	free       *block // idle slots
	idle       int32  // how many
	slots      int32  // in all
	next, prev *run   // among the runs of its class that have idle slots
	block      *block // what was cut, in stateRun
	all        []block

	_ [64]byte // every Make and Free writes here: no other heap's run shares these 128 bytes
}

// stamp returns the latest stamp of r's slots and of what they were cut from.
func (r *run) stamp() stamp {
	latest := r.block.stamp
	for i := range r.all {
		latest = latest.later(r.all[i].stamp)
	}
	return latest
}

// A kind says what a segment is for. Little blocks among large ones would keep these from being joined, and
// their memory from going elsewhere: each kind keeps to its own segments while there is memory for more.
type kind uint8

const (
	largeKind kind = iota
	smallKind      // blocks of up to smallBlock bytes, and runs; where the device maps, but not in Tight
	wholeKind      // one buffer, split only if nothing else is left; where the device does not map
	numKinds
)

// smallBlock is the most bytes of what goes into segments of smallKind.
const smallBlock = 1 << 20

// kindOf returns the kind of segment for a block of size bytes.
func (c *core) kindOf(size int64) kind {
	switch {
	case c.mapper != nil && size <= smallBlock && c.options.Growth != Tight:
		return smallKind
	case c.mapper == nil && size >= c.options.Segment/2 && size > smallMax:
		return wholeKind
	}
	return largeKind
}

// A segment is one range got from the device: memory, or, where the device maps, addresses that memory is
// put behind bit by bit.
type segment struct {
	base  Ptr
	size  int64
	home  *heap  // whose growth it serves
	first *block // leftmost; the others follow by block.right

	kind kind

	granules *granules // what is mapped, for those who give the segment back
}
