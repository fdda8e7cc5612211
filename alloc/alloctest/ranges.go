package alloctest

import "slices"

// Who has which bytes, and who has touched them.

// An access is work on memory that has been enqueued.
type access struct {
	thread int
	n      uint64
	by     *deed
}

// A deed is what somebody does to memory: an access on its way, or the words for one that has been enqueued.
type deed struct {
	what   string
	stream uintptr
	thread *thread // nil for the host
	lo, hi uintptr
	stack  []uintptr
}

// An open deed began when its bytes were of an earlier or of the present owner.
type open struct {
	*deed
	epoch uint64
}

// An owner is a buffer.
type owner struct {
	pool    *observer
	made    *deed
	n       uint64 // work enqueued there has higher numbers; other streams must have waited for this one
	adopted bool
}

// A span is a range of bytes that have the same history.
type span struct {
	lo, hi  uintptr
	owner   *owner // nil while no buffer has it
	freed   *deed  // the latest Free, if it has no owner
	epoch   uint64 // how often it has changed hands
	prior   []access
	cur     []access // since it changed hands
	open    []open
	holds   []*deed // addresses given away, of its owner
	brought bool    // it came with an adoption

	// registered memory stays the program's, whoever has a handle on it: it never changes hands.
	registered bool
}

// split returns a span like s for what is left of it from at on.
func (s *span) split(at uintptr) *span {
	rest := *s
	rest.lo = at
	rest.prior = slices.Clone(s.prior)
	rest.cur = slices.Clone(s.cur)
	rest.open = slices.Clone(s.open)
	rest.holds = slices.Clone(s.holds)
	s.hi = at
	return &rest
}

// addAccess notes a in list, where the latest of each stream is enough: the numbers of a stream's work rise.
func addAccess(list []access, a access, host clock) []access {
	for i, old := range list {
		if old.thread == a.thread {
			if a.n > old.n {
				list[i] = a
			}
			return list
		}
	}
	if host.at(a.thread) >= a.n {
		return list // over: nothing that is enqueued from now on can come before it
	}
	return append(list, a)
}

// pass makes what has been done so far that of former owners.
func (s *span) pass(host clock) {
	if s.registered {
		return
	}
	s.prior = slices.DeleteFunc(s.prior, func(a access) bool { return host.at(a.thread) >= a.n })
	for _, a := range s.cur {
		s.prior = addAccess(s.prior, a, host)
	}
	s.cur = nil
	s.epoch++
}

// close takes an open deed away and reports whether it was there.
func (s *span) close(d *deed) (epoch uint64, found bool) {
	for i, o := range s.open {
		if o.deed == d {
			s.open = slices.Delete(s.open, i, i+1)
			return o.epoch, true
		}
	}
	return 0, false
}

// ranges are all spans of a device, in the order of their addresses, in chunks so that putting one in is
// cheap.
type ranges struct{ chunks [][]*span }

const chunkSpans = 256

// find returns the place of the first span that ends above at.
func (r *ranges) find(at uintptr) (c, i int) {
	c, _ = slices.BinarySearchFunc(r.chunks, at, func(chunk []*span, at uintptr) int {
		return above(chunk[len(chunk)-1], at)
	})
	if c < len(r.chunks) {
		i, _ = slices.BinarySearchFunc(r.chunks[c], at, above)
	}
	return c, i
}

// above orders a span that ends at or below an address before it.
func above(s *span, at uintptr) int {
	if s.hi <= at {
		return -1
	}
	return 1
}

// insert puts s, which overlaps no other, where it belongs.
func (r *ranges) insert(s *span) {
	c, i := r.find(s.lo)
	if c == len(r.chunks) {
		if c == 0 {
			r.chunks = append(r.chunks, []*span{s})
			return
		}
		c, i = c-1, len(r.chunks[c-1])
	}
	chunk := slices.Insert(r.chunks[c], i, s)
	r.chunks[c] = chunk
	if len(chunk) > chunkSpans {
		half := len(chunk) / 2
		r.chunks[c] = slices.Clone(chunk[:half])
		r.chunks = slices.Insert(r.chunks, c+1, slices.Clone(chunk[half:]))
	}
}

// in returns the spans that overlap [lo, hi).
func (r *ranges) in(lo, hi uintptr) []*span {
	var all []*span
	c, i := r.find(lo)
	for ; c < len(r.chunks); c, i = c+1, 0 {
		for ; i < len(r.chunks[c]); i++ {
			s := r.chunks[c][i]
			if s.lo >= hi {
				return all
			}
			all = append(all, s)
		}
	}
	return all
}

// cut is in, with the spans at both ends split so that none reaches beyond.
func (r *ranges) cut(lo, hi uintptr) []*span {
	for _, at := range [...]uintptr{lo, hi} {
		if c, i := r.find(at); c < len(r.chunks) && r.chunks[c][i].lo < at {
			r.insert(r.chunks[c][i].split(at))
		}
	}
	return r.in(lo, hi)
}

// remove takes [lo, hi) out and returns the spans that it consisted of.
func (r *ranges) remove(lo, hi uintptr) []*span {
	gone := r.cut(lo, hi)
	if len(gone) == 0 {
		return nil
	}
	c, i := r.find(lo)
	for n := len(gone); n > 0; {
		k := min(n, len(r.chunks[c])-i)
		r.chunks[c] = slices.Delete(r.chunks[c], i, i+k)
		n -= k
		if len(r.chunks[c]) == 0 {
			r.chunks = slices.Delete(r.chunks, c, c+1)
		} else {
			c++
		}
		i = 0
	}
	return gone
}

// each calls f with every span.
func (r *ranges) each(f func(*span)) {
	for _, chunk := range r.chunks {
		for _, s := range chunk {
			f(s)
		}
	}
}

// full reports whether spans, in order, cover [lo, hi).
func full(spans []*span, lo, hi uintptr) bool {
	for _, s := range spans {
		if s.lo > lo {
			return false
		}
		lo = s.hi
	}
	return lo >= hi
}
