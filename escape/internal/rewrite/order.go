package rewrite

// What is evaluated before a call that moves in front of its statement. Calls, receives
// and binary logical operations have an order that the language fixes: those before the
// call move along. For all else it fixes none, and a variable that is read beside a call
// is read behind it; but some operations have their place all the same with the compilers
// there are, which copy what they make: where a call may change what such an operation
// reads, nothing moves.

import (
	"go/ast"
	"go/token"
	"go/types"
)

// evaluatedBefore lists the calls, receives and logical operations of stmt that are
// evaluated before call and are not part of it; false if one of them cannot move, or
// something else would be evaluated behind call instead of before.
func (f *Func) evaluatedBefore(stmt ast.Stmt, call *ast.CallExpr) ([]ast.Expr, bool) {
	var out []ast.Expr
	ok := true
	ast.Inspect(stmt, func(n ast.Node) bool {
		e, isExpr := n.(ast.Expr)
		if !isExpr {
			return true
		}
		if e.Pos() >= call.Pos() && e.End() <= call.End() {
			return false // a part of it
		}
		if e.Pos() >= call.End() {
			return false
		}
		if lit, isLit := e.(*ast.CompositeLit); isLit && call.Pos() < lit.End() && f.isMap(lit) {
			ok = ok && f.entriesStay(lit, call.Pos())
		}
		if e.End() > call.Pos() {
			_, isLit := e.(*ast.FuncLit)
			return !isLit
		}
		move, stays := f.movesAlong(e)
		ok = ok && stays
		if move {
			out = append(out, e)
			return false
		}
		_, isLit := e.(*ast.FuncLit)
		return !isLit
	})
	return out, ok
}

// movesAlong reports whether e, which is evaluated before the call that moves, must move
// along; stays is false if it cannot stay where it is either.
func (f *Func) movesAlong(e ast.Expr) (move, stays bool) {
	if f.Info.Types[e].Value != nil {
		return false, true
	}
	switch x := e.(type) {
	case *ast.CallExpr:
		if f.Info.Types[x.Fun].IsType() {
			return false, !f.copies(x) || f.settles(x.Args[0])
		}
		_, isTuple := f.typeOf(x).(*types.Tuple)
		return !isTuple, !isTuple
	case *ast.UnaryExpr:
		return x.Op == token.ARROW, x.Op != token.NOT || f.settles(x.X)
	case *ast.BinaryExpr:
		switch x.Op {
		case token.LAND, token.LOR:
			if f.settles(x) && !calls(x) {
				return false, true
			}
			return true, types.Identical(f.typeOf(x), types.Typ[types.Bool]) // the name would have this type
		case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
			return false, f.settles(x)
		}
	case *ast.TypeAssertExpr:
		return false, false
	case *ast.SliceExpr:
		return false, f.settles(x)
	case *ast.CompositeLit:
		return false, f.settles(x)
	}
	return false, true
}

// entriesStay reports whether the entries of a map literal that stand before pos mean the
// same behind the call there: a map is filled entry by entry.
func (f *Func) entriesStay(lit *ast.CompositeLit, pos token.Pos) bool {
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		for _, x := range []ast.Expr{kv.Key, kv.Value} {
			if x.End() > pos {
				return true // it has the call in it
			}
			if !f.settles(x) {
				return false
			}
		}
	}
	return true
}

// settles reports whether no call can change what e is, besides those in e, which move
// along: it reads nothing but constants and variables that only this function has, and
// these it can assign to in other statements alone.
func (f *Func) settles(e ast.Expr) bool {
	p := f.Package
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return p.Info.Types[n.Fun].IsType()
		case *ast.FuncLit:
			return false
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				return false
			}
		case *ast.StarExpr, *ast.TypeAssertExpr:
			ok = ok && p.Info.Types[n.(ast.Expr)].IsType()
		case *ast.IndexExpr:
			_, isArray := p.under(n.X).(*types.Array)
			b, isString := p.under(n.X).(*types.Basic)
			ok = ok && (isArray || isString && b.Info()&types.IsString != 0 || !p.Info.Types[n].IsValue())
		case *ast.SliceExpr:
			if _, isArray := p.under(n.X).(*types.Array); isArray {
				return false // its address
			}
		case *ast.SelectorExpr:
			if sel := p.Info.Selections[n]; sel != nil && sel.Indirect() {
				ok = false
			}
			if v, isVar := p.Info.Uses[n.Sel].(*types.Var); isVar && !v.IsField() {
				ok = false // of another package
			}
		case *ast.Ident:
			if v, isVar := p.Info.Uses[n].(*types.Var); isVar && !v.IsField() {
				ok = ok && within(f.Node, v.Pos()) && !p.Vars.Shared(v)
			}
		}
		return ok
	})
	return ok
}

// copies reports whether the conversion x makes a copy of what it converts, or an array.
func (p *Package) copies(x *ast.CallExpr) bool {
	if len(x.Args) != 1 {
		return true
	}
	_, fromSlice := p.under(x.Args[0]).(*types.Slice)
	_, toSlice := p.under(x).(*types.Slice)
	return fromSlice != toSlice
}

func (p *Package) isMap(e ast.Expr) bool {
	_, ok := p.under(e).(*types.Map)
	return ok
}

// calls reports whether a call is part of e.
func calls(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		_, isCall := n.(*ast.CallExpr)
		found = found || isCall
		return !found
	})
	return found
}

// HasLiteral reports whether a function literal is part of e.
func HasLiteral(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		_, lit := n.(*ast.FuncLit)
		found = found || lit
		return !found
	})
	return found
}

func within(n ast.Node, pos token.Pos) bool { return n.Pos() <= pos && pos < n.End() }
