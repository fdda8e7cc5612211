package proof

// The forms that a free has in the source.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// freeing reads the forms that a free has: x.M(), f(x), f(&x), any of these deferred, in
// if x != nil { … }, in if x != p { … }, in for _, e := range x { … } or in defer func() { … }(). nil: the
// statement is none.
func freeing(s ast.Stmt) []*edit {
	switch s := s.(type) {
	case *ast.ExprStmt:
		if c, ok := s.X.(*ast.CallExpr); ok {
			return freeCall(c)
		}
	case *ast.DeferStmt:
		es := freeCall(s.Call)
		if l := later(s); l != nil {
			es = freeingAll(l.List)
		}
		for _, e := range es {
			if e.late {
				return nil
			}
			e.late = true
		}
		return es
	case *ast.IfStmt:
		if s.Init == nil && s.Else == nil && isGuard(s.Cond) {
			es := freeingAll(s.Body.List)
			if len(es) == 0 || slices.ContainsFunc(es, func(e *edit) bool { return !leadsThrough(s.Cond, e) }) {
				return nil
			}
			if _, plain := s.Body.List[0].(*ast.ExprStmt); otherThan(s.Cond) != nil && (len(es) != 1 || !plain || es[0].keep) {
				return nil
			}
			return es
		}
	case *ast.RangeStmt:
		v, ok := s.Value.(*ast.Ident)
		k, blank := s.Key.(*ast.Ident)
		if !ok || !blank || k.Name != "_" || s.Tok != token.DEFINE || base(s.X) == nil {
			return nil
		}
		es := freeingAll(s.Body.List)
		for _, e := range es {
			if id := base(e.what); id == nil || id.Name != v.Name || e.loop != nil || e.late {
				return nil
			}
			e.loop = s.X
		}
		return es
	}
	return nil
}

// later returns the body of a literal that is deferred and takes and gives nothing; nil if that is something
// else.
func later(s *ast.DeferStmt) *ast.BlockStmt {
	l, ok := s.Call.Fun.(*ast.FuncLit)
	if !ok || len(s.Call.Args)+l.Type.Params.NumFields()+l.Type.Results.NumFields() > 0 {
		return nil
	}
	return l.Body
}

// isLater reports whether a statement defers a literal that frees and does nothing else.
func isLater(s ast.Stmt) bool {
	d, ok := s.(*ast.DeferStmt)
	return ok && later(d) != nil && freeing(d) != nil
}

// freeingAll reads statements in another one: none compares what it frees with a variable.
func freeingAll(list []ast.Stmt) []*edit {
	var all []*edit
	for _, s := range list {
		es := freeing(s)
		if i, ok := s.(*ast.IfStmt); es == nil || ok && otherThan(i.Cond) != nil {
			return nil
		}
		all = append(all, es...)
	}
	return all
}

func freeCall(c *ast.CallExpr) []*edit {
	e := &edit{free: c}
	sel, isSel := c.Fun.(*ast.SelectorExpr)
	switch {
	case len(c.Args) == 0 && isSel && base(sel.X) != nil:
		e.what = sel.X
	case len(c.Args) == 1 && c.Ellipsis == token.NoPos && base(c.Fun) != nil:
		e.what = c.Args[0]
		if u, ok := e.what.(*ast.UnaryExpr); ok && u.Op == token.AND {
			e.what = u.X
		}
		e.keep = isSel && sel.Sel.Name == "KeepAlive"
	}
	_, name := e.what.(*ast.Ident)
	if e.what == nil || base(e.what) == nil || e.keep && !name { // what leads to it may be freed
		return nil
	}
	return []*edit{e}
}

// isGuard reports whether e is x != nil, or several of these, or x != p behind them.
func isGuard(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	if !ok {
		return false
	}
	if b.Op == token.LAND {
		return isGuard(b.X) && otherThan(b.X) == nil && isGuard(b.Y)
	}
	_, ok = b.Y.(*ast.Ident)
	return ok && b.Op == token.NEQ && base(b.X) != nil
}

// otherThan returns the variable that a guard says is something else than what is freed; nil if it asks
// for no more than nil.
func otherThan(e ast.Expr) *ast.Ident {
	b := e.(*ast.BinaryExpr)
	if b.Op == token.LAND {
		return otherThan(b.Y)
	}
	if id := b.Y.(*ast.Ident); id.Name != "nil" {
		return id
	}
	return nil
}

// leadsThrough reports whether all that a guard tests is what e frees, or is on the way there: what else it
// read might be written by others, or come later in the initialization of the package.
func leadsThrough(cond ast.Expr, e *edit) bool {
	b := cond.(*ast.BinaryExpr)
	if b.Op == token.LAND {
		return leadsThrough(b.X, e) && leadsThrough(b.Y, e)
	}
	of := e.what
	if e.loop != nil {
		of = e.loop
	}
	if otherThan(b) != nil {
		return types.ExprString(of) == types.ExprString(b.X)
	}
	return leadsTo(types.ExprString(of), types.ExprString(b.X))
}

// tests reports whether a statement that frees x does so in any case, or tests x for nil and nothing else.
func tests(s ast.Stmt, x ast.Expr) bool {
	i, ok := s.(*ast.IfStmt)
	if !ok {
		return true
	}
	b := i.Cond.(*ast.BinaryExpr)
	_, plain := i.Body.List[0].(*ast.ExprStmt)
	return plain && b.Op == token.NEQ && otherThan(b) == nil && types.ExprString(b.X) == types.ExprString(x)
}

// base returns the variable that e, x or x.f.g or x[0].f, begins with; nil if e is something else.
func base(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			if n, ok := x.Index.(*ast.BasicLit); !ok || n.Kind != token.INT {
				return nil
			}
			e = x.X
		default:
			return nil
		}
	}
}
