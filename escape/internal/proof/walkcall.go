package proof

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// call lets a call happen, in place, deferred or in a goroutine.
func (w *walker) call(n int, k *call, p phase, s *set) {
	_, late := k.at.(*ssa.Defer)
	switch {
	case late:
		w.register(k, s)
		w.next(n, p, s)
		return
	case k.spawns:
		w.spawn(n, k, p, s)
		return
	case w.g.putBack[k.at.Pos()]:
		w.next(n, p, s)
		return
	case k.builtin != "":
		w.reads(k.entry, p, s, k.at)
		w.next(n, p, w.happens(k.entry, k.v, p, s, k.at))
		return
	}
	w.join(k, s)
	if k.v != nil {
		w.renewed(s, k.v)
	}
	if w.bodies(n, k, p, s) {
		return
	}
	// Each callback returns to the call, so what the callee does to its operands, and the other callbacks,
	// come before it and behind it.
	touched := func(a ssa.Value) bool { return w.touched(s, a) }
	w.external(k, p, s, touched, func(p phase, s *set) {
		w.callbacks(k, n, p, s, touched)
		cont := func(p phase, s *set) { w.push(n+1, p, s) }
		if k.v != nil {
			w.results(k, p, s, cont)
		} else {
			cont(p, s)
		}
	})
}

// enters goes into a literal that a call at point n runs, if it can have to do with the resource. given says
// which of its operands are, or have, the resource.
func (w *walker) enters(fn *ssa.Function, n int, p phase, s *set, given func(int) bool) bool {
	if !w.matters(fn) {
		return false
	}
	t := ptr(*s)
	for j, q := range fn.Params {
		w.set(t, q, 0, given(j))
	}
	t.add(w.calledAt(fn, n))
	w.push(w.g.enter[fn], p, t)
	return true
}

// callbacks enters the literals that a callee may call, with parts of its other operands.
func (w *walker) callbacks(k *call, n int, p phase, s *set, touched func(ssa.Value) bool) {
	for _, b := range k.callbacks {
		w.enters(b, n, p, s, func(j int) bool {
			return !w.f.handsOnly(k, b, j) &&
				slices.ContainsFunc(k.args, func(a ssa.Value) bool { return !w.f.literals(a) && touched(a) })
		})
	}
}

// bodies enters the literals that a call runs; false: there are none.
func (w *walker) bodies(n int, k *call, p phase, s *set) bool {
	if len(k.bodies) == 0 {
		return false
	}
	for _, b := range k.bodies {
		if w.enters(b, n, p, s, func(j int) bool { return j < len(k.args) && w.holds(s, k.args[j]) }) {
			continue
		}
		if k.v != nil {
			for j := range b.Signature.Results().Len() {
				w.set(s, k.v, j, w.zero) // nothing says that it is none
			}
		}
		w.push(n+1, p, s)
	}
	return true
}

// matters reports whether a literal can have to do with the resource.
func (w *walker) matters(fn *ssa.Function) bool {
	if m, ok := w.about[fn]; ok {
		return m
	}
	w.about[fn] = false                               // of a cycle, the others say it
	m := w.sites != nil || w.data() || w.contacts(fn) // data may be made of others anywhere
	w.about[fn] = m
	return m
}

func (w *walker) contacts(fn *ssa.Function) bool {
	for _, b := range fn.Blocks {
		for _, i := range b.Instrs {
			if k := w.g.calls[callOf(i)]; k != nil && len(w.g.waited(k)) > 0 {
				return true
			}
			if st, ok := i.(*ssa.Store); ok && w.g.flagged(atom{w.g.variable(st.Addr), isFlag}) {
				return true
			}
			if _, ok := i.(*ssa.Defer); ok {
				return true
			}
			for o := range operands(i) {
				if w.f.reach(w.f.of(o)).meets(w.class) {
					return true
				}
			}
			if v, ok := i.(ssa.Value); ok && (w.f.reach(w.f.of(v)).meets(w.class) || w.site != nil && w.site.at == v) {
				return true
			}
		}
	}
	return slices.ContainsFunc(slices.Concat(w.g.runs(fn), fn.AnonFuncs), w.matters)
}

// external lets a callee without a body here do what its summary says. touched says which operands
// lead to the resource.
func (w *walker) external(k *call, p phase, s *set, touched func(ssa.Value) bool, cont func(phase, *set)) {
	if n, ok := w.isF[k.at.Pos()]; ok {
		w.free(n, k, p, s, touched, func(p phase, s *set) {
			w.clears(k, s)
			cont(p, s)
		})
		return
	}
	w.clears(k, s)
	free := false
	for n, a := range k.args {
		for _, to := range k.does[n].Into {
			s = w.grow(k, n, to, s)
		}
		if w.f.moved(k, n) {
			s = w.move(k, n, s)
		}
		par := k.does[n]
		if par.Empties {
			w.empties(s, a)
		}
		if !touched(a) && !(p&phaseMask >= ours && w.forged(a)) {
			continue
		}
		if k.ruledOut(par) || w.behind != nil || par.Frees && w.spared(par, w.g.freed(w.f.of(a), par)) {
			par.Frees = false // it reads what leads to that
		}
		if par.Stores || w.part(s, a, par) || par.Empties && w.holds(s, a) || w.rewritten(s, a) {
			s.add(w.id(markKey{kind: left, at: k.at})) // it may not be what it was
		}
		switch {
		case par.Keeps:
			w.use(p, Dead, "it is used by "+name(k), k.at)
			s.add(w.id(markKey{kind: left, at: k.at}))
			free = free || par.Frees
		case w.f.literals(a):
		case par.Frees && par.Repeatable && !w.isHanded(p):
			free = true
		case par.Frees:
			w.use(p, Once, "it is freed by "+name(k), k.at)
			free = true
		default:
			w.use(p, Dead, "it is used by "+name(k), k.at)
		}
	}
	if q := p & phaseMask; free && (q == newest || q == older) && !w.zero {
		cont(p&^phaseMask|freed, ptr(*s))
	}
	cont(p, s)
}

func name(k *call) string {
	if k.fn != nil {
		return k.fn.Name()
	}
	return "a function that is not known"
}

// results sets the registers that take what a callee returns, and makes the resource.
func (w *walker) results(k *call, p phase, s *set, cont func(phase, *set)) {
	v := k.at.(*ssa.Call)
	for j := range v.Call.Signature().Results().Len() {
		e := w.f.result(k, j)
		w.set(s, v, j, slices.ContainsFunc(e.from, func(src source) bool { return w.comes(s, src) }))
		if r := k.sum.result(j); r.Fresh {
			w.set(s, v, j, w.zero && w.site == nil && r.Zero)
			s = w.renew(v, j, r, s, func(p Part) []source { return w.f.sources(k, p.Result, nil) })
		}
	}
	if w.sites != nil {
		w.sites.reached(v, p, s)
	}
	if w.site == nil || w.site.at != ssa.Value(v) {
		cont(p, s)
		return
	}
	if w.site.index < partBase {
		w.set(s, v, w.site.index, false)
	}
	rest := p &^ phaseMask
	switch p & phaseMask {
	case newest:
		cont(rest|older, s)
	default:
		cont(p, s)
	}
}

// spared reports whether a free of what pts says frees other resources than the one that is followed: these
// may view it, or be in other fields of what it is in, of which such a free frees some.
func (w *walker) spared(p Param, pts set) bool {
	if p.Alone || len(p.Parts) == 0 {
		return w.onlyViewed(p, pts)
	}
	p.Alone = true
	return w.onlyViewed(p, w.f.viewed(pts)) // they may be freed with what they view
}

// onlyViewed reports whether a free of what pts says frees other resources than the one that is followed,
// which these may view: a free as a line has it is of its operand, and what that views stays.
func (w *walker) onlyViewed(p Param, pts set) bool {
	return w.site != nil && p.Alone && w.f.only(pts, func(e elem) bool {
		return e.obj != w.site && (e.resource() || e.obj.kind == zeroObj)
	})
}

// hits returns how often F may free what is followed: it is the operand, or what that leads to, or in some
// fields of it.
func (w *walker) hits(x *free, s *set, touched func(ssa.Value) bool) (n int) {
	other := func(e elem) bool { return e.obj.kind != memObj && e.obj.kind != zeroObj }
	if x.parts == nil || w.f.some(x.from, other) {
		_, now := x.at.(*ssa.Call) // of one that is deferred fresh asks it
		if touched(x.arg) || w.zero && now && w.holds(s, x.whole) {
			return 1
		}
		return 0
	}
	for _, path := range x.parts {
		there := w.loaded(s, x.by, w.f.along(x.from, path))
		for to := range pointers(path) { // one that is nil on the way is followed all the same
			there = there || w.zero && w.loaded(s, x.by, w.f.along(x.from, to))
		}
		if there {
			n++
		}
	}
	if x.followed && w.zero && w.holds(s, x.arg) {
		n++
	}
	return n
}

// free lets F happen.
func (w *walker) free(n int, k *call, p phase, s *set, touched func(ssa.Value) bool, cont func(phase, *set)) {
	x := w.frees[n]
	hits := 0
	if viewed := w.onlyViewed(k.does[0], x.pts); viewed && touched(x.arg) {
		w.use(p, Dead, "it is used by "+name(k), k.at)
	} else if !viewed {
		hits = w.hits(x, s, touched)
	}
	if w.g.fields(x.arg) {
		w.stands(n, p, s, false)
		w.sees(n, x, s)
	}
	if hits == 0 {
		cont(p, s)
		return
	}
	if w.zero {
		if !x.nilOK && !(x.hands != nil && w.fails(x.at.Common().Args, x.at, p)) {
			w.fault(n, Fresh, "it may be nil", k.at)
		}
		if w.site == nil {
			w.stands(n, p, s, true)
		}
		cont(p, s)
		return
	}
	switch q := p & phaseMask; {
	case x.keep:
		w.use(p, Dead, "it is kept alive", k.at)
	case q == newest || q == older:
		x.met[w.site] = true
		if x.hands != nil && w.denies(x.at.Common().Args, x.at, p) {
			x.hands.Beside = true
		}
		if w.ends(n, x, k, s); hits > 1 { // what the first frees may lead to the second
			w.fault(n, Once, "it may be in what is freed twice", k.at)
		}
		cont(p&^phaseMask|ours+phase(n), ptr(*s))
	case q == freed && !x.repeatable:
		w.fault(n, Once, "the program may have freed it before", k.at)
	case q >= ours && !(x.loop && int(q-ours) == n): // no two of ours, even where that is harmless
		w.fault(n, Once, "it may have been freed before", k.at)
		w.fault(int(q-ours), Once, "it may be freed again", k.at)
	}
	cont(p, s)
}

// sees checks that no goroutine runs that can reach memory which F may write.
func (w *walker) sees(n int, x *free, s *set) {
	for _, sp := range w.g.spawns {
		if !w.has(s, markKey{kind: running, at: sp.at}) {
			continue
		}
		for e := range w.f.leads(w.g.written(x, nil)) {
			if e.obj.kind == memObj && slices.ContainsFunc(e.obj.ids, sp.reaches.has) {
				w.fault(n, Joins, "a goroutine that can reach it may still run", sp.at)
			}
		}
	}
}

// ends checks who else has the resource where F frees it.
func (w *walker) ends(n int, x *free, k *call, s *set) {
	for id := range s.all() {
		switch m := w.mark(id); m.kind {
		case left, offered:
			w.fault(n, Confined, "it was handed to somebody who may keep it", m.at)
		case held:
			w.fault(n, Joins, "a goroutine that has it may still run", m.at)
		case running:
			for _, sp := range w.g.spawns {
				if sp.at != m.at {
					continue
				}
				for e := range sp.reaches.all() {
					if w.inside(s, e) {
						w.fault(n, Joins, "a goroutine that can reach it may still run", m.at)
					}
				}
			}
		case twice:
			if x.loop || slices.ContainsFunc(x.parts, indexed) {
				w.fault(n, Once, "it may be in what is freed twice", k.at)
			}
		}
	}
}
