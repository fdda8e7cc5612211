package proof

// The walk at conditions: what a branch taken says about the resource. What is known of a condition is in
// known.go. An error that is not nil says that its call made nothing. That an interface is not nil says
// nothing.

import (
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// selects offers what a select would send. Which case ran is tested right behind it.
func (w *walker) selects(p phase, s *set, i *ssa.Select) *set {
	for n, st := range i.States {
		if st.Send == nil || !w.touched(s, st.Send) {
			continue
		}
		w.use(p, Dead, "it is sent on a channel", i)
		m := markKey{kind: offered, at: i, n: n}
		if w.has(s, m) {
			s.add(w.id(markKey{kind: left, at: i})) // from a round before
		}
		s.add(w.id(m))
	}
	return s
}

// ran notes that the case with a number did run, or did not.
func (w *walker) ran(i *ssa.Select, number byte, is bool, s *set) {
	for id := range s.clone().all() {
		m := w.mark(id)
		if m.kind != offered || m.at != ssa.Instruction(i) {
			continue
		}
		if n := w.g.code(ssa.NewConst(constant.MakeInt64(int64(m.n)), types.Typ[types.Int])); (n == number) != is {
			s.remove(id)
		}
	}
}

// branch takes both edges of a condition, unless what is known rules one out.
func (w *walker) branch(i *ssa.If, p phase, s *set) {
	for k := range 2 {
		q, t := p, ptr(*s)
		if !w.allowed(i, k == 0, &q, t) {
			continue
		}
		w.enterBlock(i.Block(), k, q, t)
	}
}

// allowed reports whether an edge may be taken, and notes what follows from it.
func (w *walker) allowed(i *ssa.If, taken bool, p *phase, s *set) bool {
	a, value, is := w.g.test(i.Cond)
	if _, isConst := a.v.(*ssa.Const); a.v == nil || isConst {
		return true // constant conditions are not folded
	}
	if known := w.value(i.Cond, isTrue, *p); known != nothing && (known == yes) != taken {
		return false
	}
	is = is == taken
	switch {
	case is:
		*p = w.learn(*p, a, value)
	case a.kind != isEqual:
		*p = w.learn(*p, a, no)
	}
	if a.kind == isNil {
		w.isNil(a.v, i.Block(), is, s)
		if load, ok := a.v.(*ssa.UnOp); ok && w.f.undisturbed(load, i) {
			*p = w.learn(*p, atom{w.g.flagOf(load), isFlag}, truth(is))
		}
	}
	if e, ok := a.v.(*ssa.Extract); ok && e.Index == 0 && a.kind == isEqual {
		if sel, ok := e.Tuple.(*ssa.Select); ok {
			w.ran(sel, value, is, s)
		}
	}
	return true
}

// isNil notes that x is nil, or that it is not: then it is not the resource, or not the zero. Of a struct or
// an array that is not zero, some parts may be.
func (w *walker) isNil(x ssa.Value, b *ssa.BasicBlock, is bool, s *set) {
	switch x.Type().Underlying().(type) {
	case *types.Interface: // it may have a nil pointer
		if o := w.site; !w.zero || o == nil || !types.IsInterface(o.typ) || !o.bare || w.f.boxed(o, func(types.Type) bool { return true }) {
			return
		}
	case *types.Struct, *types.Array:
		if w.zero {
			return
		}
	}
	if is == w.zero {
		return
	}
	w.set(s, x, 0, false)
	w.set(s, w.g.stored(x), 0, false)
	if load, ok := x.(*ssa.UnOp); ok && w.f.undisturbed(load, b.Instrs[len(b.Instrs)-1]) {
		w.overwrites(s, w.f.of(load.X)) // nor does the variable that it was read of
	}
}

// stored returns what was stored into a variable just before it is read: in the same block,
// with nothing between that could store anything else there, as deferred calls do not into a result without a
// name.
func (g *graph) stored(x ssa.Value) ssa.Value {
	load, ok := x.(*ssa.UnOp)
	if !ok || load.Op != token.MUL || g.ordered().again[load] {
		return x
	}
	instrs := load.Block().Instrs
	for n := slices.Index(instrs, ssa.Instruction(load)) - 1; n >= 0; n-- {
		st, stores := instrs[n].(*ssa.Store)
		if stores && st.Addr == load.X {
			return st.Val
		}
		if acts(instrs[n]) && !(stores && isVariable(st.Addr) && isVariable(load.X)) && !nameless(load.X) {
			return x
		}
	}
	return x
}

// nameless reports whether an address is that of a variable which is set and read, and no more.
func nameless(addr ssa.Value) bool {
	a, ok := addr.(*ssa.Alloc)
	return ok && !slices.ContainsFunc(*a.Referrers(), func(i ssa.Instruction) bool {
		st, stores := i.(*ssa.Store)
		load, loads := i.(*ssa.UnOp)
		return !(stores && st.Val != addr) && !(loads && load.Op == token.MUL)
	})
}

// isVariable reports whether an address is that of a variable as a whole: two of these are apart.
func isVariable(addr ssa.Value) bool {
	switch addr.(type) {
	case *ssa.Alloc, *ssa.Global:
		return true
	}
	return false
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }
