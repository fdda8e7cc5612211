package heap

import "math/bits"

type siteKey struct {
	stack uint64
	class Class
}

// A Tally counts allocations. Live and Objects are what was made and not freed.
type Tally struct {
	Live         int64  `json:"live"`         // bytes
	Objects      int64  `json:"objects"`      // allocations
	Peak         int64  `json:"peak"`         // bytes
	AllocBytes   uint64 `json:"allocBytes"`   // ever
	AllocObjects uint64 `json:"allocObjects"` // ever
	FreedBytes   uint64 `json:"freedBytes"`   // ever
	FreedObjects uint64 `json:"freedObjects"` // ever
}

func (t *Tally) grow(bytes, objects int64) {
	t.Live += bytes
	t.Objects += objects
	t.Peak = max(t.Peak, t.Live)
}

// Freed counts what ended in one way.
type Freed struct {
	Bytes   uint64 `json:"bytes"`
	Objects uint64 `json:"objects"`
}

// A site is what one call stack allocated in one class.
type site struct {
	key siteKey
	Tally
	AtExitBytes   int64
	AtExitObjects int64
	first, last   *allocation // live, the oldest first
	aged          [2]aged     // what is old: for suspects, and for queries
	began         int64       // its first allocation
	told          bool        // the process says so itself, and there are no allocations
	estimate      bool        // from samples
	latest        int64       // told: its latest allocation, 0 if unknown
	past          past        // told
	hows          [numHows]Freed
	lives         [64]uint32 // freed, by the length of their life: bits of nanoseconds
	sizes         [65]uint32 // live, by sizeClass
	history       ring
	low           troughs
}

// site returns the site of a stack and class, or nil if there are too many.
func (p *process) site(stack uint64, class Class) *site {
	k := siteKey{stack, class}
	s := p.sites[k]
	if s == nil {
		if len(p.sites) >= p.h.opts.Sites {
			return nil
		}
		s = &site{key: k, began: p.h.now}
		p.sites[k] = s
		p.names = nil
	}
	return s
}

func (s *site) allocated(a *allocation) {
	s.AllocBytes += uint64(a.size)
	s.AllocObjects++
}

// sizeClass returns the least n for which 1<<n bytes hold size.
func sizeClass(size int64) int { return bits.Len64(uint64(max(size, 1) - 1)) }

// link adds a to the live allocations, after those that are not younger.
func (s *site) link(a *allocation) {
	s.grow(a.size, 1)
	s.sizes[sizeClass(a.size)]++
	at := s.last
	for at != nil && at.at > a.at {
		at = at.prev
	}
	a.prev = at
	if at == nil {
		a.next, s.first = s.first, a
	} else {
		a.next, at.next = at.next, a
	}
	if a.next == nil {
		s.last = a
	} else {
		a.next.prev = a
	}
	for i := range s.aged {
		s.aged[i].linked(a)
	}
}

func (s *site) freed(a *allocation, how How, now int64) {
	s.grow(-a.size, -1)
	s.low.fell(s.Live)
	s.sizes[sizeClass(a.size)]--
	s.FreedBytes += uint64(a.size)
	s.FreedObjects++
	s.hows[how].Bytes += uint64(a.size)
	s.hows[how].Objects++
	if how == Explicit || how == Late {
		s.lives[bits.Len64(uint64(max(now-a.at, 0)))]++
	}
	for i := range s.aged {
		s.aged[i].leaves(a)
	}
	if a.prev == nil {
		s.first = a.next
	} else {
		a.prev.next = a.next
	}
	if a.next == nil {
		s.last = a.prev
	} else {
		a.next.prev = a.prev
	}
	a.prev, a.next = nil, nil
}

// unfreed undoes freed, except for the length of the life that it noted, which is a
// statistic; count links the allocation again.
func (s *site) unfreed(a *allocation, how How) {
	s.FreedBytes -= uint64(a.size)
	s.FreedObjects--
	s.hows[how].Bytes -= uint64(a.size)
	s.hows[how].Objects--
}

// medianLife returns the length of life, in nanoseconds, that half of the freed
// allocations did not reach: an upper bound, exact to a factor of two. It is 0 if
// none was freed.
func (s *site) medianLife() int64 {
	var sum, half uint64
	for _, n := range s.lives {
		half += uint64(n)
	}
	if half == 0 {
		return 0
	}
	half = (half + 1) / 2
	for i, n := range s.lives {
		if sum += uint64(n); sum >= half {
			return int64(min(uint64(1)<<i, 1<<62))
		}
	}
	return 0
}

// A held is what of a site's live memory is at least so old as was asked: no less than the one and no more
// than the other. Of single allocations it is known and they are equal; a process that tells only sums leaves
// them apart.
type held struct{ least, most Freed }

// An aged knows what is live and was made before a time, which moves on with the clock: what is live is not
// walked over again each time that it is asked for.
type aged struct {
	t    int64
	next *allocation // the oldest that is not so old
	Freed
}

func (g *aged) add(a *allocation) {
	g.Bytes += uint64(a.size)
	g.Objects++
}

// to moves on to t.
func (g *aged) to(t int64, s *site) Freed {
	if t < g.t || g.t == 0 { // it goes back
		*g = aged{next: s.first}
	}
	for ; g.next != nil && g.next.at < t; g.next = g.next.next {
		g.add(g.next)
	}
	g.t = t
	return g.Freed
}

// linked notes a, which is in its place in the list.
func (g *aged) linked(a *allocation) {
	switch {
	case a.at < g.t:
		g.add(a)
	case g.next == a.next: // it is the first behind those that are old
		g.next = a
	}
}

// leaves notes that a is about to leave the list.
func (g *aged) leaves(a *allocation) {
	switch {
	case a.at < g.t:
		g.Bytes -= uint64(a.size)
		g.Objects--
	case g.next == a:
		g.next = a.next
	}
}

// Who asks for what is old.
const (
	forSuspects = iota
	forQuery
)

// older returns what is live and was made before t.
func (s *site) older(t int64, who int) (h held) {
	if s.told {
		return s.toldOlder(t)
	}
	h.least = s.aged[who].to(t, s)
	h.most = h.least
	return h
}

func (s *site) toldOlder(t int64) (h held) {
	live := Freed{uint64(max(s.Live, 0)), uint64(max(s.Objects, 0))}
	switch was, ok := s.past.before(t); {
	case s.latest > 0 && s.latest < t: // all that it has is at least as old as the latest
		h.least, h.most = live, live
	case ok:
		h.least.Bytes, h.most.Bytes = Held(live.Bytes, s.AllocBytes-was.made.Bytes, was.live.Bytes)
		h.least.Objects, h.most.Objects = Held(live.Objects, s.AllocObjects-was.made.Objects, was.live.Objects)
	default:
		h.most = live
	}
	return h
}

// Held bounds what of the live bytes was there at an earlier time, at which then were live and since which
// made were allocated. It holds for objects as well.
func Held(live, made, then uint64) (least, most uint64) {
	return live - min(made, live), min(live, then)
}

// A ring keeps the latest samples.
type ring struct {
	at []int64
}

func (r *ring) push(v int64) {
	if len(r.at) == HistoryLength {
		r.at = append(r.at[:0], r.at[1:]...)
	}
	r.at = append(r.at, v)
}

// sample takes a sample of the process and its sites.
func (p *process) sample() {
	live := p.live
	if p.byTable() {
		live = p.classes[Buffer].Live
		p.low.least = live
	}
	p.history.push(live)
	p.low.sample(live)
	var asked uint64
	for c := range NumClasses {
		if c.Own() || c == Buffer {
			asked += p.classes[c].AllocBytes
		}
	}
	p.rates.push(int64(asked))
	for _, s := range p.sites {
		if s.AllocObjects > 0 {
			s.history.push(s.Live)
			s.low.sample(s.Live)
		}
	}
}
