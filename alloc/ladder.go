package alloc

import (
	"errors"
	"fmt"
	"time"

	"github.com/lastuse/lastuse/internal/books"
)

// The ladder is what a Make climbs when no idle block of its heap serves. Each rung may cost more than
// the one before.
type rung int

const (
	rungOwn     rung = iota // other idle blocks of the same stream, after tidying up
	rungLate                // buffers that the collector found dead
	rungOther               // idle blocks of other streams whose work is known to be complete
	rungFresh               // memory from the device
	rungTrim                // idle segments back to the device, or idle extents moved, then fresh memory
	rungPending             // waiting for the streams that pending blocks were used on
	rungWait                // making the stream wait for another one whose idle blocks fit
	rungCollect             // a collection of the Go heap
	rungFail                // nothing helped
	numRungs
)

// climb finds memory for a Make that the stream's heap could not serve: a block of size bytes, or of class c
// if that is not negative. It returns the block live and counted.
func (s *Stream) climb(size int64, class int) (*block, error) {
	c := s.core
	if !c.estate.enter() {
		return nil, fmt.Errorf("alloc: make: %w", errPoolClosed)
	}
	defer c.leave()
	m := &climber{stream: s, core: c, heap: s.heap, size: size, class: class, need: size}
	if class >= 0 {
		m.need = runSize(class)
	}
	b, r := m.climb()
	c.rungs[r].Add(1)
	if b != nil {
		m.heap.mu.Unlock()
		return b, nil
	}
	if c.closed.Load() {
		if m.err == nil || errors.Is(m.err, ErrOutOfMemory) {
			// During the climb: what there was has gone to the device.
			m.err = errPoolClosed
		}
		c.leftover() // what the climb got and could not use any more
	}
	if m.err != nil && !errors.Is(m.err, ErrOutOfMemory) {
		return nil, fmt.Errorf("alloc: make %s: %w", sizeText(size), m.err)
	}
	return nil, s.pool.memoryError(size, m.err)
}

// memoryError says that size bytes are not to be had. err is what the device said last, or nil.
func (p *Pool) memoryError(size int64, err error) error {
	c := p.core
	st := p.Stats()
	c.books.RanOut() // saves the history, if there is one; its trouble is not the caller's
	e := &MemoryError{Requested: size, Limit: c.options.Limit, Stats: st, Err: err}
	e.Sites, e.Unknown = c.liveSites(8)
	return e
}

// A climber is one climb.
type climber struct {
	stream *Stream
	core   *core
	heap   *heap
	size   int64
	class  int
	need   int64 // bytes in one piece that serve the request
	err    error // of the latest attempt to get fresh memory
}

// climb tries the rungs in order. After a rung that may have freed something, the lower ones are tried
// again.
func (m *climber) climb() (*block, rung) {
	for _, step := range []struct {
		rung rung
		try  func() *block
	}{
		{rungOwn, m.own},
		{rungLate, m.lateFrees},
		{rungOther, m.others},
		{rungCollect, m.press},
		{rungFresh, func() *block { return m.fresh(false) }},
		{rungOther, m.gather},
		{rungTrim, m.trim},
		{rungOther, m.any},
		{rungPending, m.pending},
		{rungWait, m.order},
	} {
		if b := step.try(); b != nil {
			return b, step.rung
		}
		if m.hopeless() {
			return nil, rungFail
		}
	}
	return m.collect()
}

// hopeless reports whether the pool is closed, or the device failed in a way that memory given back cannot
// mend.
func (m *climber) hopeless() bool {
	return m.core.closed.Load() || m.err != nil && !errors.Is(m.err, ErrOutOfMemory)
}

// grab takes a block of the stream's own if there is one, and leaves the heap locked then.
func (m *climber) grab() *block {
	m.heap.mu.Lock()
	if b := m.heap.grab(m.size, m.class); b != nil {
		return b
	}
	m.heap.mu.Unlock()
	return nil
}

// own looks through what the stream has, after tidying up.
func (m *climber) own() *block {
	m.heap.settle()
	m.heap.mu.Lock()
	m.heap.tidy(false)
	m.heap.mu.Unlock()
	if b := m.grab(); b != nil {
		return b
	}
	if m.heap.inquire() {
		return m.grab()
	}
	return nil
}

// lateFrees frees what the collector has found dead, as much as it takes, and waits for others who are at
// the same.
func (m *climber) lateFrees() *block {
	for m.core.drain(drainPerClimb) > 0 {
		if b := m.own(); b != nil {
			return b
		}
	}
	if m.core.awaitDrains() {
		return m.own()
	}
	return nil
}

// others takes a block of another stream whose work on it is known to be complete. It leaves the streams
// their empty runs: those who are about to use them would come here next, and do the same to others.
func (m *climber) others() *block {
	return m.from(func(o *heap) *block {
		o.inquire()
		if o == m.heap || !o.hasIdle() {
			return nil
		}
		o.latest().look()
		return m.steal(o, false)
	})
}

// gather is like others after all streams have been tidied up.
func (m *climber) gather() *block {
	m.core.tidyAll()
	return m.from(func(o *heap) *block { return m.steal(o, false) })
}

// any takes what fits of what is idle, of whatever kind of segment, the stream's own included.
func (m *climber) any() *block {
	return m.from(func(o *heap) *block { return m.steal(o, true) })
}

// from tries the heaps of all streams in turn.
func (m *climber) from(try func(*heap) *block) *block {
	for _, o := range m.core.allHeaps() {
		if b := try(o); b != nil {
			return b
		}
	}
	return nil
}

// steal serves the request from what is idle of o that the stream may have now, and leaves the heap locked if
// there is a block. With any it takes one of whatever kind.
func (m *climber) steal(o *heap, any bool) *block {
	hp, c := m.heap, m.core
	c.moving.RLock()
	defer c.moving.RUnlock()
	b := c.arena.steal(hp, o, m.need, any)
	if b == nil {
		return nil
	}
	hp.mu.Lock()
	if hp.shut { // the pool was closed meanwhile
		hp.retire(b)
		hp.mu.Unlock()
		return nil
	}
	if m.class >= 0 {
		hp.newRun(b, m.class)
		return hp.grab(m.size, m.class)
	}
	b.state = stateLive
	hp.shard.Alloc(b.size)
	return b
}

// order makes the stream wait for another one that has idle blocks which fit, though its work on them may
// not be complete.
func (m *climber) order() *block {
	return m.from(func(o *heap) *block {
		if o == m.heap {
			return nil
		}
		o.mu.Lock()
		o.tidy(false) // runs that are not complete either
		o.mu.Unlock()
		if !m.core.arena.has(o, m.need) || m.heap.line.follow(&o.line) != nil {
			return nil
		}
		m.core.waits.Add(1)
		return m.steal(o, true)
	})
}

// first tries one after the other.
func first(tries ...func() *block) *block {
	for _, try := range tries {
		if b := try(); b != nil {
			return b
		}
	}
	return nil
}

// again tries everything that costs nothing but looking.
func (m *climber) again() *block { return first(m.lateFrees, m.own, m.others, m.gather) }

// scrape is again when the device has no more: idle memory is moved or given back for it, and then what fits
// serves, of whatever kind.
func (m *climber) scrape() *block { return first(m.again, m.trim, m.any) }

// press lets the pacer decide whether foreign memory is short enough for a collection.
func (m *climber) press() *block {
	if m.core.press(m.need) {
		return m.again()
	}
	return nil
}

// fresh gets memory from the device.
func (m *climber) fresh(force bool) *block {
	// Another goroutine may be quicker to use what this one got.
	for range 16 {
		if m.err = m.core.grow(m.heap, m.need, force); m.err != nil {
			// Part of it may be there, or come from elsewhere.
			return m.grab()
		}
		if b := m.grab(); b != nil || m.core.closed.Load() {
			return b
		}
	}
	return nil
}

// trim makes room by giving idle memory back, or by moving it.
func (m *climber) trim() *block {
	if m.core.mapper != nil {
		return m.fresh(true)
	}
	if m.core.trimSegments(0, m.need) == 0 {
		return nil
	}
	return m.fresh(false)
}

// pending waits for the streams that pending blocks wait for, the stream's own blocks first, and tries
// again after each.
func (m *climber) pending() *block {
	if m.core.checker != nil {
		if err := m.core.releaseHeld(0, true); err != nil {
			panic(err)
		}
		if b := m.again(); b != nil {
			return b
		}
	}
	heaps := append([]*heap{m.heap}, m.core.allHeaps()...)
	for _, o := range heaps {
		for needs := o.needs(); len(needs) > 0; needs = o.needs() {
			waited := false
			for _, s := range needs {
				waited = s.await() == nil || waited
			}
			if !waited || o.settle() == 0 {
				break
			}
			if b := m.scrape(); b != nil {
				return b
			}
		}
	}
	return nil
}

// awaitIdle waits for the work that other streams have queued on what is idle there, stream by stream,
// until there is a block.
func (m *climber) awaitIdle() *block {
	heaps := m.core.allHeaps()
	for i := range heaps {
		o := heaps[(m.heap.line.index+1+i)%len(heaps)] // not all goroutines the same one first
		if last := o.latest(); last.complete() || last.await() != nil {
			continue
		}
		if b := m.scrape(); b != nil {
			return b
		}
	}
	return nil
}

const (
	drainPerMake  = 64   // dead buffers that a Make frees on the way
	drainPerClimb = 64   // and on the ladder, at a time: the rest may serve others
	drainPerLook  = 4096 // and in calls that are slow anyway

	// collectTries bounds how often a Make collects for others to take what it found.
	collectTries = 16
	// collectPatience is for how many times Options.CollectWait a Make goes on collecting while what was
	// found before is not free yet.
	collectPatience = 4
)

// collect runs the Go collector until there is a block or nothing more to be found.
func (m *climber) collect() (*block, rung) {
	c := m.core
	begin := time.Now()
	for range collectTries {
		if c.closed.Load() {
			return nil, rungFail
		}
		// Idle memory that queued work still uses costs that work's time, and a collection can find no more
		// than what is live.
		before := c.account.Stats()
		if idle := before.Reserved - before.Live - before.Pending; idle >= max(m.need, before.Live) {
			if b := m.awaitIdle(); b != nil {
				return b, rungPending
			}
			before = c.account.Stats()
		}
		ran := c.collect()
		if b := first(m.scrape, m.order); b != nil {
			return b, rungCollect
		}
		if !ran || c.estate.late.Len() != 0 || c.estate.late.Busy() != 0 {
			// All that was found is not free yet. It may never be, if a cleanup of the program's hangs.
			if time.Since(begin) < collectPatience*c.options.CollectWait {
				continue
			}
		}
		// Other goroutines may have been quicker to take what it found, and what they made while the
		// collector was marking counts as alive for that collection: once more.
		if !c.quiet(before) {
			continue
		}
		// What is idle but in use by queued work cannot be moved or given back yet: wait for the work itself.
		// Here, too, others may be quicker.
		if b := m.awaitIdle(); b != nil {
			return b, rungPending
		}
		if c.quiet(before) {
			return nil, rungFail
		}
	}
	if b := m.awaitIdle(); b != nil {
		return b, rungPending
	}
	return nil, rungFail
}

// quiet reports whether nothing has been made, and nothing freed by the collector, since before.
func (c *core) quiet(before books.Stats) bool {
	now := c.account.Stats()
	return now.Late == before.Late && now.Made == before.Made
}
