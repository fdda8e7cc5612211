package alloc

import (
	"runtime"
	"time"
)

// Trim gives idle memory back to the device until at most keep bytes are idle, and
// returns how many bytes went. Of page-locked memory, which counts apart, it gives back what is idle beyond
// keep too. Only memory whose work is known to be complete can go;
// Trim asks the device for that but does not wait: [Stream.Sync] first, if all of it is
// to go.
//
//lastuse:effect recv borrowed
func (p *Pool) Trim(keep int64) int64 {
	c := p.core
	c.drain(drainPerLook)
	if !c.estate.enter() {
		return 0
	}
	c.reap()
	n := c.trim(max(keep, 0)) + c.trimPinned(max(keep, 0))
	_ = c.leave()
	return n
}

func (c *core) trim(keep int64) int64 {
	if c.mapper != nil {
		return c.trimExtents(keep)
	}
	return c.trimSegments(keep, maxSize)
}

// idleBytes returns how many bytes are idle.
func (c *core) idleBytes() int64 {
	st := c.account.Stats()
	return st.Reserved - st.Live - st.Pending
}

// trimSegments frees whole idle segments, until about most bytes are freed or keep bytes are idle. The device
// does not map.
func (c *core) trimSegments(keep, most int64) (freed int64) {
	if c.graphs.captured.Load() > 0 {
		return 0 // Free may wait for the whole device
	}
	c.tidyAll()
	c.moving.RLock()
	defer c.moving.RUnlock()
	for _, seg := range c.arena.takeSegments(c.idleBytes()-keep, most) {
		if !c.quiesce() {
			c.arena.restore(seg)
			continue
		}
		c.calls.Add(1)
		// An error is the device's own affair: the books forget the segment either way.
		take(c.estate, &c.estate.ranges, seg.base)
		_ = c.estate.giveBack(seg.granules)
		c.unclaim(seg.size)
		freed += seg.size
	}
	return freed
}

// takeSegments takes segments that are all idle and complete out of the arena, until about most bytes are
// taken or the next one is larger than what is left of room.
func (a *arena) takeSegments(room, most int64) (gone []*segment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := 0; i < len(a.segs) && most > 0; {
		seg := a.segs[i]
		b := seg.first
		if b.right != nil || b.shelved != stateIdle || seg.size > room || !b.stamp.complete() {
			i++
			continue
		}
		b.binsOf().take(b)
		a.dropBlock(b)
		gone = append(gone, seg)
		room, most = room-seg.size, most-seg.size
		last := len(a.segs) - 1
		a.segs[i], a.segs[last] = a.segs[last], nil
		a.segs = a.segs[:last]
	}
	return gone
}

// restore puts back a segment that takeSegments took.
func (a *arena) restore(seg *segment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.put(a.open(seg, stamp{line: &seg.home.line}))
}

// trimExtents unmaps idle extents until keep bytes are idle.
func (c *core) trimExtents(keep int64) (freed int64) {
	c.tidyAll()
	c.moving.RLock()
	defer c.moving.RUnlock()
	a := &c.arena
	for {
		room := (c.idleBytes() - keep) &^ (c.granule - 1)
		if room <= 0 {
			return freed
		}
		p := a.takeExtents(room, room)
		if p == nil {
			return freed
		}
		err := errNotObservable
		if c.quiesce() {
			c.calls.Add(1)
			err = c.mapper.Unmap(p.ptr, p.size)
		}
		a.mu.Lock()
		if err != nil {
			a.put(p)
			a.mu.Unlock()
			return freed
		}
		freed += p.size
		c.lost(p)
		a.mu.Unlock()
	}
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
