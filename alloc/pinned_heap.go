package alloc

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/lastuse/lastuse/finalize"
	"github.com/lastuse/lastuse/internal/books"
	"github.com/lastuse/lastuse/internal/lockrank"
	"github.com/lastuse/lastuse/internal/probe"
)

// A pinnedHeap has a pool's page-locked memory. It leads to the pool; what must go back to the device is in
// the estate, which does not lead here.
type pinnedHeap struct {
	core    *core
	account *books.Account

	index atomic.Pointer[[]*pinnedSegment] // by address; the slice is never written again

	registered  atomic.Int32 // segments that are
	registering sync.RWMutex // written by Register, read while memory goes back; before hp.mu

	mu      *lockrank.Mutex[rankHeap] // by itself: the readers of the shard keep it
	shard   *books.Shard
	classes []pinnedClass
	pending int // blocks
	owners  []*pinnedBlock
	spare   []uint32 // numbers in owners that no header has
}

// A pinnedClass lists the blocks of one size that nobody owns.
type pinnedClass struct {
	idle        *pinnedBlock // the latest first
	first, last *pinnedBlock // pending
}

type pinnedSegment struct {
	ptr    unsafe.Pointer
	size   int64 // bytes
	class  int
	blocks []pinnedBlock
	busy   int // blocks that are not idle; under the heap's lock

	registered bool // one block of somebody else's memory, which is used once: class is only for its list
}

// A pinnedBlock is a piece of page-locked memory.
type pinnedBlock struct {
	// word holds the generation in its upper 48 bits and the number of pins below. Odd generations are
	// those of owners: a Make and a Free each move it on by one.
	word  atomic.Uint64
	users atomic.Uint64 // bits of the timelines whose work was given it by its present owner

	seg *pinnedSegment // constant
	ptr unsafe.Pointer // constant

	// What follows is under the heap's lock.
	header *pinnedHeader // what will own it next; nil while it is live, or if that has died
	owner  uint32        // number of the header in pinnedHeap.owners, if it has one
	site   books.Sample
	past   books.Sample // where the last owner that is gone was made
	needs  []stamp      // while it is pending: what it waits for
	next   *pinnedBlock
}

// A pinnedHeader is what handles point to and the collector watches. It belongs to one block for life; the
// block leads to it only while nobody owns it.
type pinnedHeader struct {
	block *pinnedBlock
	pool  *Pool
}

// Sizes: those of classOf, without an end. Blocks of up to pinnedSlot bytes share segments.
const (
	pinnedSlot  = 128 << 10
	pinnedSlots = 8        // in a segment, at least
	pinnedLeast = 64 << 10 // bytes of a segment with several blocks
	pinnedNear  = 8        // classes: a segment of one block serves sizes down to half of its own
	pinnedLooks = 64       // pending blocks of a class that a Make looks at
)

// pinnedHeap returns the pool's page-locked memory, which is made at the first call: an account that most
// pools have no use for.
func (c *core) pinnedHeap() *pinnedHeap {
	if hp := c.pinned.Load(); hp != nil {
		return hp
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if hp := c.pinned.Load(); hp != nil {
		return hp
	}
	account := books.Of(c.books).NewAccount(c.dev.Name() + " page-locked")
	hp := &pinnedHeap{core: c, account: account, mu: new(lockrank.Mutex[rankHeap])}
	hp.shard = hp.account.NewShard(hp.mu)
	hp.index.Store(new([]*pinnedSegment))
	c.estate.mu.Lock()
	c.estate.pinnedAccount = hp.account
	c.estate.mu.Unlock()
	c.pinned.Store(hp)
	return hp
}

// take returns a live block for size bytes.
func (hp *pinnedHeap) take(size int64) (*pinnedBlock, error) {
	class := classOf(size)
	hp.mu.Lock()
	b := hp.idle(class)
	pending := hp.pending > 0
	hp.mu.Unlock()
	if b == nil && pending {
		hp.look(class, hp.near(class), pinnedLooks)
		hp.mu.Lock()
		b = hp.idle(class)
		hp.mu.Unlock()
	}
	if b != nil {
		return b, nil
	}
	seg, err := hp.grow(class)
	if err != nil {
		return nil, err
	}
	hp.mu.Lock()
	defer hp.mu.Unlock()
	hp.add(seg)
	return hp.own(&seg.blocks[0]), nil
}

// idle takes a block that serves class. hp.mu is held.
func (hp *pinnedHeap) idle(class int) *pinnedBlock {
	most := min(hp.near(class), len(hp.classes)-1)
	for range 2 {
		for k := class; k <= most; k++ {
			if b := hp.classes[k].idle; b != nil {
				hp.classes[k].idle = b.next
				return hp.own(b)
			}
		}
		if hp.pending == 0 {
			break
		}
		for k := class; k <= most; k++ {
			hp.settle(k, false, pinnedLooks)
		}
	}
	return nil
}

// near returns the last class whose blocks serve class: a segment of one block does for less.
func (hp *pinnedHeap) near(class int) int {
	if classSize(class) > pinnedSlot {
		return class + pinnedNear
	}
	return class
}

// own makes an idle block, which is in no list, live. hp.mu is held.
func (hp *pinnedHeap) own(b *pinnedBlock) *pinnedBlock {
	b.next = nil
	b.seg.busy++
	b.word.Add(genUnit)
	hp.shard.Alloc(b.size())
	hp.core.tellPinned(b, true)
	return b
}

func (b *pinnedBlock) size() int64 { return b.seg.slot() }

// slot returns the size of seg's blocks.
func (seg *pinnedSegment) slot() int64 {
	if seg.registered {
		return seg.size
	}
	return classSize(seg.class)
}

// told tells those who watch that b was made: its site, if it is a sample, the history and the probe.
func (hp *pinnedHeap) told(b *pinnedBlock) {
	c := hp.core
	hp.mu.Lock()
	sample, seq := hp.shard.Sample(), hp.shard.Seq()
	hp.mu.Unlock()
	if sample != 0 {
		sample = hp.shard.Site(sample, b.size())
	}
	hp.mu.Lock()
	b.site = sample
	hp.mu.Unlock()
	if c.recording {
		hp.shard.Record(books.Made, uintptr(b.ptr), b.size())
	}
	probe.Alloc(uintptr(b.ptr), uintptr(b.size()), uintptr(sample.Site()), seq)
}

// free ends generation gen of h's block.
func (hp *pinnedHeap) free(h *pinnedHeader, gen uint64) {
	b := h.block
	hp.mu.Lock()
	for {
		w := b.word.Load()
		if w>>pinBits != gen {
			hp.shard.Repeat()
			hp.mu.Unlock()
			return
		}
		if b.word.CompareAndSwap(w, w+genUnit) {
			b.header = h
			hp.end(b, w&pinMask == 0, probe.Explicit)
			return
		}
	}
}

// freeLate ends what the dead header with a number owned, if it owned anything.
func (hp *pinnedHeap) freeLate(owner uint32) {
	hp.mu.Lock()
	b := hp.owners[owner]
	hp.owners[owner] = nil
	hp.spare = append(hp.spare, owner)
	if b == nil {
		hp.mu.Unlock()
		return
	}
	for {
		w := b.word.Load()
		if w>>pinBits&1 == 0 {
			b.header = nil
			hp.mu.Unlock()
			return
		}
		if b.word.CompareAndSwap(w, w+genUnit) {
			hp.end(b, w&pinMask == 0, probe.Late)
			return
		}
	}
}

// end is the rest of a Free. If nobody uses b now it becomes idle or pending; else that is for who ends the
// last use. hp.mu is held; end unlocks it.
func (hp *pinnedHeap) end(b *pinnedBlock, unused bool, how uintptr) {
	c, size, site := hp.core, b.size(), b.site
	b.past = site
	if how == probe.Late {
		hp.shard.Late(size)
	} else {
		hp.shard.Free(size)
	}
	seq := hp.shard.Seq()
	if unused {
		hp.retire(b)
	} else {
		hp.shard.Pend(size)
		hp.pending++
	}
	hp.mu.Unlock()
	hp.shard.Unsite(site, size, how == probe.Late)
	if c.recording {
		kind := books.Freed
		if how == probe.Late {
			kind = books.Late
		}
		hp.shard.Record(kind, uintptr(b.ptr), size)
	}
	probe.Free(uintptr(b.ptr), uintptr(size), uintptr(site.Site()), seq, how)
	if c.closed.Load() {
		hp.leftover()
	}
}

// retire lists a block that nobody owns or uses: as pending if streams were given it. hp.mu is held.
func (hp *pinnedHeap) retire(b *pinnedBlock) {
	k := &hp.classes[b.seg.class]
	hp.core.tellPinned(b, false)
	if b.needs = hp.needsOf(b); len(b.needs) == 0 {
		k.rest(b)
		return
	}
	hp.shard.Pend(b.size())
	hp.pending++
	k.push(b)
}

// settle makes the pending blocks of a class idle whose needs are met, or, with all, every one. Of those
// whose needs are not met it looks at so many at most, and puts them behind the others. It asks no device.
// hp.mu is held.
func (hp *pinnedHeap) settle(class int, all bool, most int) {
	k := &hp.classes[class]
	for b, end := k.first, k.last; b != nil && most > 0; b = k.first {
		if k.first = b.next; k.first == nil {
			k.last = nil
		}
		if !all && slices.ContainsFunc(b.needs, func(s stamp) bool { return !s.complete() }) {
			k.push(b)
			most--
		} else {
			clear(b.needs) // which lead to heaps
			b.needs = b.needs[:0]
			k.rest(b)
			hp.pending--
			hp.shard.Unpend(b.size())
		}
		if b == end {
			break
		}
	}
}

// rest makes b idle. What is registered serves nobody else.
func (k *pinnedClass) rest(b *pinnedBlock) {
	if b.seg.busy--; !b.seg.registered {
		b.next, k.idle = k.idle, b
	}
}

// push puts b behind the pending blocks.
func (k *pinnedClass) push(b *pinnedBlock) {
	if b.next = nil; k.last == nil {
		k.first = b
	} else {
		k.last.next = b
	}
	k.last = b
}

// settleAll settles all classes.
func (hp *pinnedHeap) settleAll(all bool) {
	hp.mu.Lock()
	defer hp.mu.Unlock()
	for k := range hp.classes {
		hp.settle(k, all, math.MaxInt)
	}
}

// newHeader returns a header for b, which the collector watches.
func (hp *pinnedHeap) newHeader(p *Pool, b *pinnedBlock) *pinnedHeader {
	h := &pinnedHeader{block: b, pool: p}
	hp.mu.Lock()
	if n := len(hp.spare); n > 0 {
		b.owner = hp.spare[n-1]
		hp.spare = hp.spare[:n-1]
		hp.owners[b.owner] = b
	} else {
		b.owner = uint32(len(hp.owners))
		hp.owners = append(hp.owners, b)
	}
	hp.mu.Unlock()
	finalize.Arm(&hp.core.estate.unpin, h, b.owner)
	return h
}

// unpinLate takes back what the dead header with a number owned. It calls no device, unless the pool is
// closed.
func (c *core) unpinLate(owner uint32) { c.pinned.Load().freeLate(owner) }
