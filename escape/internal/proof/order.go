package proof

// The order of evaluation. The language says in which order a statement calls, but not when it reads its
// variables: go/ssa reads them where they stand, compilers often behind the last call. So what a statement
// computes without a call may, behind each call in it, have what computing it anew would give.

import (
	"go/ast"
	"go/token"
	"slices"
	"sort"

	"golang.org/x/tools/go/ssa"
)

// A region is an expression, or a statement without others in it but those of literals.
type region struct{ from, to token.Pos }

// regionsOf returns those of a function, in order.
func regionsOf(fn *ssa.Function) (out []region) {
	if fn.Syntax() == nil {
		return nil
	}
	ast.Inspect(fn.Syntax(), func(n ast.Node) bool {
		switch n.(type) {
		case *ast.AssignStmt, *ast.DeclStmt, *ast.DeferStmt, *ast.ExprStmt, *ast.GoStmt, *ast.IncDecStmt,
			*ast.ReturnStmt, *ast.SendStmt:
		case ast.Expr:
			if n == ast.Node(fn.Syntax()) {
				return true
			}
		default:
			return true
		}
		out = append(out, region{n.Pos(), n.End()})
		return false
	})
	return out
}

// An evaluation is what statements do that call: what each call may have behind it, and all that.
type evaluation struct {
	late  map[ssa.Instruction][]ssa.Instruction
	again map[ssa.Instruction]bool
	at    map[ssa.Instruction]int // where these are in their block
}

// ordered returns the order of evaluation of a family.
func (g *graph) ordered() *evaluation {
	if g.order == nil {
		g.order = &evaluation{map[ssa.Instruction][]ssa.Instruction{}, map[ssa.Instruction]bool{},
			map[ssa.Instruction]int{}}
		for _, fn := range g.f.fns {
			g.findOrder(fn)
		}
	}
	return g.order
}

// entryOf returns what an instruction computes without running code of others, nil if it is such a call.
func (g *graph) entryOf(i ssa.Instruction) *entry {
	if c := callOf(i); c != nil {
		return g.calls[c].entry
	}
	return g.f.entry(i)
}

// findOrder collects, for each call of a function, what its statement does besides, where that reads memory.
// Compilers do some builtin functions late as well.
func (g *graph) findOrder(fn *ssa.Function) {
	o, regions := g.order, regionsOf(fn)
	at := func(p token.Pos) int { // the number of a region, -1: there is none
		n := sort.Search(len(regions), func(n int) bool { return p < regions[n].to })
		if n < len(regions) && regions[n].from <= p {
			return n
		}
		return -1
	}
	calls, others, loads := map[int][]ssa.Instruction{}, map[int][]ssa.Instruction{}, map[int]bool{}
	for _, b := range fn.Blocks {
		in := make([]int, len(b.Instrs)) // what has no place stands where the next one does
		for n, now := len(b.Instrs)-1, -1; n >= 0; n-- {
			p := b.Instrs[n].Pos()
			if r, ok := b.Instrs[n].(*ssa.DebugRef); ok {
				p = r.Expr.Pos()
			}
			if p.IsValid() {
				now = at(p)
			}
			in[n] = now
		}
		for n, i := range b.Instrs {
			r := in[n]
			if r >= 0 {
				o.at[i] = n
			}
			if callOf(i) != nil {
				calls[r] = append(calls[r], i)
			}
			e := g.entryOf(i)
			if e != nil && !e.makes && len(e.from)+len(e.stores)+len(e.reads) > 0 || closure(i) != nil {
				others[r] = append(others[r], i)
				loads[r] = loads[r] || len(e.reads) > len(e.stores)
			}
		}
	}
	for r, list := range calls {
		if r < 0 || !loads[r] {
			continue
		}
		for _, i := range list {
			o.late[i] = others[r]
		}
		for _, i := range others[r] {
			o.again[i] = true
		}
	}
}

// closure returns i if it makes a literal, or a method value, which has what its receiver is then.
func closure(i ssa.Instruction) *ssa.MakeClosure {
	m, _ := i.(*ssa.MakeClosure)
	return m
}

// late lets what the statement of a call reads, computes, and puts into a literal, be what it would be behind
// it. A free that was put in is a statement of its own, which reads its operand in front of it.
func (w *walker) late(call ssa.Instruction, p phase, s *set) (phase, *set) {
	if w.g.inserted(call.Pos()) {
		return p, s
	}
	fresh := map[ssa.Value]bool{}
	o := w.g.ordered()
	for _, i := range o.late[call] {
		if i.Block() == call.Block() && o.at[i] > o.at[call] {
			continue // it comes yet
		}
		e := w.g.entryOf(i)
		v, _ := i.(ssa.Value)
		w.reads(e, p, s, i)
		yes := slices.ContainsFunc(e.from, func(src source) bool { return w.comes(s, src) })
		if yes && !w.holds(s, v) {
			fresh[v] = true
			w.set(s, v, 0, true)
		}
		for _, x := range w.f.given(e) {
			s = w.gives(p, s, x, i, e.words)
		}
		if m := closure(i); m != nil {
			was := w.holds(s, m)
			s = w.closes(p, s, m)
			w.set(s, m, 0, was || w.holds(s, m))
		}
		for _, kind := range []atomKind{isTrue, isNil, isEqual} {
			p = w.learn(p, atom{v, kind}, nothing)
		}
		t := ptr(*s)
		if st, ok := i.(*ssa.Store); ok {
			t = w.copyStruct(t, st, true)
		}
		for _, st := range e.stores {
			if fresh[st.val.v] {
				t = w.store(t, st, i)
			}
		}
		t.union(*s)
		s = t
	}
	return p, s
}
