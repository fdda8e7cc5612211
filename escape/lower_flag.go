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
		if v := l.p.flagVar(x); v != nil && isBool(l.p.typeOf(x)) && !within(lit, v.Pos()) && l.steady(v) {
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

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
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

// steady reports whether deferred code finds in the variable v, or where v points, what it
// holds when something panics: v belongs to this function, which never takes its address or
// hands the pointer on; it is assigned here, or by a literal with a name that only this
// function calls, and by nothing that is deferred.
func (l *lower) steady(v *types.Var) bool {
	if v.Pos() < l.f.node.Pos() || v.Pos() >= l.f.node.End() {
		return false
	}
	if l.unsteady == nil {
		l.unsteady = map[*types.Var]bool{}
		l.findUnsteady()
	}
	return !l.unsteady[v]
}

func (l *lower) findUnsteady() {
	setters := map[*types.Var][]*types.Var{} // a literal's name → what the literal assigns
	each := func(do func(v *types.Var, path []ast.Node, deferred bool, lits []int)) {
		inspectPath(l.f.node, func(path []ast.Node) {
			id, ok := path[len(path)-1].(*ast.Ident)
			if !ok {
				return
			}
			v, ok := l.p.info.Uses[id].(*types.Var)
			if !ok || v.IsField() {
				return
			}
			deferred := false
			var lits []int
			for i, n := range path[1:] {
				switch n.(type) {
				case *ast.DeferStmt, *ast.GoStmt:
					deferred = true
				case *ast.FuncLit:
					lits = append(lits, i+1)
				}
			}
			do(v, path, deferred, lits)
		})
	}
	each(func(v *types.Var, path []ast.Node, deferred bool, lits []int) {
		written, other := l.p.flagUse(v, path)
		switch {
		case other:
			l.unsteady[v] = true
		case !written || len(lits) == 0 && !deferred:
		case len(lits) == 1 && !deferred:
			if w := l.namedBy(path[:lits[0]+1]); w != nil {
				setters[w] = append(setters[w], v)
				return
			}
			l.unsteady[v] = true
		default:
			l.unsteady[v] = true
		}
	})
	if len(setters) == 0 {
		return
	}
	each(func(w *types.Var, path []ast.Node, deferred bool, lits []int) {
		id := path[len(path)-1]
		switch n := path[len(path)-2].(type) {
		case *ast.CallExpr:
			if n.Fun == id && !deferred && len(lits) == 0 {
				return
			}
		case *ast.AssignStmt: // _ = set
			if len(n.Rhs) == 1 && n.Rhs[0] == id && isBlank(n.Lhs[0]) {
				return
			}
		}
		for _, v := range setters[w] {
			l.unsteady[v] = true
		}
	})
}

// namedBy returns the variable that is assigned the literal that ends path, and nothing else.
func (l *lower) namedBy(path []ast.Node) *types.Var {
	as, ok := path[len(path)-2].(*ast.AssignStmt)
	if !ok || len(as.Lhs) != 1 || len(as.Rhs) != 1 {
		return nil
	}
	id, ok := as.Lhs[0].(*ast.Ident)
	if !ok {
		return nil
	}
	if w, ok := l.p.info.ObjectOf(id).(*types.Var); ok && l.once[w] {
		return w
	}
	return nil
}

// flagUse says of a use of v, whose identifier ends path, whether it assigns v, a field or
// what v points to; other is a use through which something else may do that.
func (p *pkg) flagUse(v *types.Var, path []ast.Node) (written, other bool) {
	pointer, through := isPointer(v.Type()), false
	cur := path[len(path)-1]
	for i := len(path) - 2; i >= 0; i-- {
		switch n := path[i].(type) {
		case *ast.ParenExpr:
		case *ast.StarExpr:
			through = true
		case *ast.SelectorExpr:
			s := p.info.Selections[n]
			if s == nil || s.Kind() != types.FieldVal {
				r := types.Type(nil)
				if s != nil {
					r = s.Obj().(*types.Func).Signature().Recv().Type()
				}
				return false, r == nil || isPointer(r) || types.IsInterface(r)
			}
			through = true
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if e == cur {
					return true, pointer && !through
				}
			}
			return false, pointer && !through && !(len(n.Lhs) == 1 && isBlank(n.Lhs[0]))
		case *ast.IncDecStmt:
			return true, false
		case *ast.UnaryExpr:
			return false, n.Op == token.AND || pointer && !through
		case *ast.RangeStmt:
			return false, n.Key == cur || n.Value == cur || pointer && !through
		default:
			return false, pointer && !through
		}
		cur = path[i]
	}
	return false, false
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
	kind   gapKind
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
