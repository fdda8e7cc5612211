package escape

// Literals that only look at a variable they capture: whoever has such a literal can
// use the buffer as long as he has it, and no more. It is a view of the buffer, like a
// slice of it, and need not be called here only.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// doesMore lists the variables that lit does more with than to look at them.
func (p *pkg) doesMore(lit *ast.FuncLit) map[*types.Var]bool {
	more := map[*types.Var]bool{}
	var path []ast.Node
	ast.Inspect(lit, func(n ast.Node) bool {
		if n == nil {
			path = path[:len(path)-1]
			return true
		}
		path = append(path, n)
		if id, ok := n.(*ast.Ident); ok {
			v, ok := p.info.Uses[id].(*types.Var)
			if ok && !v.IsField() && !more[v] && p.vars().Fixed(v) && !p.peeks(path, lit) {
				more[v] = true
			}
		}
		return true
	})
	return more
}

// peeks reports whether the expression that ends path, below lit, is only looked at: it is
// the operand of calls that borrow it, or whose result is only looked at; or it is handed
// to a function that lit is given, or returned, so that it is for the caller to see.
func (p *pkg) peeks(path []ast.Node, lit *ast.FuncLit) bool {
	for _, n := range path[1:] {
		switch n.(type) {
		case *ast.FuncLit, *ast.GoStmt, *ast.DeferStmt:
			return false // it may come later
		}
	}
	cur := path[len(path)-1]
	for i := len(path) - 2; i >= 0; i-- {
		switch n := path[i].(type) {
		case *ast.ParenExpr:
		case *ast.SelectorExpr:
			call, ok := path[i-1].(*ast.CallExpr)
			sel := p.info.Selections[n]
			if !ok || call.Fun != ast.Expr(n) || sel == nil || sel.Kind() != types.MethodVal || len(sel.Index()) != 1 {
				return false
			}
			m := sel.Obj().(*types.Func)
			if !p.borrows(m) {
				return false
			}
			if !p.summaryOf(m.Origin()).returned(-1) {
				return true
			}
			cur = call
			i--
			continue
		case *ast.CallExpr:
			switch leads, ok := p.lookedAtBy(n, cur, lit); {
			case !ok:
				return false
			case !leads:
				return true
			}
		case *ast.BinaryExpr:
			return n.Op == token.EQL || n.Op == token.NEQ
		case *ast.ExprStmt:
			return true
		case *ast.ReturnStmt:
			res := p.typeOf(lit).(*types.Signature).Results()
			for k := range res.Len() {
				if len(n.Results) == res.Len() && n.Results[k] != cur {
					continue
				}
				if isError(res.At(k).Type()) {
					return false // which nobody takes for a way to a buffer
				}
			}
			return true
		default:
			return false
		}
		cur = path[i]
	}
	return false
}

// lookedAtBy reports whether call only looks at its operand arg, or at the function arg
// that it calls, and whether its results lead there.
func (p *pkg) lookedAtBy(call *ast.CallExpr, arg ast.Node, lit *ast.FuncLit) (leads, ok bool) {
	fun := ast.Unparen(call.Fun)
	if tv := p.info.Types[fun]; tv.IsType() || call.Ellipsis.IsValid() {
		return false, false
	}
	given := func(e ast.Expr) bool { // a parameter of lit, as it was given
		id, ok := ast.Unparen(e).(*ast.Ident)
		if !ok {
			return false
		}
		v, ok := p.info.Uses[id].(*types.Var)
		return ok && v.Pos() >= lit.Type.Pos() && v.Pos() < lit.Type.End() && p.vars().Fixed(v)
	}
	if call.Fun == arg { // what it calls may give its parts to the functions that it is given
		for _, a := range call.Args {
			if p.takesBuffers(p.typeOf(a)) && !given(a) {
				return false, false
			}
		}
		return !p.plain(p.typeOf(call)), true
	}
	if id, ok := fun.(*ast.Ident); ok {
		if b, ok := p.info.Uses[id].(*types.Builtin); ok {
			return false, b.Name() == "len" || b.Name() == "cap"
		}
	}
	if given(fun) {
		return false, p.plain(p.typeOf(call))
	}
	f := p.funcOf(fun)
	if sel, ok := fun.(*ast.SelectorExpr); ok && f == nil {
		if s := p.info.Selections[sel]; s != nil && s.Kind() == types.MethodVal {
			f = s.Obj().(*types.Func)
		}
	}
	i := slices.IndexFunc(call.Args, func(e ast.Expr) bool { return e == arg })
	if f == nil || i < 0 {
		return false, false
	}
	s := p.summaryOf(f.Origin())
	e := s.arg(min(i, f.Signature().Params().Len()-1))
	return s.returned(i), e.borrow() && !e.Writes
}

// borrows reports whether method m only looks at its receiver: a method value of it does.
func (p *pkg) borrows(m *types.Func) bool {
	e := p.summaryOf(m.Origin()).arg(-1)
	return e.borrow() && !e.Writes
}

func isFunc(t types.Type) bool {
	_, ok := t.Underlying().(*types.Signature)
	return ok
}

// takesBuffers reports whether t is a function that can be given what leads to a buffer.
func (p *pkg) takesBuffers(t types.Type) bool {
	sig, ok := t.Underlying().(*types.Signature)
	if !ok {
		return false
	}
	for i := range sig.Params().Len() {
		if !p.plain(sig.Params().At(i).Type()) {
			return true
		}
	}
	return false
}
