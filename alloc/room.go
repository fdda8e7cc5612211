package alloc

// Rooms: where in its addresses a heap grows.
//
// Only whole granules can move or go back to the device, so what is idle of a granule that also has
// something live stays where it is until a request fits it. Such fragments lie at the ends of large
// blocks, one for each on average, and with granules of tens of MiB they are most of what a pool
// reserves beyond what is live. Growth uses them up: where a fragment lies beside a void, a
// request may begin or end in it, and takes a granule less if it is large enough. A void between two
// fragments may serve with both, unless a whole granule were left over, which is better moved. The
// fewest granules win, then the room in which least is left over. A request that no fragment saves
// a granule gets a void as if there were none: the fragments are for others.

// A room is a void that memory is to be put behind, with the idle blocks beside it that count
// towards what is asked for. All of them are busy.
type room struct {
	void        *block
	left, right *block // nil: nothing counts on that side
	need        int64  // bytes from the void's start on that serve with them, whole granules
}

// takeRoom takes a room out of hp's lists in which a block of size bytes fits when memory is
// behind it.
func (hp *heap) takeRoom(size int64) (room, error) {
	c := hp.core
	want := roundLarge(c.roundGranule(size))
	for {
		hp.mu.Lock()
		hp.cool()
		r := hp.snuggest(size)
		if v := r.void; v != nil {
			hp.voids.take(v)
			if r.right != nil && v.size > r.need {
				r.void = hp.split(v, v.size-r.need)
				hp.voids.put(v)
			}
		} else if v = hp.findVoid(want); v != nil {
			hp.voids.take(v)
			r = room{void: v, need: c.roundGranule(size)}
		}
		if r.void != nil {
			r.void.state = stateBusy
			for _, idle := range []*block{r.left, r.right} {
				if idle != nil {
					hp.idle.take(idle)
					idle.state = stateBusy
				}
			}
			hp.mu.Unlock()
			return r, nil
		}
		hp.mu.Unlock()
		if err := hp.newRange(want); err != nil {
			return room{}, err
		}
	}
}

// voidsSeen bounds how many voids a search for a room looks at. What it costs is little beside
// the calls of the device that follow.
const voidsSeen = 256

// snuggest returns the room in which size bytes take the fewest granules, and fewer than in a void
// alone, or the zero room if there is none.
func (hp *heap) snuggest(size int64) (best room) {
	c := hp.core
	need := c.roundGranule(size)
	over := need - size // what the best one leaves
	try := func(r room, have int64) {
		left := have + r.need - size
		if r.need <= r.void.size && left >= 0 && left < c.granule && (r.need < need || r.need == need && left < over) {
			best, need, over = r, r.need, left
		}
	}
	v := hp.voids.largest()
	for i := 0; v != nil && i < voidsSeen; i++ {
		l, r := hp.fragment(v.left, size), hp.fragment(v.right, size)
		if l != nil {
			try(room{void: v, left: l, need: c.roundGranule(size - l.size)}, l.size)
		}
		if r != nil {
			try(room{void: v, right: r, need: c.roundGranule(size - r.size)}, r.size)
		}
		if l != nil && r != nil {
			try(room{void: v, left: l, right: r, need: v.size}, l.size+r.size)
		}
		v = hp.voids.before(v)
	}
	return best
}

// fragment returns n, the neighbour of a void, if it is idle and does not serve size bytes alone;
// else nil.
func (hp *heap) fragment(n *block, size int64) *block {
	if hp.joins(n, stateIdle) && n.size < size {
		return n
	}
	return nil
}

// Blocks of roomy granules and more get room behind them, as long as there are addresses for
// it: where the largest void is spread times the size they start in its middle. Once
// such a block is idle it can grow to serve a larger request, and only the difference has to be
// moved or mapped.
const (
	roomy  = 4
	spread = 4
)

// findVoid returns a void of size bytes or more, or nil. It stays in the lists, unless it
// is half of one that was.
func (hp *heap) findVoid(size int64) *block {
	g := hp.core.granule
	v := hp.voids.largest()
	if v == nil || size < roomy*g || v.size < spread*size {
		return hp.voids.find(size)
	}
	if v.left == nil {
		return v // nobody is before it who could grow
	}
	hp.voids.take(v)
	half := hp.split(v, v.size/2&^(g-1))
	hp.voids.put(v)
	hp.voids.put(half)
	return half
}
