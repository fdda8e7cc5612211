package escape

// What a reader takes for a use although nothing is done with the buffer: reading one of its
// names, even where a constant, or the type of what an interface holds, rules the branch out.
// No free stands in front of it (rule 10), so for placing frees it is a use like others. For
// all else it is none: the program may do it behind its own free.

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// readsName reports whether u reads a name of m without doing more than to copy, compare or
// drop it. What leads to the handle, as a pointer to its variable or a slice, is no name of it.
func (w *flow) readsName(m, u *value) bool {
	switch u.op {
	case opDiscard, opCmp, opPack, opBound, opSet:
	default:
		return false
	}
	for m.op == opCopy {
		m = m.args[0].find()
	}
	if m.op == opAddr && m.place.root.obj != nil {
		return false
	}
	switch m.typ0().Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature:
		return w.p.isResource(m.typ0())
	}
	return true
}

// mention notes that v is read and nothing is done with it.
func (o *object) mention(at *value) { o.event(at, event{kind: evUse, why: byLook}) }

// ruledOut notes what code reads that no run gets to: here, where the branch to it is not taken.
func (l *lower) ruledOut(nodes ...ast.Node) {
	var args []*value
	seen := map[*types.Var]bool{}
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				if _, ok := x.(*ast.Ident); !ok || n.Tok != token.ASSIGN && n.Tok != token.DEFINE {
					ast.Inspect(x, visit)
				}
			}
			for _, x := range n.Rhs {
				ast.Inspect(x, visit)
			}
			return false
		case *ast.Ident:
			v, ok := l.p.info.Uses[n].(*types.Var)
			if !ok || seen[v] {
				return true
			}
			seen[v] = true
			if c := l.lits[v]; c != nil {
				ast.Inspect(c.lit.Body, visit)
			} else if r := l.roots[v]; r != nil {
				for _, p := range r.leaves {
					if !l.p.plain(p.typ) {
						args = append(args, l.readPlace(p))
					}
				}
			}
		}
		return true
	}
	for _, n := range nodes {
		ast.Inspect(n, visit)
	}
	if len(args) > 0 && l.cur != nil {
		l.emit(opUse, nil, nodes[0].Pos(), args...).note.Kind = report.Looked
	}
}

// branchRuledOut is ruledOut of the branches of s that its condition never takes.
func (l *lower) branchRuledOut(s *ast.IfStmt) {
	switch holds, ok := l.always(s.Cond); {
	case !ok:
	case !holds:
		l.ruledOut(s.Body)
	case s.Else != nil:
		l.ruledOut(s.Else)
	}
}

// always reports what cond is, if it is that in every run of every build.
func (l *lower) always(cond ast.Expr) (holds, ok bool) {
	if holds, ok := l.folded(cond); ok {
		return holds, true
	}
	switch x := ast.Unparen(cond).(type) {
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			holds, ok := l.always(x.X)
			return !holds, ok
		}
	case *ast.BinaryExpr:
		if x.Op != token.LAND && x.Op != token.LOR {
			break
		}
		a, okA := l.always(x.X)
		b, okB := l.always(x.Y)
		if okA && a == (x.Op == token.LOR) || okB && b == (x.Op == token.LOR) {
			return x.Op == token.LOR, true
		}
		return a, okA && okB
	}
	return false, false
}

// isArray reports whether a copy of a t is a copy of each of its elements.
func isArray(t types.Type) bool {
	_, ok := t.Underlying().(*types.Array)
	return ok
}
