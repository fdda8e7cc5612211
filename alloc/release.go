package alloc

import (
	"github.com/lastuse/lastuse/internal/books"
	"github.com/lastuse/lastuse/internal/probe"
)

// free is Free: it ends generation gen. Of all the calls for one generation one releases the block; the
// others are counted as repeated.
func (h *header) free(gen uint64) {
	if h.end(gen) {
		h.pool.core.release(h.block, h, probe.Explicit)
	}
}

// releaseLate releases the block that the dead header with a number owned, if it owned one. It runs on the
// goroutine of whoever drains the late queue.
func (c *core) releaseLate(number uint32) {
	if b := c.owners.drop(number); b != nil {
		c.release(b, nil, probe.Late)
	}
}

// release is the one way from live to what comes after: idle if only its own stream has used b, pending if
// others have, or in Check mode quarantine. h is b's header, whose generation the caller has ended so that
// nobody else uses it, or nil if the collector has found it dead. Nothing is asked of the device, but for
// the poison of Check mode. No lock is held.
func (c *core) release(b *block, h *header, how uintptr) {
	if b.state == stateInner {
		c.releaseInner(b, h)
		return
	}
	hp := b.heap()
	named := b.others.Load()&heldBit != 0 // then it is the graphs' until the last of them lets go
	if c.careful {
		if !named {
			c.tellFreed(b)
		}
		c.poison(b, h, named)
	}
	hp.mu.Lock()
	if named && b.checked != nil {
		hp.unwatched(b.checked)
	}
	if named && b.others.Load()&heldBit == 0 {
		c.tellFreed(b)
	}
	site, ptr, size := b.site, b.ptr, b.size
	b.header = h
	if h == nil {
		hp.shard.Late(size)
	} else {
		hp.shard.Free(size)
	}
	if site != 0 {
		b.site = 0
		if h != nil {
			h.past.Store(uint64(site) | (h.word.Load()>>pinBits-1)<<32)
		}
	}
	seq := hp.shard.Seq()
	if c.careful && c.trace != nil && b.adopted == nil &&
		(b.checked == nil || b.checked.fenced) { // else there is no line of its Make
		c.trace.add('f', hp.line.index, ptr, 0) // before anybody can have it
	}
	b.stamp = hp.line.now()
	hp.last = b.stamp
	switch {
	case b.checked != nil && b.others.Load()&heldBit == 0:
		c.checker.hold(b)
	case b.others.Load() != 0 || b.adopted != nil:
		hp.pend(b)
	default:
		hp.idle(b)
	}
	hp.mu.Unlock()

	hp.shard.Unsite(site, size, h == nil)
	if c.careful && c.recording {
		kind := books.Freed
		if h == nil {
			kind = books.Late
		}
		c.record(hp, kind, ptr, size)
	}
	probe.Free(uintptr(ptr), uintptr(size), uintptr(site.Site()), seq, how)
	if c.closed.Load() {
		c.leftover()
	}
}
