package escape

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
func (d *decider) evaluatedBefore(stmt ast.Stmt, call *ast.CallExpr) ([]ast.Expr, bool) {
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
		if lit, isLit := e.(*ast.CompositeLit); isLit && call.Pos() < lit.End() && d.p.isMap(lit) {
			ok = ok && d.entriesStay(lit, call.Pos())
		}
		if e.End() > call.Pos() {
			_, isLit := e.(*ast.FuncLit)
			return !isLit
		}
		move, stays := d.movesAlong(e)
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
func (d *decider) movesAlong(e ast.Expr) (move, stays bool) {
	if d.p.info.Types[e].Value != nil {
		return false, true
	}
	switch x := e.(type) {
	case *ast.CallExpr:
		if d.p.info.Types[x.Fun].IsType() {
			return false, !d.p.copies(x) || d.f.settles(x.Args[0])
		}
		_, isTuple := d.p.typeOf(x).(*types.Tuple)
		return !isTuple, !isTuple
	case *ast.UnaryExpr:
		return x.Op == token.ARROW, x.Op != token.NOT || d.f.settles(x.X)
	case *ast.BinaryExpr:
		switch x.Op {
		case token.LAND, token.LOR:
			if d.f.settles(x) && !calls(x) {
				return false, true
			}
			return true, types.Identical(d.p.typeOf(x), types.Typ[types.Bool]) // the name would have this type
		case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
			return false, d.f.settles(x)
		}
	case *ast.TypeAssertExpr:
		return false, false
	case *ast.SliceExpr:
		return false, d.f.settles(x)
	case *ast.CompositeLit:
		return false, d.f.settles(x)
	}
	return false, true
}

// entriesStay reports whether the entries of a map literal that stand before pos mean the
// same behind the call there: a map is filled entry by entry.
func (d *decider) entriesStay(lit *ast.CompositeLit, pos token.Pos) bool {
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		for _, x := range []ast.Expr{kv.Key, kv.Value} {
			if x.End() > pos {
				return true // it has the call in it
			}
			if !d.f.settles(x) {
				return false
			}
		}
	}
	return true
}

// settles reports whether no call can change what e is, besides those in e, which move
// along: it reads nothing but constants and variables that only this function has, and
// these it can assign to in other statements alone.
func (f *fn) settles(e ast.Expr) bool {
	p := f.p
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return p.info.Types[n.Fun].IsType()
		case *ast.FuncLit:
			return false
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				return false
			}
		case *ast.StarExpr, *ast.TypeAssertExpr:
			ok = ok && p.info.Types[n.(ast.Expr)].IsType()
		case *ast.IndexExpr:
			_, isArray := p.under(n.X).(*types.Array)
			b, isString := p.under(n.X).(*types.Basic)
			ok = ok && (isArray || isString && b.Info()&types.IsString != 0 || !p.info.Types[n].IsValue())
		case *ast.SliceExpr:
			if _, isArray := p.under(n.X).(*types.Array); isArray {
				return false // its address
			}
		case *ast.SelectorExpr:
			if sel := p.info.Selections[n]; sel != nil && sel.Indirect() {
				ok = false
			}
			if v, isVar := p.info.Uses[n.Sel].(*types.Var); isVar && !v.IsField() {
				ok = false // of another package
			}
		case *ast.Ident:
			if v, isVar := p.info.Uses[n].(*types.Var); isVar && !v.IsField() {
				ok = ok && within(f.node, v.Pos()) && !p.vars().Shared(v)
			}
		}
		return ok
	})
	return ok
}

// copies reports whether the conversion x makes a copy of what it converts, or an array.
func (p *pkg) copies(x *ast.CallExpr) bool {
	if len(x.Args) != 1 {
		return true
	}
	_, fromSlice := p.under(x.Args[0]).(*types.Slice)
	_, toSlice := p.under(x).(*types.Slice)
	return fromSlice != toSlice
}

func (p *pkg) under(e ast.Expr) types.Type {
	t := p.typeOf(e)
	if t == nil {
		return nil
	}
	return t.Underlying()
}

func (p *pkg) isMap(e ast.Expr) bool {
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
