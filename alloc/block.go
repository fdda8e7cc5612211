package alloc

import (
	"sync/atomic"
	"unsafe"

	"github.com/lastuse/lastuse/tracker"
)

// A state says what a block is at the moment. The package comment has a paragraph for
// each.
type state uint8

const (
	stateVoid    state = iota // addresses without memory
	stateIdle                 // in the lists of its heap
	stateWarm                 // idle too, and kept out of the lists: see heap.cool
	stateLive                 // owned by a buffer
	statePending              // freed, but other streams may still be at work on it
	stateBusy                 // in the hands of one goroutine that talks to the device
	stateRun                  // cut into small blocks
)

func (s state) String() string {
	return [...]string{"void", "idle", "warm", "live", "pending", "busy", "run"}[s]
}

// A block is a part of a segment, or one slot of a run. The bookkeeping is here, in the
// Go heap, and never in the device's memory, which the host may not be able to read
// and which belongs to whoever has the buffer.
//
// A block is guarded by the lock of its heap (field heap), except for what is said
// otherwise. A Make and a Free of a small block touch no more than two cache lines of it: what
// comes before the neighbours.
type block struct {
	ptr    Ptr
	size   int64   // bytes
	heap   *heap   // guards the block; changes only while the block is busy
	run    *run    // of a small block, else nil
	header *header // to be used by the next buffer; nil while the block is live
	next   *block  // in a bin, in a run, in a batch or among the spare structs
	stamp  uint64  // the lane's epoch at the last Free: see lane
	state  state
	class  uint8 // size class of a small block
	lent   bool  // heap is not the segment's home: see lend

	net    uint32         // number of the header that owns the block while it is live
	site   tracker.SiteID // where it was made, if that was sampled; 0 otherwise
	others atomic.Uint64  // streams but its own that it was used on, by lane bit; not guarded

	adopted *adopted // memory made by somebody else, else nil
	checked *checked // in Check mode, else nil

	prev        *block // in a bin
	left, right *block // the neighbours in the segment; of no meaning for small blocks
	seg         *segment
	slots       *run // in stateRun
}

// A run is a large block cut into slots of one size class.
type run struct {
	free       *block // idle slots
	idle       int32  // how many
	slots      int32  // in all
	next, prev *run   // among the runs of its class that have idle slots
	block      *block // what was cut, in stateRun
	all        []block

	_ [64]byte // every Make and Free writes here: no other heap's run shares these 128 bytes
}

// A segment is one range got from the device: memory, or, where the device maps,
// addresses that memory is put behind bit by bit.
type segment struct {
	base  Ptr
	size  int64
	home  *heap
	first *block // leftmost; the others follow by block.right

	// single says that the device does not map and the segment was got for one large
	// buffer: it is used whole, never split.
	single bool

	// granules says what is mapped, for those who give the segment back. Nil if all of
	// it is memory.
	granules *granules
}

// split cuts b, which is in no list, after size bytes and returns the rest, which has
// b's state and is in no list either, or nil if there is none.
func (hp *heap) split(b *block, size int64) *block {
	if b.size == size {
		return nil
	}
	rest := hp.newBlock()
	rest.ptr, rest.size = b.ptr+Ptr(size), b.size-size
	rest.heap, rest.seg, rest.state, rest.stamp = b.heap, b.seg, b.state, b.stamp
	rest.left, rest.right = b, b.right
	if b.right != nil {
		b.right.left = rest
	}
	b.right, b.size = rest, size
	return rest
}

// join makes b and its right neighbour, neither of them in a list, one block with
// b's state. A header of the neighbour moves to b or to the spare ones.
func (hp *heap) join(b *block) {
	r := b.right
	b.size += r.size
	b.stamp = max(b.stamp, r.stamp)
	b.right = r.right
	if r.right != nil {
		r.right.left = b
	}
	if h := r.header; h != nil {
		r.header = nil
		if b.header == nil {
			b.header = h
			h.bind(b)
		} else {
			hp.spareHeader(h)
		}
	}
	hp.dropBlock(r)
}

// joins reports whether the neighbour n of a block that is to be in state st would be
// joined with it. A lent neighbour would not; whether it is lent is all of it that hp's lock
// guards.
func (hp *heap) joins(n *block, st state) bool {
	return n != nil && !n.lent && n.state == st
}

// putIdle puts the large block b, which is in no list and whose heap is hp, the home of
// its segment, among the idle ones and joins it with idle neighbours.
func (hp *heap) putIdle(b *block) {
	b.state = stateIdle
	b = hp.joined(b, &hp.idle)
	if b.seg.single {
		hp.whole.put(b)
		return
	}
	hp.idle.put(b)
}

// putVoid is like putIdle for addresses that have lost their memory.
func (hp *heap) putVoid(b *block) {
	b.state, b.stamp = stateVoid, 0
	if h := b.header; h != nil {
		b.header = nil
		hp.spareHeader(h)
	}
	hp.voids.put(hp.joined(b, &hp.voids))
}

// joined joins b, which is in no list, with those neighbours that are in its state, all of which are in list, and
// returns the block that comes of it, in no list either.
func (hp *heap) joined(b *block, list *bins) *block {
	if r := b.right; hp.joins(r, b.state) {
		list.take(r)
		hp.join(b)
	}
	if l := b.left; hp.joins(l, b.state) {
		list.take(l)
		hp.join(l)
		return l
	}
	return b
}

// A roomyBlock is a block that shares no cache line with the next: blocks that are split off one
// another may be lent to different streams.
type roomyBlock struct {
	block
	_ [256 - unsafe.Sizeof(block{})]byte
}

// newBlock returns a zero block. Structs go round: a warm heap makes no new ones.
func (hp *heap) newBlock() *block {
	b := hp.structs
	if b == nil {
		all := make([]roomyBlock, 32)
		for i := range all[1:] {
			all[i+1].next = hp.structs
			hp.structs = &all[i+1].block
		}
		return &all[0].block
	}
	hp.structs, b.next = b.next, nil
	return b
}

// dropBlock takes back the struct of a block that is no more.
func (hp *heap) dropBlock(b *block) {
	b.ptr, b.size, b.heap, b.stamp, b.state, b.net = 0, 0, nil, 0, 0, 0
	b.prev, b.left, b.right, b.seg = nil, nil, nil, nil
	b.next = hp.structs
	hp.structs = b
}
