package proof

// The walk at what runs later: deferred calls and goroutines.

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// register notes that a call is deferred.
func (w *walker) register(k *call, s *set) {
	s.add(w.id(markKey{kind: deferring, at: k.at}))
	if k.builtin == "panic" && w.touched(s, k.args[0]) {
		s.add(w.id(markKey{kind: left, at: k.at}))
	}
	for o := range operands(k.at) {
		if !w.holds(s, o) {
			continue
		}
		for id := range s.clone().all() { // itself among them, if that may be again
			if m := w.mark(id); m.kind == deferred {
				s.add(w.id(markKey{kind: earlier, at: k.at, n: id}))
			}
		}
		s.add(w.id(markKey{kind: deferred, at: k.at}))
		break
	}
}

// inTurn drops what ran before a deferred call that had the resource: that call, and those of its function
// which got the resource behind it, as the last one that is deferred runs first. In a loop, what is left of
// them are calls of other rounds, which have something else.
func (w *walker) inTurn(s *set, d *ssa.Defer) {
	for id := range s.clone().all() {
		m := w.mark(id)
		if m.kind == deferred && m.at.Parent() == d.Parent() && !w.has(s, markKey{kind: earlier, at: d, n: id}) {
			s.remove(id)
		}
	}
}

// chain runs one deferred call, or does not.
func (w *walker) chain(pt *point, p phase, s *set) {
	ch := pt.chain
	if pt.pos == len(ch.calls) {
		if ch.to >= 0 {
			w.push(ch.to, p, s)
			return
		}
		if ch.fn.Recover != nil && w.g.recovers(ch) {
			w.push(w.g.first(ch.fn.Recover), p, s)
		}
		for _, b := range w.g.back[ch.fn] {
			if t := w.goesBack(ch.fn, b, s); t != nil {
				if w.unwinds(b.fn, p, t); b.anyway {
					w.push(b.to, p, t)
				}
			}
		}
		w.ended(ch.fn, s, true)
		return
	}
	d := ch.calls[pt.pos]
	to := ch.points[pt.pos+1]
	w.push(to, p, s)
	if w.g.f.c.off[Deferred] || !w.has(s, markKey{kind: deferring, at: d}) || w.g.putBack[d.Pos()] {
		return
	}
	k := w.g.calls[d]
	was := w.has(s, markKey{kind: deferred, at: d})
	for _, b := range k.bodies {
		w.enters(b, ch.points[pt.pos], p, s, func(int) bool { return was })
	}
	if k.builtin != "" {
		t := ptr(*s)
		if was {
			w.use(p, Dead, "it is used by "+k.builtin, d)
			t.add(w.id(markKey{kind: left, at: d}))
		}
		w.reads(k.entry, p, t, d)
		t = w.happens(k.entry, nil, p, t, d)
		w.given(d, p, t)
		w.push(to, p, t)
		return
	}
	if k.sum == nil {
		return
	}
	touched := func(a ssa.Value) bool { return was && w.mayHold(a) || w.leadsTo(s, a) }
	own := was && p&phaseMask < ours && !slices.ContainsFunc(k.args, func(a ssa.Value) bool { return w.leadsTo(s, a) })
	w.external(k, p, ptr(*s), touched, func(p phase, s *set) {
		if own && p&phaseMask >= ours {
			w.inTurn(s, d)
		}
		w.push(to, p, s)
		if ch.again {
			w.push(ch.points[0], p, s)
		}
		w.callbacks(k, ch.points[pt.pos], p, s, touched)
	})
}

// calledAt is the mark of a literal that runs and was called at a point: it goes back there, and not to where
// it runs at other times.
func (w *walker) calledAt(fn *ssa.Function, point int) int {
	return w.id(markKey{kind: called, k: key{v: fn}, n: point})
}

// goesBack returns what holds where a literal that ends goes back to b; nil: it was called elsewhere.
func (w *walker) goesBack(fn *ssa.Function, b back, s *set) *set {
	rest, here, there := ptr(*s), false, false
	for id := range s.all() {
		if m := w.mark(id); m.kind == called && m.k.v == ssa.Value(fn) {
			here, there = here || m.n == b.from || m.n < 0, true
			rest.remove(id)
		}
	}
	if there && !here {
		return nil
	}
	return rest
}

// mayHold reports whether a register can hold the resource at any time.
func (w *walker) mayHold(v ssa.Value) bool {
	return w.zero || w.f.viewed(w.f.of(v)).meets(w.class)
}

// leadsTo reports whether memory that v leads to has the resource; v itself was fixed before. Nothing is read
// as zero through a resource.
func (w *walker) leadsTo(s *set, v ssa.Value) bool {
	r := w.g.inReach(v, w.zero)
	if !r.meets(*s) || w.mayReach(s, v) {
		return r.meets(*s)
	}
	for id := range r.all() {
		if s.has(id) && w.ofRun(s, v, id/2) {
			return true
		}
	}
	return false
}

// spawn starts a goroutine.
func (w *walker) spawn(n int, k *call, p phase, s *set) {
	i := k.at
	has := false
	for o := range operands(i) {
		has = has || w.touched(s, o)
	}
	if len(k.bodies) == 0 {
		if has {
			w.use(p, Dead, "it is handed to a goroutine", i)
			s.add(w.id(markKey{kind: left, at: i}))
		}
		w.next(n, p, s)
		return
	}
	if k.v != nil {
		w.set(s, k.v, 0, false)
	}
	if !slices.ContainsFunc(k.bodies, w.matters) {
		w.next(n, p, s)
		return
	}
	if has {
		w.use(p, Dead, "it is handed to a goroutine", i)
		s.add(w.id(markKey{kind: held, at: i}))
	}
	s.add(w.id(markKey{kind: running, at: i}))
	for _, b := range k.bodies {
		w.enters(b, n, p, s, func(j int) bool {
			return groupMethod(k.fn) == "" && j < len(k.args) && w.holds(s, k.args[j])
		})
	}
	w.push(n+1, p, s)
}

// join notes that groups were waited for.
func (w *walker) join(k *call, s *set) {
	waited := w.g.waited(k)
	for _, sp := range w.g.spawns {
		joined := sp.group.at != nil && slices.Contains(waited, sp.group) && !w.has(s, markKey{kind: lost, at: sp.at})
		if !joined || w.toCome(s, sp) {
			continue
		}
		for _, kind := range []markKind{running, held} {
			w.g.marks.remove(s, markKey{kind: kind, at: sp.at})
		}
	}
}

// toCome reports whether a goroutine that is not waited for with sp may run, and start it yet.
func (w *walker) toCome(s *set, sp *spawn) bool {
	return slices.ContainsFunc(w.g.spawns, func(by *spawn) bool {
		return by.group != sp.group && by.runs[sp.at.Parent()] && w.has(s, markKey{kind: running, at: by.at})
	})
}
