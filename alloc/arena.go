package alloc

import "github.com/lastuse/lastuse/internal/lockrank"

// An arena has the pool's segments and its large idle blocks. A heap that needs a large block, or one
// to cut a run from, takes it here, and brings it back when it has no more use for it.
//
// Each idle block lies in the bins of the stream that used it last, which may have it again at once. Any
// other stream may have it if timeline.orders says so of its stamp. What a stream takes over has its own
// stamps from then on, so what a third stream compares is always a number of the timeline that the block
// was freed on.
//
// Idle neighbours of one stream are joined at once. Neighbours of different streams stay apart, as the
// work on one would hold up the other, until sendHome finds both complete.
//
// The lock is taken below that of a heap, and the device is never called under it.
type arena struct {
	core *core

	mu      lockrank.Mutex[rankArena]
	segs    []*segment
	structs *block // spare ones, linked by next
}

// shelf is what an arena keeps for one heap.
type shelf struct {
	idle  [numKinds]bins // idle blocks whose stamps are its stream's
	holes [numKinds]bins // addresses without memory in the segments that serve its growth
}

// empty reports whether nothing is idle.
func (s *shelf) empty() bool {
	for k := range s.idle {
		if s.idle[k].rows != 0 {
			return false
		}
	}
	return true
}

// binsOf returns the bins that the idle block b belongs in.
func (b *block) binsOf() *bins {
	return &b.heap().shelf.idle[b.seg.kind]
}

// put makes b, which is in no list, idle on the stream of its stamp, and joins it with its neighbours
// there. It returns what becomes of it. a.mu is held.
func (a *arena) put(b *block) *block {
	b.state, b.shelved = stateIdle, stateIdle
	if r := b.right; r != nil && r.shelved == stateIdle && r.stamp.line == b.stamp.line {
		r.binsOf().take(r)
		a.join(b)
	}
	if l := b.left; l != nil && l.shelved == stateIdle && l.stamp.line == b.stamp.line {
		l.binsOf().take(l)
		a.join(l)
		b = l
	}
	b.binsOf().put(b)
	return b
}

// putHole makes b, which is in no list, addresses without memory. a.mu is held.
func (a *arena) putHole(b *block) {
	holes := &b.seg.home.shelf.holes[b.seg.kind]
	b.state, b.shelved, b.stamp = stateHole, stateHole, stamp{}
	if r := b.right; r != nil && r.shelved == stateHole {
		holes.take(r)
		a.join(b)
	}
	if l := b.left; l != nil && l.shelved == stateHole {
		holes.take(l)
		a.join(l)
		b = l
	}
	holes.put(b)
}

// take takes the best fit for size bytes out of hp's own idle blocks, or returns nil. What it returns
// is busy.
func (a *arena) take(hp *heap, size int64) *block {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cut(hp, hp.shelf.find(a.core.kindOf(size), size, nil), size)
}

// steal is take from the blocks of any heap o, of those that hp's stream may have now. With any it takes
// a block of whatever kind.
func (a *arena) steal(hp, o *heap, size int64, any bool) *block {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := o.shelf.find(a.core.kindOf(size), size, &hp.line)
	if any && b == nil {
		b = o.shelf.any(size, &hp.line)
	}
	return a.cut(hp, b, size)
}

// leave makes b, which has been taken out of its list, busy. a.mu is held.
func (b *block) leave() { b.state, b.shelved = stateBusy, stateBusy }

// candidates bounds how many blocks a search looks at whose work may have to be complete: the ones that
// come first may all be too young.
const candidates = 32

// find returns the best fit for size bytes of a kind, of a whole segment only if little of it is wasted. If t
// is not nil the block must be one that t's stream may have. It stays in the bins.
func (s *shelf) find(k kind, size int64, t *timeline) *block {
	b := s.fit(k, size, t)
	if k == wholeKind && (b == nil || wasteful(b, size)) {
		return s.fit(largeKind, size, t)
	}
	return b
}

// any is find in segments of whatever kind.
func (s *shelf) any(size int64, t *timeline) (b *block) {
	for k := kind(0); b == nil && k < numKinds; k++ {
		b = s.fit(k, size, t)
	}
	return b
}

// fit is find in segments of kind k alone.
func (s *shelf) fit(k kind, size int64, t *timeline) *block {
	b := s.idle[k].find(size)
	for i := 0; b != nil && t != nil && !t.orders(b.stamp); i++ {
		if i == candidates {
			return nil
		}
		b = s.idle[k].after(b)
	}
	return b
}

// wholeWaste is the part of a request, 1/8, by which a whole segment may be larger than the buffer that it is
// used for again.
const wholeWaste = 8

// wasteful reports whether b is too large to be used for size bytes as it is.
func wasteful(b *block, size int64) bool {
	return b.seg.kind != wholeKind || b.size > size+size/wholeWaste
}

// cut takes b out of its bins, if it is not nil, puts back what is above size bytes, and makes it busy
// and hp's. a.mu is held.
func (a *arena) cut(hp *heap, b *block, size int64) *block {
	if b == nil {
		return nil
	}
	b.binsOf().take(b)
	b.leave()
	if wasteful(b, size) {
		if rest := a.split(b, size); rest != nil {
			a.put(rest)
		}
	}
	if l := &hp.line; b.stamp.line != l {
		b.stamp = stamp{line: l} // its Free gives it a number: nobody else can have it before
	}
	return b
}

// sendHome gives what is idle and known to be complete to the heap in whose segment it lies, whoever had it
// last, so that it is joined with what lies beside it.
func (a *arena) sendHome() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, seg := range a.segs {
		for b := seg.first; b != nil; b = b.right {
			if b.shelved == stateIdle && b.heap() != seg.home && b.stamp.complete() {
				b.binsOf().take(b)
				b.stamp = stamp{line: &seg.home.line}
				b = a.put(b)
			}
		}
	}
}

// takeExtents takes whole extents that are idle, whosever they are, and whose work is known to be complete:
// as few as make least bytes, most bytes at most. It looks at all blocks before it finds none. What it
// returns is busy.
func (a *arena) takeExtents(least, most int64) *block {
	a.mu.Lock()
	defer a.mu.Unlock()
	var best *block
	var from, size int64
	for _, hp := range a.core.allHeaps() {
		for k := range hp.shelf.idle {
			idle := &hp.shelf.idle[k]
			b := idle.largest()
			for i := 0; b != nil && (i < candidates || best == nil) && b.size >= a.core.granule &&
				size < least; i++ {
				if b.stamp.complete() {
					if off, n := b.seg.granules.within(b.ptr, b.size, least, most); n > size {
						best, from, size = b, off, n
					}
				}
				b = idle.before(b)
			}
		}
	}
	if best == nil {
		return nil
	}
	b := best
	b.binsOf().take(b)
	if from > 0 {
		rest := a.split(b, from)
		b.binsOf().put(b)
		b = rest
	}
	if rest := a.split(b, size); rest != nil {
		rest.binsOf().put(rest)
	}
	b.leave()
	return b
}

// has reports whether hp has an idle block of size bytes of whatever kind, complete or not.
func (a *arena) has(hp *heap, size int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return hp.shelf.any(size, nil) != nil
}

// open adds a segment and returns the one block that fills it, in no list. a.mu is held.
func (a *arena) open(seg *segment, s stamp) *block {
	b := a.newBlock()
	b.ptr, b.size, b.seg, b.stamp, b.shelved = seg.base, seg.size, seg, s, stateBusy
	seg.first = b
	a.segs = append(a.segs, seg)
	return b
}

// split cuts b, which is in no list, after size bytes and returns the rest, which is as b and in no
// list either, or nil if there is none. a.mu is held.
func (a *arena) split(b *block, size int64) *block {
	if b.size == size {
		return nil
	}
	rest := a.newBlock()
	rest.ptr, rest.size = b.ptr+Ptr(size), b.size-size
	rest.seg, rest.state, rest.shelved, rest.stamp = b.seg, b.state, b.shelved, b.stamp
	rest.left, rest.right = b, b.right
	if b.right != nil {
		b.right.left = rest
	}
	b.right, b.size = rest, size
	return rest
}

// join makes b and its right neighbour, neither of them in a list and both of one stream, one block with
// b's state. a.mu is held.
func (a *arena) join(b *block) {
	r := b.right
	b.size += r.size
	b.stamp = b.stamp.later(r.stamp)
	b.right = r.right
	if r.right != nil {
		r.right.left = b
	}
	a.dropBlock(r)
}

// newBlock returns a zero block. Structs go round: a warm pool makes no new ones. a.mu is held.
func (a *arena) newBlock() *block {
	b := a.structs
	if b == nil {
		all := make([]roomyBlock, 32)
		for i := range all[1:] {
			all[i+1].next = a.structs
			a.structs = &all[i+1].block
		}
		return &all[0].block
	}
	a.structs, b.next = b.next, nil
	return b
}

// dropBlock takes back the struct of a block that is no more. a.mu is held.
func (a *arena) dropBlock(b *block) {
	b.ptr, b.size, b.stamp, b.state, b.shelved, b.owner = 0, 0, stamp{}, 0, 0, 0
	b.prev, b.left, b.right, b.seg = nil, nil, nil, nil
	b.next = a.structs
	a.structs = b
}
