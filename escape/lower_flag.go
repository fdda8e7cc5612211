package escape

// Source to flow form: the flags under which deferred code touches a buffer, as in
//
//	done := false
//	defer func() {
//		if !done {
//			b.Reset()
//		}
//	}()
//
// What a flag holds where something panics is what deferred code finds, as long as
// nothing assigns it in between: no other deferred call, and nobody who has its address.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// A flagTest is a condition of deferred code, on a path on which it is want.
type flagTest struct {
	cond ast.Expr // a variable, a field of one, or what a pointer leads to
	want bool
}

// flagsAround lists the flags under which literal lit gets to the node that ends path, which
// begins in it.
func (l *lower) flagsAround(lit *ast.FuncLit, path []ast.Node) []flagTest {
	var out []flagTest
	for i, n := range path[:len(path)-1] {
		s, ok := n.(*ast.IfStmt)
		if !ok {
			continue
		}
		switch path[i+1] {
		case ast.Node(s.Body):
			out = l.flagsOf(out, lit, s.Cond, true)
		case ast.Node(s.Else):
			out = l.flagsOf(out, lit, s.Cond, false)
		}
	}
	return out
}

// flagsOf adds to out the flags that are known where e, in the deferred literal lit, is
// want. What the literal itself declares is none.
func (l *lower) flagsOf(out []flagTest, lit ast.Node, e ast.Expr, want bool) []flagTest {
	switch x := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			return l.flagsOf(out, lit, x.X, !want)
		}
	case *ast.BinaryExpr:
		if x.Op == token.LAND && want || x.Op == token.LOR && !want {
			return l.flagsOf(l.flagsOf(out, lit, x.X, want), lit, x.Y, want)
		}
	case *ast.Ident, *ast.SelectorExpr, *ast.StarExpr:
		v := l.p.flagVar(x)
		if v != nil && isBool(l.p.typeOf(x)) && !within(lit, v.Pos()) && l.p.vars().Steady(v, l.f.node) {
			return append(out, flagTest{x, want})
		}
	}
	return out
}

// flagVar returns the variable v where e is v, v.f or *v.
func (p *pkg) flagVar(e ast.Expr) *types.Var {
	switch x := e.(type) {
	case *ast.SelectorExpr:
		if s := p.info.Selections[x]; s == nil || s.Kind() != types.FieldVal || len(s.Index()) != 1 {
			return nil
		}
		e = x.X
	case *ast.StarExpr:
		e = x.X
	}
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	v, _ := p.info.Uses[id].(*types.Var)
	return v
}

// flagNow returns what the flag holds here, nil if that is not known.
func (l *lower) flagNow(f flagTest) *value {
	r := l.root(l.p.flagVar(f.cond))
	if r == nil {
		return nil
	}
	var path []int
	if isPointer(r.typ) {
		if len(r.leaves) != 1 {
			return nil
		}
		var ok bool
		if r, path, ok = l.pointee(l.readPlace(r.leaves[0])); !ok {
			return nil
		}
	}
	if x, ok := f.cond.(*ast.SelectorExpr); ok {
		path = append(path[:len(path):len(path)], l.p.info.Selections[x].Index()[0])
	}
	for _, p := range r.leaves {
		if len(p.path) == len(path) && hasPrefix(p.path, path) {
			c := l.emit(opCopy, p.typ, f.cond.Pos(), l.readPlace(p))
			c.from = r
			return c
		}
	}
	return nil
}

// findFlags finds the steady variables that deferred literals test. Structs among them are
// followed field by field, and those that lead to a new object, to that.
func (l *lower) findFlags() {
	l.flags, l.flagged = map[*types.Var]bool{}, map[ast.Expr]bool{}
	ast.Inspect(l.f.body, func(n ast.Node) bool {
		d, ok := n.(*ast.DeferStmt)
		if !ok {
			return true
		}
		lit, ok := ast.Unparen(d.Call.Fun).(*ast.FuncLit)
		if !ok {
			return true
		}
		ast.Inspect(lit.Body, func(n ast.Node) bool {
			if s, ok := n.(*ast.IfStmt); ok {
				for _, want := range []bool{true, false} {
					for _, f := range l.flagsOf(nil, lit, s.Cond, want) {
						l.flags[l.p.flagVar(f.cond)] = true
					}
				}
			}
			return true
		})
		return true
	})
	if len(l.flags) == 0 {
		return
	}
	ast.Inspect(l.f.body, func(n ast.Node) bool {
		as, ok := n.(*ast.AssignStmt)
		if !ok || len(as.Lhs) != len(as.Rhs) {
			return true
		}
		for i, e := range as.Lhs {
			if id, ok := e.(*ast.Ident); ok {
				v, _ := l.p.info.ObjectOf(id).(*types.Var)
				l.flagged[ast.Unparen(as.Rhs[i])] = l.flags[v]
			}
		}
		return true
	})
}

// flagRoot returns a new object for what e makes if a flag leads to it, nil otherwise.
func (l *lower) flagRoot(e ast.Expr, t types.Type) *root {
	if !l.flagged[e] {
		return nil
	}
	r := &root{name: "&" + types.TypeString(t, l.p.qualifier), typ: t, depth: l.depth}
	if !fields(t, func(path []int, t types.Type, name string) {
		r.leaves = append(r.leaves, &place{root: r, path: path, typ: t, name: name})
	}) {
		return nil
	}
	l.f.roots = append(l.f.roots, r)
	return r
}

// fields adds the parts of a struct that is a flag.
func fields(t types.Type, add func([]int, types.Type, string)) bool {
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for i := range st.NumFields() {
		add([]int{i}, st.Field(i).Type(), "."+st.Field(i).Name())
	}
	return true
}

// grouped puts what is held under the same flags side by side.
func grouped(hs []held) []held {
	var out []held
	for len(hs) > 0 {
		first := hs[0]
		var rest []held
		for _, h := range hs {
			if slices.Equal(h.under, first.under) {
				out = append(out, h)
			} else {
				rest = append(rest, h)
			}
		}
		hs = rest
	}
	return out
}

// A gapPlace is where in the source a gap is.
type gapPlace struct {
	kind   rewrite.Kind
	anchor token.Pos
	stmt   ast.Stmt
}

// copying reports whether what is lowered is a literal that a deferred statement of the
// function calls. Each exit has a copy of it.
func (l *lower) copying() bool { return l.splice != nil && l.splice.deferred != nil }

// copied returns the gap that stands for g in all copies.
func (l *lower) copied(g *gap) *gap {
	at := gapPlace{g.kind, g.anchor, g.stmt}
	if c := l.copies[at]; c != nil {
		return c
	}
	if l.copies == nil {
		l.copies = map[gapPlace]*gap{}
	}
	g.deferred, g.under, g.inner = l.splice.deferred, l.under, []*ast.FuncLit{l.splice.lit}
	l.copies[at] = g
	return g
}

// flagged reports whether hold v would happen under combination c, as the flags may be
// what it wants.
func (g *group) flagged(v *value, c int) bool {
	if g.caution&outside != 0 {
		return true
	}
	flags := v.args[len(v.args)-len(v.wants):]
	for i, want := range v.wants {
		if t := g.isTrue(flags[i], c); t != unknown && t != ofBool(want) {
			return false
		}
	}
	return true
}
