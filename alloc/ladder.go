package alloc

import (
	"errors"
	"fmt"
	"time"

	"github.com/lastuse/lastuse/tracker"
)

// The ladder is what a Make climbs when no idle block of its heap serves. Each rung
// may cost more than the one before.
type rung int

const (
	rungOwn     rung = iota // other idle blocks of the same stream, after tidying up
	rungLate                // buffers that the collector found dead
	rungOther               // idle blocks of other streams whose work is known to be complete
	rungFresh               // memory from the device
	rungTrim                // idle segments back to the device, or idle granules moved, then fresh memory
	rungPending             // waiting for the streams that pending blocks were used on
	rungWait                // making the stream wait for another one whose idle blocks fit
	rungCollect             // a collection of the Go heap
	rungFail                // nothing helped
	numRungs
)

const (
	drainPerMake  = 64   // dead buffers that a Make frees on the way
	drainPerClimb = 64   // and on the ladder, at a time: the rest may serve others
	drainPerLook  = 4096 // and in calls that are slow anyway
	settlePerLook = 4096 // pending blocks that one look at a heap settles
)

// climb finds memory for a Make that hp could not serve: a block of size bytes, or of
// class c if that is not negative. It returns the block live and counted, with its heap
// locked.
func (s *Stream) climb(hp *heap, size int64, c int) (*block, error) {
	if !s.core.estate.enter() {
		return nil, fmt.Errorf("alloc: make: pool %w", ErrClosed)
	}
	defer s.core.leave() // with b's heap locked, which does no harm while b is live
	m := &climber{stream: s, core: s.core, heap: hp, size: size, class: c, need: size}
	if c >= 0 {
		m.need = runSize(c)
	}
	b, r := m.climb()
	if b != nil {
		s.core.rungs[r].Add(1)
		return b, nil
	}
	if s.core.closed.Load() {
		if m.err == nil || errors.Is(m.err, ErrOutOfMemory) {
			m.err = fmt.Errorf("pool %w", ErrClosed) // during the climb: what there was has gone to the device
		}
		s.core.leftover() // what the climb got and could not use any more
	}
	s.core.rungs[rungFail].Add(1)
	if m.err != nil && !errors.Is(m.err, ErrOutOfMemory) {
		return nil, fmt.Errorf("alloc: make %s: %w", sizeText(size), m.err)
	}
	st := s.pool.Stats()
	s.core.books.RanOut() // saves the history, if there is one; its trouble is not the caller's
	e := &MemoryError{Requested: size, Limit: s.core.options.Limit, Stats: st, Err: m.err}
	e.Sites, e.Unknown = s.core.liveSites(8)
	return nil, e
}

// A climber is one climb.
type climber struct {
	stream *Stream
	core   *core
	heap   *heap
	size   int64
	class  int
	need   int64 // bytes in one piece that serve the request
	slots  bool  // single slots of other streams' runs will do
	err    error // of the latest attempt to get fresh memory
}

// climb tries the rungs in order. After a rung that may have freed something, the
// lower ones are tried again.
func (m *climber) climb() (*block, rung) {
	c := m.core
	if b := m.settleIn(); b != nil {
		return b, rungFresh
	}
	if b := m.own(); b != nil {
		return b, rungOwn
	}
	if b := m.lateFrees(); b != nil {
		return b, rungLate
	}
	if b := m.others(false); b != nil {
		return b, rungOther
	}
	if m.hopeless() {
		return nil, rungFail
	}
	if c.press(m.need) {
		if b := m.again(); b != nil {
			return b, rungCollect
		}
	}
	if b := m.fresh(false); b != nil {
		return b, rungFresh
	}
	if m.slots = m.class >= 0; m.slots {
		if b := m.others(false); b != nil {
			return b, rungOther
		}
	}
	if m.hopeless() {
		return nil, rungFail
	}
	if b := m.trim(); b != nil {
		return b, rungTrim
	}
	if b := m.pending(); b != nil {
		return b, rungPending
	}
	if b := m.others(true); b != nil {
		return b, rungWait
	}
	begin := time.Now()
	for range collectTries {
		if c.closed.Load() {
			return nil, rungFail
		}
		// Idle memory that queued work still uses costs that work's time, and a collection can find
		// no more than what is live.
		before := c.account.Stats()
		if idle := before.Reserved - before.Live - before.Pending; idle >= max(m.need, before.Live) {
			if b := m.awaitIdle(); b != nil {
				return b, rungPending
			}
			before = c.account.Stats()
		}
		ran := c.collect()
		if b := m.again(); b != nil {
			return b, rungCollect
		}
		if b := m.trim(); b != nil {
			return b, rungCollect
		}
		if b := m.others(true); b != nil {
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
		// What is idle but in use by queued work cannot be moved or given back yet: wait for
		// the work itself. Here, too, others may be quicker.
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
func (c *core) quiet(before tracker.AccountStats) bool {
	now := c.account.Stats()
	return now.Late == before.Late && now.Made == before.Made
}

// awaitIdle waits for the work that other streams have queued on what is idle there, stream by
// stream, until there is a block.
func (m *climber) awaitIdle() *block {
	lanes := *m.core.lanes.Load()
	for i := range lanes {
		l := lanes[(m.stream.lane.index+1+i)%len(lanes)] // not all goroutines the same one first
		if !m.core.awaitLane(l) {
			continue
		}
		if b := m.again(); b != nil {
			return b
		}
		if b := m.trim(); b != nil {
			return b
		}
	}
	return nil
}

// hopeless reports whether the pool is closed, or the device failed in a way that memory given back cannot mend.
func (m *climber) hopeless() bool {
	return m.core.closed.Load() || m.err != nil && !errors.Is(m.err, ErrOutOfMemory)
}

// grab takes a block from o if it has one.
func (m *climber) grab(o *heap) *block {
	o.mu.Lock()
	if b := o.grab(m.size, m.class); b != nil {
		return b
	}
	o.mu.Unlock()
	return nil
}

// settleIn gives a heap of a stream on which goroutines meet a little memory of its own, before
// it takes from its siblings: or else they would go on meeting there.
func (m *climber) settleIn() *block {
	hp := m.heap
	if !m.stream.lane.wide.Load() || m.need > settleMax || m.core.closed.Load() {
		return nil
	}
	hp.mu.Lock()
	hp.cool()
	fit := hp.idle.find(roundLarge(m.need)) != nil
	own := int64(0)
	if !fit {
		own = hp.grown
		hp.grown += m.need
	}
	hp.mu.Unlock()
	if fit || own >= settleMax {
		return nil
	}
	return m.fresh(false)
}

// settleMax is how many bytes a heap gets for itself on a stream with several.
const settleMax = 4 << 20

// own looks through all heaps of the stream, after tidying them up.
func (m *climber) own() *block {
	for _, o := range *m.stream.lane.all.Load() {
		m.core.settle(o, settlePerLook)
		if b := m.grab(o); b != nil {
			return b
		}
	}
	for _, o := range *m.stream.lane.all.Load() {
		o.mu.Lock()
		found := o.dissolve(false)
		o.mu.Unlock()
		if found {
			if b := m.grab(o); b != nil {
				return b
			}
		}
	}
	for _, o := range *m.stream.lane.all.Load() {
		if m.core.inquire(o) {
			if b := m.grab(o); b != nil {
				return b
			}
		}
	}
	return nil
}

// lateFrees frees what the collector has found dead, as much as it takes, and waits for others who are
// at the same.
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

// again tries everything that costs nothing but looking.
func (m *climber) again() *block {
	if b := m.lateFrees(); b != nil {
		return b
	}
	if b := m.own(); b != nil {
		return b
	}
	return m.others(false)
}

// fresh gets memory from the device.
func (m *climber) fresh(force bool) *block {
	// Another goroutine may be quicker to use what this one got.
	for range 16 {
		if m.err = m.heap.grow(m.need, force); m.err != nil {
			// Part of it may be there, or come from elsewhere.
			return m.grab(m.heap)
		}
		if b := m.grab(m.heap); b != nil {
			return b
		}
		if m.core.closed.Load() {
			return nil // nobody uses it any more
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

// pending waits for the streams that pending blocks wait for, the stream's own blocks
// first, and tries again after each.
func (m *climber) pending() *block {
	if m.core.checker != nil {
		if err := m.core.release(0, true); err != nil {
			panic(err)
		}
		if b := m.again(); b != nil {
			return b
		}
	}
	heaps := append([]*heap(nil), *m.stream.lane.all.Load()...)
	own := len(heaps)
	m.core.eachHeap(func(o *heap) {
		if o.lane != m.stream.lane {
			heaps = append(heaps, o)
		}
	})
	for i, o := range heaps {
		for {
			o.mu.Lock()
			needs := o.needs(nil)
			o.mu.Unlock()
			if len(needs) == 0 {
				break
			}
			waited := false
			for _, n := range needs {
				waited = n.lane.await(n.stamp) == nil || waited
			}
			if !waited || m.core.settle(o, settlePerLook) == 0 {
				break
			}
			var b *block
			if i < own {
				b = m.own()
			} else {
				b = m.others(false)
			}
			if b == nil {
				b = m.trim()
			}
			if b != nil {
				return b
			}
		}
	}
	return nil
}
