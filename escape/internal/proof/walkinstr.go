package proof

// The walk at an instruction that is no call.

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// instr lets an instruction happen.
func (w *walker) instr(n int, pt *point, p phase, s *set) {
	p = w.noted(p, pt.instr)
	w.traces(pt, s)
	if k := w.g.calls[callOf(pt.instr)]; k != nil {
		w.call(n, k, p, s)
		return
	}
	w.reads(pt.entry, p, s, pt.instr)
	switch i := pt.instr.(type) {
	case *ssa.If:
		w.branch(i, p, s)
		return
	case *ssa.Jump:
		w.enterBlock(i.Block(), 0, p, s)
		return
	case *ssa.Return:
		w.returns(i, p, s)
		return
	case *ssa.Panic:
		w.unwinds(pt.fn, p, w.happens(pt.entry, nil, p, s, i))
		return
	case *ssa.RunDefers:
		w.push(w.g.chains[i][0], p, s)
		return
	case *ssa.DebugRef:
		w.named(i, p, s)
		w.push(n+2, p, s)
		return
	case *ssa.Phi: // enterBlock sets it
		w.push(n+2, p, s)
		return
	case *ssa.Store:
		if _, src := w.f.copied(i); src != nil {
			w.next(n, p, w.copyStruct(s, i, false))
			return
		}
	case *ssa.MapUpdate:
		w.keys(s, i.Map, i.Key)
	case *ssa.IndexAddr:
		more := func(r ssa.Instruction) bool { _, reads := r.(*ssa.UnOp); return !reads }
		if slices.ContainsFunc(*i.Referrers(), more) {
			w.keys(s, i.X, i.Index)
		}
	case *ssa.Select: // it gives nothing before it is known which case ran
		e := *pt.entry
		e.gives = nil
		w.next(n, p, w.happens(&e, i, p, w.selects(p, s, i), i))
		return
	case *ssa.Alloc:
		w.alloc(s, i)
	case *ssa.MakeClosure:
		w.next(n, p, w.closes(p, s, i))
		return
	}
	if pt.entry.strange {
		w.use(p, Limits, "an instruction is not understood", pt.instr)
	}
	v, _ := pt.instr.(ssa.Value)
	w.next(n, p, w.happens(pt.entry, v, p, s, pt.instr))
}

// reads notes what an entry reads. What F wrote may be overwritten behind it.
func (w *walker) reads(e *entry, p phase, s *set, at ssa.Instruction) {
	_, over := at.(*ssa.Store)
	for _, x := range e.reads {
		if w.holds(s, x) || w.keyed(s, x) || !over && w.written(s, x) {
			w.use(p, Dead, "it is read or written", at)
		}
	}
	for _, x := range e.orders {
		b, ok := x.Type().Underlying().(*types.Basic)
		if w.holds(s, x) && (w.data() || ok && b.Kind() == types.Uintptr) {
			w.use(p, Dead, "it is told from another", at)
		}
	}
}

// happens lets happen what an entry says; v, if there is one, takes the result.
func (w *walker) happens(e *entry, v ssa.Value, p phase, s *set, at ssa.Instruction) *set {
	for _, x := range w.f.given(e) {
		s = w.gives(p, s, x, at, e.words)
	}
	yes := w.zero && e.zero || slices.ContainsFunc(e.from, func(src source) bool { return w.comes(s, src) })
	for _, st := range e.stores {
		s = w.store(s, st, at)
	}
	if e.empties != nil {
		w.empties(s, e.empties)
	}
	if e.changes != nil && w.holds(s, e.changes) {
		s.add(w.id(markKey{kind: left, at: at}))
	}
	if v != nil {
		w.set(s, v, 0, yes)
	}
	return s
}

// named judges a mention of a register in the source.
func (w *walker) named(i *ssa.DebugRef, p phase, s *set) {
	if w.sites != nil {
		w.races(i, s)
	}
	if q := p & phaseMask; q >= ours && w.frees[q-ours].e.loop == i.Expr && w.touched(s, i.X) {
		w.use(p, Once, "the loop that frees it may run again", i)
	}
	_, pointer := i.X.Type().Underlying().(*types.Pointer)
	name := w.holds(s, i.X) && w.whole(i.X) || pointer && w.written(s, i.X)
	if name && !i.IsAddr && !w.g.inserted(i.Expr.Pos()) {
		w.use(p, Readable, "its name is read", i)
	}
}

// closes makes a literal. A method value has what it is bound to; another of the same method may still have
// an older one.
func (w *walker) closes(p phase, s *set, i *ssa.MakeClosure) *set {
	fn := i.Fn.(*ssa.Function)
	yes := false
	for k, b := range i.Bindings {
		if q := p & phaseMask; q >= ours && w.touched(s, b) {
			x := w.frees[q-ours]
			x.captured = append(x.captured, capture{fn.Pos(), fn.FreeVars[k].Pos()})
		}
		if yes = yes || w.holds(s, b); !w.f.member[fn] { // nothing looks into it where it is called
			s = w.gives(p, s, b, i, "it is bound to a method value")
		} else if w.holds(s, b) {
			w.set(s, fn.FreeVars[k], 0, true)
		}
	}
	w.set(s, i, 0, yes)
	return s
}

// keys notes that a map, or a table, has something where k says.
func (w *walker) keys(s *set, v, k ssa.Value) {
	if w.holds(s, k) {
		for e := range w.f.leads(w.f.of(v)) {
			s.add(w.id(markKey{kind: keyed, n: e.obj.id}))
		}
	}
}

// keyed reports whether v leads to a map, or a table, in which what is followed may say what is where.
func (w *walker) keyed(s *set, v ssa.Value) bool {
	return w.f.some(w.f.of(v), func(e elem) bool { return w.has(s, markKey{kind: keyed, n: e.obj.id}) })
}

// written reports whether v leads right to memory that F may have written.
func (w *walker) written(s *set, v ssa.Value) bool {
	return w.behind != nil && w.f.some(w.f.of(v), func(e elem) bool {
		return e.obj.kind == memObj && slices.ContainsFunc(e.obj.ids, func(id int) bool {
			return w.inside(s, id) && w.ofRun(s, v, id)
		})
	})
}

// whole reports whether a register may be the resource itself, and not only a view of it.
func (w *walker) whole(v ssa.Value) bool {
	return w.f.some(w.f.of(v), func(e elem) bool { return e.obj == w.site && e.resource() }) || w.behind != nil
}

// gives hands v to somebody who may keep it.
func (w *walker) gives(p phase, s *set, v ssa.Value, at ssa.Instruction, words string) *set {
	if w.touched(s, v) {
		w.use(p, Dead, words, at)
		s.add(w.id(markKey{kind: left, at: at}))
	}
	return s
}

// use notes that what F freed is used. Before F it says nothing.
func (w *walker) use(p phase, rule Rule, words string, at ssa.Instruction) {
	if p &= phaseMask; p >= ours && !w.zero {
		w.fault(int(p-ours), rule, words, at)
	}
}

// returns ends a function.
func (w *walker) returns(i *ssa.Return, p phase, s *set) {
	fn := i.Parent()
	for n, r := range i.Results {
		if w.touched(s, r) {
			w.use(p, Dead, "it is returned", i)
		}
		if fn != w.f.root {
			yes := w.touched(s, r)
			w.set(s, fn, n, yes)
			if yes {
				s.add(w.regID(fn, n))
				if w.g.calledBack(w.f, fn) || w.g.started(fn) {
					s.add(w.id(markKey{kind: left, at: i}))
				}
			}
		}
	}
	if fn == w.f.root && w.ret != nil {
		w.ret(s, p, i)
	}
	if late := w.g.chains[i]; late != nil {
		w.push(late[0], p, s)
		return
	}
	w.push(w.g.leave[fn], p, s)
}

// enterBlock follows the k-th edge out of a block: all phis at once.
func (w *walker) enterBlock(b *ssa.BasicBlock, k int, p phase, s *set) {
	to := b.Succs[k]
	edge := w.g.edge(b, k)
	was := ptr(*s)
	for _, i := range to.Instrs {
		phi, ok := i.(*ssa.Phi)
		if !ok {
			break
		}
		w.set(s, phi, 0, w.holds(was, phi.Edges[edge]))
		w.leadsFrom(s, phi, 0, w.leading(was, phi.Edges[edge], 0))
	}
	w.prune(to, s)
	w.push(w.g.first(to), w.crossed(p, to, edge), s)
}

// prune drops marks of registers of the function that nobody reads any more, and of memory that only
// these lead to: they are made anew when the function runs again.
func (w *walker) prune(b *ssa.BasicBlock, s *set) {
	live := w.g.live(b)
	keep := w.g.liveObjects(b)
	for id := range s.clone().all() {
		switch m := w.mark(id); m.kind {
		case inReg, thisRun:
			if in, ok := m.k.v.(ssa.Instruction); ok && in.Parent() == b.Parent() && !live[m.k.v] {
				s.remove(id)
			}
		case inElem:
			if !keep.has(w.f.elems[m.n].obj.id) {
				s.remove(id)
			}
		}
	}
}

// unwinds leaves a function by a panic. Of its registers only deferred calls and what recovers read any.
func (w *walker) unwinds(fn *ssa.Function, p phase, s *set) {
	live, t := w.g.unwound(fn), ptr(*s)
	for id := range s.all() {
		m := w.mark(id)
		if in, ok := m.k.v.(ssa.Instruction); ok && m.kind == inReg && in.Parent() == fn && !live[m.k.v] {
			t.remove(id)
		}
	}
	w.push(w.g.panic[fn], p, t)
}

func isBool(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}
