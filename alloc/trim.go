package alloc

import (
	"errors"
	"runtime"
	"time"
)

// Trim gives idle memory back to the device until at most keep bytes are idle, and
// returns how many bytes went. Of page-locked memory, which counts apart, it gives back what is idle beyond keep too. Only memory whose work is known to be complete can go;
// Trim asks the device for that but does not wait: [Stream.Sync] first, if all of it is
// to go.
func (p *Pool) Trim(keep int64) int64 {
	c := p.core
	c.drain(drainPerLook)
	if !c.estate.enter() {
		return 0
	}
	n := c.trim(max(keep, 0)) + c.trimPinned(max(keep, 0))
	_ = c.leave()
	return n
}

func (c *core) trim(keep int64) int64 {
	c.eachHeap((*heap).ready)
	c.eachHeap((*heap).ready) // guests that came home and were looked at already
	if c.mapper != nil {
		return c.trimGranules(keep)
	}
	return c.trimSegments(keep, maxSize)
}

// idleBytes returns how many bytes are idle.
func (c *core) idleBytes() int64 {
	st := c.account.Stats()
	return st.Reserved - st.Live - st.Pending
}

// trimSegments frees whole idle segments, most bytes of them, until keep bytes are
// idle. The device does not map.
func (c *core) trimSegments(keep, most int64) int64 {
	freed := int64(0)
	c.eachHeap(func(hp *heap) {
		if freed < most {
			hp.ready()
		}
		for freed < most {
			room := c.idleBytes() - keep
			hp.mu.Lock()
			seg := hp.idleSegment(room)
			hp.mu.Unlock()
			if seg == nil {
				return
			}
			c.quiesce()
			c.calls.Add(1)
			c.dropSegment(seg)
			freed += seg.size
		}
	})
	return freed
}

// idleSegment takes a segment that is all idle and complete, and no larger than room, out of
// hp.
func (hp *heap) idleSegment(room int64) *segment {
	hp.cool()
	for i, seg := range hp.segs {
		b := seg.first
		if b.lent || b.right != nil || b.state != stateIdle || seg.size > room || !hp.lane.complete(b.stamp) {
			continue
		}
		hp.removeSegment(i)
		if seg.single {
			hp.whole.take(b)
		} else {
			hp.idle.take(b)
		}
		return seg
	}
	return nil
}

func (hp *heap) removeSegment(i int) {
	b := hp.segs[i].first
	if h := b.header; h != nil {
		b.header = nil
		hp.spareHeader(h)
	}
	last := len(hp.segs) - 1
	hp.segs[i], hp.segs[last] = hp.segs[last], nil
	hp.segs = hp.segs[:last]
}

// dropSegment gives a segment that is in no heap any more back to the device. An error is
// the device's own affair: the books forget the segment either way.
func (c *core) dropSegment(seg *segment) error {
	take(c.estate, &c.estate.ranges, seg.base)
	n := seg.granules.mapped()
	err := c.estate.giveBack(seg.granules)
	c.unclaim(n)
	return err
}

// trimGranules unmaps idle granules until keep bytes are idle.
func (c *core) trimGranules(keep int64) int64 {
	freed := int64(0)
	var errs []error
	c.eachHeap(func(hp *heap) {
		for {
			room := (c.idleBytes() - keep) &^ (c.granule - 1)
			if room <= 0 || len(errs) > 0 {
				return
			}
			b := hp.takeGranules(room)
			if b == nil {
				return
			}
			c.quiesce()
			c.calls.Add(1)
			err := c.mapper.Unmap(b.ptr, b.size)
			hp.mu.Lock()
			if err != nil {
				errs = append(errs, err)
				hp.putIdle(b)
			} else {
				b.seg.granules.set(b.ptr, b.size, false)
				c.account.AddReserved(-b.size)
				c.unclaim(b.size)
				freed += b.size
				hp.putVoid(b)
			}
			hp.mu.Unlock()
		}
	})
	_ = errors.Join(errs...)
	return freed
}

// drain frees the buffers that the collector found dead, n of them at most if n is not
// negative.
func (c *core) drain(n int) int {
	drained := c.estate.late.DrainN(n, c.releaseLate)
	if c.estate.unpin.Len() != 0 {
		c.estate.unpin.DrainN(n, c.unpinLate)
	}
	return drained
}

// awaitDrains waits for other goroutines that are freeing what the collector found dead, for a short
// while at most, and reports whether there were any: what they have in their hands counts as live
// still. It takes microseconds, unless one of them has been stopped.
func (c *core) awaitDrains() bool {
	busy := c.estate.late.Busy()
	if busy == 0 {
		return false
	}
	for pause := time.Microsecond; pause < 20*time.Millisecond && c.estate.late.Busy() >= busy; pause *= 2 {
		runtime.Gosched()
		time.Sleep(pause)
	}
	return true
}

// settle takes blocks of hp that are known to be free of other streams out of pending.
func (c *core) settle(hp *heap, n int) int {
	hp.mu.Lock()
	if hp.pens == 0 {
		hp.mu.Unlock()
		return 0
	}
	settled, gone := hp.settle(n)
	hp.mu.Unlock()
	for gone != nil {
		b := gone
		gone, b.next = b.next, nil
		c.disown(hp, b)
	}
	return settled
}

// settleAll settles every heap. It asks the device nothing.
func (c *core) settleAll() {
	c.eachHeap(func(hp *heap) {
		for c.settle(hp, settlePerLook) == settlePerLook {
		}
	})
}

// inquire asks the device about what the pending blocks of hp wait for, and settles those it is
// done with. It reports whether there was one.
func (c *core) inquire(hp *heap) bool {
	hp.mu.Lock()
	needs := hp.needs(nil)
	hp.mu.Unlock()
	for _, n := range needs {
		n.lane.look(n.stamp)
	}
	return len(needs) > 0 && c.settle(hp, settlePerLook) > 0
}

// awaitLane waits for all that was freed on l. It reports whether anything was not known to be
// complete before.
func (c *core) awaitLane(l *lane) bool {
	any := false
	for _, hp := range *l.all.Load() {
		hp.mu.Lock()
		hp.cool()
		last, idle := hp.last, hp.idle.rows != 0 || hp.whole.rows != 0 || hp.guests.rows != 0 || hp.pens != 0
		hp.mu.Unlock()
		if idle && !l.complete(last) && l.await(last) == nil {
			any = true
		}
	}
	return any
}
