package alloc

import (
	"cmp"
	"math/bits"
	"slices"
)

// Pending blocks.
//
// A block that other streams have used waits in its heap until they are seen to be past the point of its
// Free. Blocks that wait for the same streams stand in one queue, so a slow stream holds up nothing that
// does not wait for it. Blocks freed while the streams' epochs stood still share a batch, and so the
// answer to one question.
//
// A block that graphs name waits for none of that before the last of them lets go of it (naming.go).

// A queue holds the batches that wait for the timelines in mask.
type queue struct {
	mask        uint64 // bits of timelines
	first, last *batch // oldest first
}

// A batch is a list of pending blocks freed between two events.
type batch struct {
	heaps *[]*heap // the pool's when the batch began
	needs []stamp
	first *block // linked by next
	next  *batch
}

// met reports whether all that the blocks of a batch wait for is known to be complete.
func (b *batch) met() bool {
	for _, s := range b.needs {
		if !s.complete() {
			return false
		}
	}
	return true
}

// pend puts b, which other streams have used or somebody else has made, among the pending blocks. hp.mu is
// held.
func (hp *heap) pend(b *block) {
	b.state = statePending
	hp.shard.Pend(b.size)
	hp.pendingBytes += b.size
	if b.others.Load()&heldBit == 0 {
		hp.enqueue(b)
		return
	}
	if hp.held == nil {
		hp.held = make(map[*block]struct{})
	}
	hp.held[b] = struct{}{}
}

// enqueue makes the pending block b wait for the streams that have used it. hp.mu is held.
func (hp *heap) enqueue(b *block) {
	mask := b.others.Swap(0)
	if b.adopted != nil {
		mask |= hp.line.bit // its memory leaves the stream: the stream itself must be past it
	}
	i, known := slices.BinarySearchFunc(hp.pending, mask, func(q *queue, mask uint64) int {
		return cmp.Compare(q.mask, mask)
	})
	if !known {
		hp.pending = slices.Insert(hp.pending, i, &queue{mask: mask})
	}
	q := hp.pending[i]
	if q.last == nil || !q.last.current(hp.core) {
		fresh := hp.newBatch(mask)
		if q.last == nil {
			q.first = fresh
		} else {
			q.last.next = fresh
		}
		q.last = fresh
	}
	b.next, q.last.first = q.last.first, b
}

// current reports whether a block freed now would wait for the same as those of b.
func (b *batch) current(c *core) bool {
	if b.heaps != c.heaps.Load() {
		return false
	}
	for _, s := range b.needs {
		if s.line.now() != s {
			return false
		}
	}
	return true
}

// newBatch returns an empty batch for blocks freed now.
func (hp *heap) newBatch(mask uint64) *batch {
	b := hp.batches
	if b == nil {
		b = new(batch)
	}
	hp.batches = b.next
	b.heaps, b.needs, b.next = hp.core.heaps.Load(), b.needs[:0], nil
	b.needs = hp.core.stamps(b.needs, mask)
	return b
}

// stamps appends the stamps of what is freed now for the timelines in mask.
func (c *core) stamps(to []stamp, mask uint64) []stamp {
	for _, o := range c.allHeaps() {
		if o.line.bit&mask != 0 {
			to = append(to, o.line.now())
		}
	}
	return to
}

// settlePerLook is how many pending blocks one look at a heap makes idle.
const settlePerLook = 4096

// settle makes blocks of hp idle that are known to be free of other streams, and returns how many. It asks
// the device nothing. Adopted memory is released. No lock is held.
func (hp *heap) settle() int {
	hp.mu.Lock()
	n, gone := hp.settleLocked()
	hp.mu.Unlock()
	for ; gone != nil; gone = gone.next {
		gone.release()
	}
	return n
}

// settleLocked is settle but for the release of adopted memory, which it returns, linked by next.
func (hp *heap) settleLocked() (settled int, gone *adopted) {
	for i := 0; i < len(hp.pending); i++ {
		q := hp.pending[i]
		for q.first != nil && settled < settlePerLook && q.first.met() {
			b, done := q.first.first, q.first
			if done.first = b.next; done.first == nil {
				if q.first = done.next; q.first == nil {
					q.last = nil
				}
				done.heaps, done.next = nil, hp.batches
				hp.batches = done
			}
			b.next = nil
			settled++
			hp.shard.Unpend(b.size)
			hp.pendingBytes -= b.size
			switch {
			case b.adopted == nil:
				hp.idle(b)
			case hp.core.disown(hp, b):
				b.adopted.next, gone = gone, b.adopted
			}
		}
		if q.first == nil && bits.OnesCount64(q.mask) > 1 {
			// Sets of streams are many; only the single ones are worth keeping.
			hp.pending = slices.Delete(hp.pending, i, i+1)
			i--
		}
	}
	return settled, gone
}

// settleAll settles every heap. It asks the device nothing.
func (c *core) settleAll() {
	for _, hp := range c.allHeaps() {
		for hp.settle() == settlePerLook {
		}
	}
}

// needs returns what the pending blocks of hp wait for, the oldest of each queue: one stamp a stream.
func (hp *heap) needs() (all []stamp) {
	hp.mu.Lock()
	defer hp.mu.Unlock()
	for _, q := range hp.pending {
		if q.first != nil {
			for _, s := range q.first.needs {
				all = latest(all, s)
			}
		}
	}
	return all
}

// inquire asks the device about what the pending blocks of hp wait for, and settles those it is done with.
// It reports whether there was one.
func (hp *heap) inquire() bool {
	needs := hp.needs()
	for _, s := range needs {
		s.look()
	}
	return len(needs) > 0 && hp.settle() > 0
}
