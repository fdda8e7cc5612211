package alloc

import "errors"

// Growth says how much idle memory a pool may keep from the device to save device calls.
type Growth int

// What a pool does when no idle block serves although much is idle, in pieces that do not fit.
//
// Moving idle memory behind other addresses costs about as much as getting fresh memory (on one H200 70 to
// 120 µs an extent), but a pool that moves never comes to rest: the next request finds other pieces. So
// only Tight moves whenever there is something to move.
const (
	// Balanced gets fresh memory until half as much lies idle as was ever live, or two segments' worth
	// (Options.Segment), and moves from then on.
	Balanced Growth = iota
	// Tight moves when more than 1/32 of what is live lies idle. It costs device calls all the time.
	Tight
	// Fast moves only when the device has no fresh memory, or the limit none.
	Fast
)

const (
	balancedIdle = 2  // Balanced: this part of the live peak may lie idle
	tightIdle    = 32 // Tight: this part of what is live
	spareShare   = 32 // this part of what is reserved is got beyond what is needed
)

// idleIsMuch reports whether so much lies idle that n bytes more should come from there first.
func (c *core) idleIsMuch(n int64) bool {
	reserved := c.claimed.Load() + n
	st := c.account.Stats()
	used := st.Live + st.Pending + n
	switch c.options.Growth {
	case Tight:
		return reserved-used > used/tightIdle
	case Balanced:
		peak := max(used, st.Peak)
		return reserved-peak > max(peak/balancedIdle, 2*c.options.Segment)
	}
	return false
}

// claim takes n bytes of the limit. The device is called after, never before.
func (c *core) claim(n int64) bool {
	for {
		old := c.claimed.Load()
		if limit := c.options.Limit; limit > 0 && n > limit-old {
			return false
		}
		if c.claimed.CompareAndSwap(old, old+n) {
			return true
		}
	}
}

// unclaim gives n bytes of the limit back: the device did not give them, or has them again.
func (c *core) unclaim(n int64) { c.claimed.Add(-n) }

// grow gets memory for hp so that a block of size bytes fits. With force, idle memory is moved before fresh
// is asked for, however little there is. It calls the device; no lock is held.
func (c *core) grow(hp *heap, size int64, force bool) error {
	if c.mapper != nil {
		return c.growMapped(hp, size, force)
	}
	if c.idleIsMuch(size) {
		// Segments of other sizes that nobody uses: their memory comes back in one piece.
		c.trimSegments(0, size)
	}
	return c.growSegment(hp, size)
}

// A device that does not map gives segments, each memory of its own, and nothing can cross their bounds.
// Large buffers get segments for themselves there, which are used again whole and go back to the device when
// much is idle; so it is the device, which has page tables, that puts the pieces together.

// growSegment gets a segment of at least size bytes, larger if the device will give it.
func (c *core) growSegment(hp *heap, size int64) error {
	if k := c.kindOf(size); k == wholeKind {
		return c.newSegment(hp, size, k)
	}
	// Segments grow with the pool: few large ones leave fewer bounds.
	want := max(c.options.Segment, roundLarge(c.claimed.Load()/spareShare))
	for {
		err := c.newSegment(hp, want, largeKind)
		if err == nil || want == size || !errors.Is(err, ErrOutOfMemory) {
			return err
		}
		want = max(size, roundLarge(want/2))
	}
}

func (c *core) newSegment(hp *heap, size int64, k kind) error {
	c.moving.RLock()
	defer c.moving.RUnlock()
	if !c.claim(size) {
		return errLimit
	}
	c.calls.Add(1)
	p, err := c.dev.Alloc(size)
	if err != nil {
		c.unclaim(size)
		return err
	}
	c.account.AddReserved(size)
	seg := &segment{base: p, size: size, home: hp, kind: k, granules: &granules{base: p, size: size}}
	c.estate.add(seg.granules)
	a := &c.arena
	a.mu.Lock()
	defer a.mu.Unlock()
	a.put(a.open(seg, stamp{line: &hp.line}))
	return nil
}
