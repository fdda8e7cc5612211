package alloc

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"unsafe"

	"github.com/lastuse/lastuse/tracker"
)

// What work does with page-locked memory, and what the device is asked about that work.

// A PinnedUse is page-locked memory that work is about to be given. The zero PinnedUse is of no memory.
type PinnedUse struct {
	Ptr  unsafe.Pointer
	Size int64 // bytes

	heap   *pinnedHeap
	block  *pinnedBlock
	stream uintptr
}

// BeginPinned pins page-locked memory for work that is about to be enqueued on s, and notes that s uses it.
// A package that enqueues such work calls it, as it calls [Stream.Begin]; if the error is nil, End must
// follow. A Free that comes in between takes effect at End, and the memory is used again when what s has by
// then has run. It is Begin, without arguments too, that keeps s from being destroyed by a Close meanwhile.
func BeginPinned[T any](s *Stream, p Pinned[T]) (PinnedUse, error) {
	return s.beginPinned(p.header, p.gen, int64(p.n)*int64(unsafe.Sizeof(*(*T)(nil))))
}

func (s *Stream) beginPinned(h *pinnedHeader, gen uint64, size int64) (PinnedUse, error) {
	if err := s.open(); err != nil {
		return PinnedUse{}, fmt.Errorf("alloc: page-locked memory: %w", err)
	}
	if h == nil {
		return PinnedUse{}, nil
	}
	if h.pool != s.pool {
		return PinnedUse{}, fmt.Errorf("alloc: page-locked memory %w", ErrForeign)
	}
	b := h.block
	if !b.pin(gen) {
		return PinnedUse{}, s.core.pinned.Load().used(b, gen, "page-locked memory")
	}
	line := &s.heap.line
	if m := s.member(); m != nil {
		m.usePinned(b, gen)
	} else {
		b.usedOn(line)
	}
	if o := s.core.custody; o != nil {
		o.Begin(line.handle, uintptr(b.ptr), b.size())
	}
	return PinnedUse{Ptr: b.ptr, Size: size, heap: s.core.pinned.Load(), block: b, stream: line.handle}, nil
}

// End unpins what [BeginPinned] pinned. The work is enqueued, or will not be.
func (u PinnedUse) End() {
	if b := u.block; b != nil {
		if o := u.heap.core.custody; o != nil {
			o.End(u.stream, uintptr(b.ptr), b.size())
		}
		u.heap.unpin(b)
	}
}

// pin keeps the memory of the owner with generation gen from becoming another's, until unpin. It reports
// false if that one has freed it.
func (b *pinnedBlock) pin(gen uint64) bool {
	for {
		w := b.word.Load()
		if w>>pinBits != gen {
			return false
		}
		if w&pinMask == pinMask {
			runtime.Gosched() // 65,535 uses are being enqueued: let one finish
			continue
		}
		if b.word.CompareAndSwap(w, w+1) {
			return true
		}
	}
}

// unpin ends a pin. If the memory was freed meanwhile and this was the last pin, the Free takes effect now.
func (hp *pinnedHeap) unpin(b *pinnedBlock) {
	w := b.word.Add(^uint64(0))
	if w&pinMask != 0 || w>>pinBits&1 != 0 {
		return
	}
	hp.mu.Lock()
	hp.shard.Unpend(b.size()) // what end counted
	hp.pending--
	hp.retire(b)
	hp.mu.Unlock()
	if hp.core.closed.Load() {
		hp.leftover()
	}
}

// used returns the error for a use of b by the owner with generation gen, which has freed it.
func (hp *pinnedHeap) used(b *pinnedBlock, gen uint64, op string) error {
	err := &UseError{Op: op}
	hp.mu.Lock()
	site := b.past
	last := b.word.Load()>>pinBits == gen+1 // no other has had it since
	hp.mu.Unlock()
	if last && site != 0 {
		err.Site = hp.core.books.SiteOf(tracker.SiteID(site.Site()))
	}
	return err
}

// usedOn notes that work on t's stream was given b.
func (b *pinnedBlock) usedOn(t *timeline) {
	if b.users.Load()&t.bit == 0 {
		b.users.Or(t.bit)
	}
}

// needsOf returns what b must wait for: all that the streams that were given it have now. hp.mu is held.
func (hp *pinnedHeap) needsOf(b *pinnedBlock) []stamp {
	return hp.core.stamps(b.needs[:0], b.users.Swap(0))
}

// look asks the device how far the streams have come that pending blocks of the classes from first to last
// wait for, the first most of each class.
func (hp *pinnedHeap) look(first, last, most int) {
	for _, n := range hp.waiting(first, last, most) {
		n.look()
	}
}

// await waits for all that pending blocks wait for.
func (hp *pinnedHeap) await() {
	for _, n := range hp.waiting(0, math.MaxInt, math.MaxInt) {
		_ = n.await()
	}
	hp.settleAll(false)
}

// waiting returns, for each stream, the latest that pending blocks of the classes from first to last wait
// for, the first most of each class.
func (hp *pinnedHeap) waiting(first, last, most int) []stamp {
	hp.mu.Lock()
	defer hp.mu.Unlock()
	var all []stamp
	for k := first; k <= last && k < len(hp.classes); k++ {
		for b, i := hp.classes[k].first, 0; b != nil && i < most; b, i = b.next, i+1 {
			for _, n := range b.needs {
				if !n.complete() {
					all = latest(all, n)
				}
			}
		}
	}
	return all
}

// hold pins the page-locked block that host memory of n bytes at p lies in, for a copy that is over when it
// returns. The result is nil if it lies in none, which is so for all memory of Go's, or in one that is only
// registered, which such copies use with a handle and without.
func (c *core) hold(op string, p unsafe.Pointer, n int64) (*pinnedBlock, error) {
	hp := c.pinned.Load()
	if hp == nil || n == 0 {
		return nil, nil
	}
	all := *hp.index.Load()
	i, ok := slices.BinarySearchFunc(all, uintptr(p), (*pinnedSegment).compare)
	if !ok || all[i].registered {
		return nil, nil
	}
	seg := all[i]
	b := &seg.blocks[int64(uintptr(p)-uintptr(seg.ptr))/seg.slot()]
	if uintptr(p)+uintptr(n) > uintptr(b.ptr)+uintptr(b.size()) {
		return nil, fmt.Errorf("alloc: %s: %d bytes of page-locked memory: %w", op, n, ErrSize)
	}
	if w := b.word.Load(); w>>pinBits&1 == 0 || !b.pin(w>>pinBits) {
		return nil, hp.used(b, w>>pinBits-1, op+": page-locked memory")
	}
	return b, nil
}

// letGo ends what hold began. If the copy failed, the device may have the memory still.
func (s *Stream) letGo(b *pinnedBlock, failed error) {
	if b == nil {
		return
	}
	if failed != nil {
		b.usedOn(&s.heap.line)
	}
	s.core.pinned.Load().unpin(b)
}
