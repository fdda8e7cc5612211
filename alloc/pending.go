package alloc

import "math/bits"

// Pending blocks.
//
// A block that other streams have used waits in its heap until they are seen to be
// past the point of its Free. Blocks that wait for the same streams stand in one queue, so
// a slow stream holds up nothing that does not wait for it. Blocks freed while the
// streams' epochs stood still share a batch, and so the answer to one question.

// A queue holds the batches that wait for the lanes in mask.
type queue struct {
	mask        uint64 // bits of lanes
	first, last *batch // oldest first
}

// A batch is a list of pending blocks freed between two events.
type batch struct {
	lanes *[]*lane // the pool's when the batch began
	needs []need
	first *block // linked by next
	next  *batch
}

// A need is a stamp on a lane.
type need struct {
	lane  *lane
	stamp uint64
}

// met reports whether the need's work is known to be complete.
func (n need) met() bool { return n.lane.complete(n.stamp) }

// met reports whether all of a batch's needs are.
func (b *batch) met() bool {
	for _, n := range b.needs {
		if !n.met() {
			return false
		}
	}
	return true
}

// pend puts b among the pending blocks. hp.mu is held.
func (hp *heap) pend(b *block) {
	mask := b.others.Swap(0)
	if b.adopted != nil {
		mask |= hp.lane.bit // its memory leaves the stream: the stream itself must be past it
	}
	b.state = statePending
	hp.shard.Pend(b.size)
	hp.pens += b.size
	var q *queue
	for _, k := range hp.pending {
		if k.mask == mask {
			q = k
		}
	}
	if q == nil {
		q = &queue{mask: mask}
		hp.pending = append(hp.pending, q)
	}
	if q.last == nil || !hp.current(q.last) {
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

// current reports whether a block freed now would have the needs of b.
func (hp *heap) current(b *batch) bool {
	if b.lanes != hp.core.lanes.Load() {
		return false
	}
	for _, n := range b.needs {
		if n.lane.epoch.Load() != n.stamp {
			return false
		}
	}
	return true
}

// newBatch returns an empty batch with the needs of a block freed now.
func (hp *heap) newBatch(mask uint64) *batch {
	b := hp.batches
	if b == nil {
		b = new(batch)
	}
	hp.batches = b.next
	b.lanes, b.needs, b.next = hp.core.lanes.Load(), b.needs[:0], nil
	for _, l := range *b.lanes {
		if l.bit&mask != 0 {
			b.needs = append(b.needs, need{l, l.epoch.Load()})
		}
	}
	return b
}

// settle takes up to n pending blocks whose needs are met out of pending. Blocks of the
// pool go to the idle ones; adopted ones are returned, linked by next, to be released by
// the caller without a lock. Nothing is asked of the device. hp.mu is held.
func (hp *heap) settle(n int) (settled int, adopted *block) {
	for i := 0; i < len(hp.pending); i++ {
		q := hp.pending[i]
		for q.first != nil && settled < n && q.first.met() {
			b, done := q.first.first, q.first
			if done.first = b.next; done.first == nil {
				if q.first = done.next; q.first == nil {
					q.last = nil
				}
				done.lanes, done.next = nil, hp.batches
				hp.batches = done
			}
			b.next = nil
			settled++
			hp.shard.Unpend(b.size)
			hp.pens -= b.size
			if b.adopted != nil {
				b.state = stateBusy
				b.next, adopted = adopted, b
				continue
			}
			hp.retire(b)
		}
		if q.first == nil && bits.OnesCount64(q.mask) > 1 {
			// Sets of streams are many; only the single ones are worth keeping.
			last := len(hp.pending) - 1
			hp.pending[i], hp.pending[last] = hp.pending[last], nil
			hp.pending = hp.pending[:last]
			i--
		}
	}
	return settled, adopted
}

// needs appends what the pending blocks of hp wait for, the oldest of each queue. hp.mu
// is held.
func (hp *heap) needs(all []need) []need {
	for _, q := range hp.pending {
		if q.first != nil {
			all = append(all, q.first.needs...)
		}
	}
	return all
}
