package proof

// A free that was taken out had nothing to do any more: going back from it, each path meets
// an inserted free of the same value before the place where that value came from. Between the
// two nothing may wait or let others wait, as they would see the free earlier than before.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

const maxBack = 5000

// backward is a search from a free that was taken out.
type backward struct {
	g     *graph
	fn    *types.Func // that frees
	frees []*free
	seen  map[place]bool
	test  bool // it stands behind a test for nil, so nil is not freed
	why   string
}

// unreadFault says why the text does not compile once the frees that were taken out are gone: a variable, or
// an import, that only they name is not used any more.
func (c *checker) unreadFault(d *differ) string {
	mentioned, used := map[types.Object]bool{}, map[types.Object]bool{}
	gone, written := map[ast.Node]bool{}, map[ast.Expr]bool{} // to write a variable is no use of it
	for _, e := range d.edits {
		if e.kind == Deleted {
			gone[e.stmt] = true
		}
	}
	if len(gone) == 0 {
		return ""
	}
	within := false
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				written[ast.Unparen(l)] = true
			}
		case *ast.RangeStmt:
			written[ast.Unparen(n.Key)], written[ast.Unparen(n.Value)] = true, true
		case *ast.Ident:
			if written[n] {
				break
			}
			o := c.info.Uses[n]
			v, _ := o.(*types.Var)
			_, imported := o.(*types.PkgName)
			mentioned[o] = mentioned[o] || within && (imported || v != nil && v.Kind() == types.LocalVar)
			used[o] = used[o] || !within
		case ast.Stmt:
			if gone[n] {
				gone[n], within = false, true
				ast.Inspect(n, visit)
				within = false
				return false
			}
		}
		return true
	}
	ast.Inspect(d.decl, visit)
	for o := range mentioned {
		if mentioned[o] && !used[o] {
			return "only what was taken out reads " + o.Name()
		}
	}
	return ""
}

// A place is in front of instruction n of a block; what is freed is v there.
type place struct {
	b *ssa.BasicBlock
	n int
	v ssa.Value
}

// replaced judges a free that was taken out.
func (c *checker) replaced(g *graph, e *edit, frees []*free) {
	if c.off[Once] {
		return
	}
	var at ssa.CallInstruction
	for i := range g.calls {
		if i.Common().Pos() == e.free.Lparen {
			at = i
		}
	}
	_, test := e.stmt.(*ast.IfStmt)
	s := &backward{g: g, frees: frees, seen: map[place]bool{}, test: test}
	if _, plain := at.(*ssa.Call); !plain || len(g.calls[at].args) == 0 {
		s.why = "what was taken out is no plain free"
	} else {
		b := at.Block()
		s.fn = g.calls[at].fn
		s.from(place{b: b, n: indexIn(b, at), v: g.calls[at].args[0]})
	}
	if s.why != "" {
		e.fail(&Reason{Rule: Once, Words: s.why, At: c.position(e.stmt.Pos())})
	}
}

func indexIn(b *ssa.BasicBlock, i ssa.Instruction) int { return slices.Index(b.Instrs, i) }

// from goes back from p on all paths.
func (s *backward) from(p place) {
	stack := []place{p}
	for len(stack) > 0 && s.why == "" {
		p := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if s.seen[p] {
			continue
		}
		if s.seen[p] = true; len(s.seen) > maxBack {
			s.why = "there are too many paths to a free that was taken out"
			return
		}
		met := false
		for ; p.n > 0 && !met && s.why == ""; p.n-- {
			i := p.b.Instrs[p.n-1]
			if _, phi := i.(*ssa.Phi); phi {
				break
			}
			met = s.step(p, i)
		}
		if met || s.why != "" {
			continue
		}
		if c, ok := p.v.(*ssa.Const); ok && s.test && c.Value == nil {
			continue
		}
		if len(p.b.Preds) == 0 {
			s.why = "a path leads to a free that was taken out and meets no other"
			return
		}
		for k, pred := range p.b.Preds {
			q := place{b: pred, n: len(pred.Instrs), v: p.v}
			if phi, ok := p.v.(*ssa.Phi); ok && phi.Block() == p.b {
				q.v = phi.Edges[k]
			}
			stack = append(stack, q)
		}
	}
}

const waitsBetween = "something that waits, or lets others wait, comes between a free that was taken out " +
	"and the one before it"

// step goes back over one instruction; it reports whether that is a free of the same.
func (s *backward) step(p place, i ssa.Instruction) bool {
	if c, ok := i.(*ssa.Call); ok {
		if s.g.putBack[c.Pos()] {
			return false
		}
		for _, x := range s.frees {
			shown := x.e.why == nil && !x.loop && s.g.calls[c].fn == s.fn
			if shown && x.at == ssa.CallInstruction(c) && x.arg == p.v {
				return true
			}
		}
		if waits(s.g.calls[c]) {
			s.why = waitsBetween
		}
	}
	switch x := i.(type) {
	case *ssa.Send, *ssa.Select, *ssa.Go:
		s.why = waitsBetween
	case *ssa.UnOp:
		if x.Op == token.ARROW {
			s.why = waitsBetween
		}
	}
	if v, ok := i.(ssa.Value); ok && v == p.v || s.writes(i, p.v) {
		s.why = "it is not shown that another free runs before the one that was taken out"
	}
	return false
}

// writes reports whether an instruction may put something else into memory of the family to which v leads, or
// to which that does.
func (s *backward) writes(i ssa.Instruction, v ssa.Value) bool {
	f, k := s.g.f, s.g.calls[callOf(i)]
	there := f.reach(f.of(v))
	same := func(of set) bool {
		return f.some(there, func(x elem) bool {
			return x.obj.kind == memObj && f.some(of, func(y elem) bool { return x.obj == y.obj })
		})
	}
	if e := s.g.entryOf(i); e != nil {
		return slices.ContainsFunc(e.stores, func(st storing) bool { return same(f.of(st.to)) })
	}
	if f.some(there, func(e elem) bool { return e.obj.kind == memObj && e.obj.escaped }) {
		return true
	}
	for n, a := range k.args {
		if k.does[n].writes() && same(f.reach(f.of(a))) {
			return true
		}
	}
	return slices.ContainsFunc(slices.Collect(operands(i)), func(x ssa.Value) bool {
		return same(f.reach(f.of(x))) && f.some(f.reach(f.of(x)), func(e elem) bool { return e.obj.kind == litObj })
	})
}

// waits reports whether a call may wait for others, or let them go on.
func waits(k *call) bool {
	if k.builtin != "" {
		return k.builtin == "close"
	}
	return k.fn == nil || strings.HasPrefix(pathOf(k.fn), "sync") || strings.HasSuffix(pathOf(k.fn), "/errgroup")
}
