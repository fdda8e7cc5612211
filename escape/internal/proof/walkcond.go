package proof

// The walk at conditions: what a branch taken says about the resource.
//
// A register that is tested twice is remembered, and what is known of it is dropped where it is
// computed again. What is read from memory is not remembered, with one exception: a variable that
// was stored just before. An error that is not nil says that its call made nothing. That an
// interface is not nil says nothing.

import (
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

// ran notes that case n of a select did run, or did not.
func (w *walker) ran(i *ssa.Select, n int, yes bool, s *set) {
	for id := range s.clone().all() {
		if m := w.marks[id]; m.kind == offered && m.at == ssa.Instruction(i) && (m.n == n) != yes {
			s.remove(id)
		}
	}
}

// branch takes both edges of a condition, unless what is known rules one out.
func (w *walker) branch(i *ssa.If, p phase, s *set) {
	for k := range 2 {
		q, t := p, ptr(*s)
		if !w.allowed(i.Cond, k == 0, &q, t) {
			continue
		}
		w.enterBlock(i.Block(), k, q, t)
	}
}

// allowed reports whether cond may be yes here, and notes what follows from it.
func (w *walker) allowed(cond ssa.Value, yes bool, p *phase, s *set) bool {
	for n, c := range w.conds {
		if c != cond {
			continue
		}
		shift := 16 + 2*n
		now := phase(1)
		if yes {
			now = 2
		}
		if old := *p >> shift & 3; old != 0 && old != now {
			return false
		}
		*p = *p&^(3<<shift) | now<<shift
	}
	switch c := cond.(type) {
	case *ssa.UnOp:
		if c.Op == token.NOT {
			return w.allowed(c.X, !yes, p, s)
		}
	case *ssa.Extract:
		// v, ok := f(): f says that v is zero if ok is not.
		if w.site != nil && c.Tuple == w.site.at && *p&phaseMask == newest && w.g.okResult(w.site) == c.Index {
			return yes != w.zero || !w.zero && w.g.beside(w.site)
		}
	case *ssa.BinOp:
		if c.Op == token.EQL || c.Op == token.NEQ {
			for _, xy := range [][2]ssa.Value{{c.X, c.Y}, {c.Y, c.X}} {
				k, ok := xy[1].(*ssa.Const)
				if ok && k.Value == nil {
					return w.isNil(xy[0], yes == (c.Op == token.EQL), p, s)
				}
				if e, is := xy[0].(*ssa.Extract); ok && is && e.Index == 0 {
					if sel, is := e.Tuple.(*ssa.Select); is {
						w.ran(sel, int(k.Int64()), yes == (c.Op == token.EQL), s)
					}
				}
			}
		}
	}
	return true
}

// isNil notes that x is nil, or that it is not.
func (w *walker) isNil(x ssa.Value, yes bool, p *phase, s *set) bool {
	x = stored(x)
	if e, ok := x.(*ssa.Extract); ok && w.site != nil && e.Tuple == w.site.at && isError(e.Type()) &&
		*p&phaseMask == newest && e.Index == w.site.at.(*ssa.Call).Call.Signature().Results().Len()-1 {
		// An error says that the others own nothing, but for bodies that are known to return both.
		return yes != w.zero || w.zero && w.g.maybeZero(w.site) || !w.zero && w.g.beside(w.site)
	}
	if types.IsInterface(x.Type()) {
		return true
	}
	if yes != w.zero {
		w.set(s, x, 0, false) // it is not the resource, or not the zero, then
	}
	return true
}

// stored returns what was stored into a variable just before it is read: in the same block,
// with nothing between that could store anything else there.
func stored(x ssa.Value) ssa.Value {
	load, ok := x.(*ssa.UnOp)
	if !ok || load.Op != token.MUL {
		return x
	}
	instrs := load.Block().Instrs
	for n := slices.Index(instrs, ssa.Instruction(load)) - 1; n >= 0; n-- {
		switch i := instrs[n].(type) {
		case *ssa.Store:
			if i.Addr == load.X {
				return i.Val
			}
			if _, variable := i.Addr.(*ssa.Alloc); !variable {
				return x
			}
		case *ssa.DebugRef, *ssa.Extract, *ssa.UnOp, *ssa.Alloc, *ssa.MakeInterface, *ssa.ChangeType, *ssa.FieldAddr:
		default:
			return x
		}
	}
	return x
}

// forget drops what is known of conditions that are computed again from b on.
func (w *walker) forget(p phase, b *ssa.BasicBlock) phase {
	for n, c := range w.conds {
		if i, ok := c.(ssa.Instruction); ok && i.Block() == b {
			p &^= 3 << (16 + 2*n)
		}
	}
	return p
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }
