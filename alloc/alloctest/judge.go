package alloctest

// The rules. Everything here runs under Order.mu.

const (
	notOrdered = "memory changes hands while work of its former owner is not ordered before"
	enqueuing  = "memory changes hands while work of its former owner is being enqueued"
	stillOwned = "memory that is a buffer's changes hands"
	stillUsed  = "memory is taken from the device while work on it may not have run"
	notThere   = "memory that is not there becomes a buffer's"
	notWaited  = "a buffer is used on a stream that has not waited for the one it was made on, while work " +
		"of its memory's former owner is not ordered before"
)

// over reports whether all of list is known to clock, and a piece of work that is not.
func over(list []access, known clock) *deed {
	for _, a := range list {
		if known.at(a.thread) < a.n {
			return a.by
		}
	}
	return nil
}

// follow judges d, work with s on a stream: it must come behind all former owners. A span that has been found
// wrong is not found wrong again.
func (o *Order) follow(s *span, d *deed) {
	if then := over(s.prior, d.thread.clock); then != nil {
		f := finding(notOrdered, s, d, then)
		if w := s.owner; w != nil && w.made.thread != nil && d.thread.clock.at(w.made.thread.index) < w.n {
			f.What, f.Program = notWaited, true
		}
		o.find(f)
		s.prior = nil
	}
	for _, x := range s.open {
		if x.epoch != s.epoch {
			o.find(finding(enqueuing, s, d, x.deed))
			s.close(x.deed)
			return
		}
	}
}

// give judges that s, whose bytes are d's, is given to a new owner, whose work comes behind what known says.
func (o *Order) give(s *span, d *deed, known clock) {
	if s.owner != nil {
		o.find(finding(stillOwned, s, d, s.owner.made))
		o.disown(s, d)
	}
	for len(s.open) > 0 {
		o.find(finding(enqueuing, s, d, s.open[0].deed))
		s.open = s.open[1:]
	}
	for _, list := range [...]*[]access{&s.prior, &s.cur} {
		if then := over(*list, known); then != nil {
			o.find(finding(notOrdered, s, d, then))
			*list = nil
		}
	}
}

// take judges that the host takes s from the device, and reports whether that is in order.
func (o *Order) take(s *span, d *deed) bool {
	what, then := stillUsed, (*deed)(nil)
	switch {
	case s.owner != nil && !s.owner.adopted:
		what, then = stillOwned, s.owner.made
	case len(s.open) > 0:
		then = s.open[0].deed
	case len(s.holds) > 0:
		then = s.holds[0]
	default:
		if then = o.running(s.prior); then == nil {
			then = o.running(s.cur)
		}
	}
	if then != nil {
		o.find(finding(what, s, d, then))
	}
	return then == nil
}

// running returns work of list that the host does not know to be over, or nil. Work of a stream that the
// device cannot wait for any more never runs.
func (o *Order) running(list []access) *deed {
	for _, a := range list {
		if o.streams.host.at(a.thread) < a.n && a.by.thread.failed < lostAfter {
			return a.by
		}
	}
	return nil
}

// disown ends the ownership of s by d.
func (o *Order) disown(s *span, d *deed) {
	o.release(s)
	s.owner, s.freed = nil, d
	s.pass(o.streams.host)
}

// release ends what has been done with the addresses of s that were given away: each becomes the latest work
// of its stream.
func (o *Order) release(s *span) {
	for _, h := range s.holds {
		n := h.thread.count
		if !h.thread.gone {
			n = h.thread.next()
		}
		s.cur = addAccess(s.cur, access{h.thread.index, n, h}, o.streams.host)
	}
	s.holds = nil
}

// begin notes that d, work on a stream, is being enqueued.
func (o *Order) begin(d *deed) {
	for _, s := range o.mem.cut(d.lo, d.hi) {
		o.follow(s, d)
		s.open = append(s.open, open{d, s.epoch})
	}
}

// end notes that it has been, as the latest work of the stream, or with n == 0 that there is nothing left of
// it.
func (o *Order) end(d *deed, n uint64) {
	for _, s := range o.mem.in(d.lo, d.hi) {
		epoch, found := s.close(d)
		switch {
		case !found || n == 0:
		case epoch == s.epoch:
			s.cur = addAccess(s.cur, access{d.thread.index, n, d}, o.streams.host)
		default: // it was its former owner's
			s.prior = addAccess(s.prior, access{d.thread.index, n, d}, o.streams.host)
		}
	}
}

// own gives [lo, hi) to a new owner. What it consisted of becomes one span. Who has registered memory has a
// handle on it and no more.
func (o *Order) own(d *deed, w *owner, known clock) {
	spans := o.mem.cut(d.lo, d.hi)
	if len(spans) > 0 && spans[0].registered {
		for _, s := range spans {
			s.owner = w
		}
		return
	}
	if !full(spans, d.lo, d.hi) && !w.adopted {
		o.find(finding(notThere, &span{lo: d.lo, hi: d.hi}, d, nil))
	}
	whole := &span{lo: d.lo, hi: d.hi, owner: w, brought: w.adopted && len(spans) == 0}
	for _, s := range spans {
		o.give(s, d, known)
		s.pass(o.streams.host)
		for _, a := range s.prior {
			whole.prior = addAccess(whole.prior, a, o.streams.host)
		}
	}
	o.mem.remove(d.lo, d.hi)
	o.mem.insert(whole)
}

// leave takes [lo, hi) out of the device and returns what it was, for bring.
func (o *Order) leave(d *deed) []*span {
	for _, s := range o.mem.cut(d.lo, d.hi) {
		if !o.take(s, d) {
			break // one finding says enough
		}
	}
	return o.mem.remove(d.lo, d.hi)
}

// bring puts spans back that leave took out.
func (o *Order) bring(spans []*span) {
	for _, s := range spans {
		o.mem.insert(s)
	}
}

// come notes fresh memory.
func (o *Order) come(fresh *span) {
	o.mem.remove(fresh.lo, fresh.hi)
	o.mem.insert(fresh)
}
