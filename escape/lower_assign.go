package escape

// Source to flow form: assignments.

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// tuple lowers an expression in a context that takes n values.
func (l *lower) tuple(e ast.Expr, n int) []*value {
	vals := l.exprN(e)
	if a, ok := ast.Unparen(e).(*ast.TypeAssertExpr); ok && n == 2 && len(vals) == 1 {
		switch l.matches(concreteType(vals[0]), []ast.Expr{a.Type}) {
		case yes:
			return append(vals, l.constBool(true))
		case no:
			return append(vals, l.constBool(false))
		}
	}
	for len(vals) < n { // comma, ok
		vals = append(vals, l.emit(opUnknown, types.Typ[types.Bool], e.Pos()))
	}
	return vals
}

func (l *lower) assignStmt(s *ast.AssignStmt) {
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		a := l.expr(s.Lhs[0])
		b := l.expr(s.Rhs[0])
		l.mayPanic(s.Pos()) // a division
		l.assign(s.Lhs[0], l.emit(opPure, l.p.typeOf(s.Lhs[0]), s.Pos(), a, b))
		return
	}
	if id, ok := ast.Unparen(s.Lhs[0]).(*ast.Ident); ok {
		if v, ok := l.p.info.ObjectOf(id).(*types.Var); ok && l.apart(v) {
			l.listInto(l.declareAgain(v), ast.Unparen(s.Rhs[0]).(*ast.CompositeLit))
			return
		}
	}
	var vals []*value
	if len(s.Rhs) == 1 && len(s.Lhs) > 1 {
		vals = l.tuple(s.Rhs[0], len(s.Lhs))
	} else {
		for _, e := range s.Rhs {
			vals = append(vals, l.expr(e))
		}
	}
	l.defineAll(s.Lhs, vals, s.Tok)
}

// defineAll stores vals where lhs says. What the operands on the left denote is found
// before the first of them is assigned: in "p, p.next = q, nil" it is the old p.
func (l *lower) defineAll(lhs []ast.Expr, vals []*value, tok token.Token) {
	if len(lhs) == 1 || tok == token.DEFINE {
		for i, e := range lhs {
			l.define(e, vals[i].find(), tok)
		}
		return
	}
	var stores []func(v *value)
	for _, e := range lhs {
		stores = append(stores, l.target(e))
	}
	for i := range lhs {
		stores[i](vals[i].find())
	}
}

func (l *lower) define(lhs ast.Expr, v *value, tok token.Token) {
	if id, ok := lhs.(*ast.Ident); ok {
		if id.Name == "_" {
			l.emit(opDiscard, nil, id.Pos(), v)
			return
		}
		if tok == token.DEFINE {
			if o, ok := l.p.info.Defs[id].(*types.Var); ok {
				l.writeRoot(l.declareAgain(o), v, id.Pos())
				l.fix(o, v)
				return
			}
		}
	}
	l.assign(lhs, v)
}

// assign stores v where lhs says.
func (l *lower) assign(lhs ast.Expr, v *value) { l.target(lhs)(v) }

// target evaluates the operands of lhs, and returns what stores a value there.
func (l *lower) target(lhs ast.Expr) func(v *value) {
	lhs = ast.Unparen(lhs)
	if id, ok := lhs.(*ast.Ident); ok && id.Name == "_" {
		return func(v *value) { l.emit(opDiscard, nil, id.Pos(), v) }
	}
	if r, path, ok := l.placeOf(lhs); ok {
		return func(v *value) { l.setPart(lhs, r, path, v) }
	}
	l.mayPanic(lhs.Pos())
	switch x := lhs.(type) {
	case *ast.Ident:
		return func(v *value) {
			l.emit(opStore, nil, x.Pos(), v).note = report.Note{Kind: report.InVariable, Name: x.Name}
		}
	case *ast.SelectorExpr:
		base := l.expr(x.X)
		return func(v *value) {
			s := l.emit(opStore, nil, x.Pos(), v, base)
			of := types.TypeString(l.p.typeOf(x.X), l.p.qualifier)
			s.note = report.Note{Kind: report.InField, Name: x.Sel.Name, Of: of}
			if l.p.info.Selections[x] == nil {
				s.note = report.Note{Kind: report.InVariable, Name: x.Sel.Name}
			}
			s.expr = x
		}
	case *ast.IndexExpr:
		if _, isArray := l.p.typeOf(x.X).Underlying().(*types.Array); isArray {
			if r, path, ok := l.placeOf(x.X); ok && l.isLeaf(r, path) {
				l.expr(x.Index)
				return func(v *value) {
					// An array is a value: with another element it is another array.
					old := l.readUnder(r, path, l.p.typeOf(x.X), x.Pos())
					put := l.emit(opAppend, l.p.typeOf(x.X), x.Pos(), old, v)
					put.note.Kind = report.Put
					l.writeUnder(r, path, put, x.Pos())
				}
			}
		}
		base := l.expr(x.X)
		l.mapKey(l.p.typeOf(x.X), base, l.expr(x.Index))
		return func(v *value) {
			s := l.emit(opStore, nil, x.Pos(), v, base)
			s.note = report.Note{Kind: report.InElement, Of: types.TypeString(l.p.typeOf(x.X), l.p.qualifier)}
			s.expr = x
		}
	case *ast.StarExpr:
		base := l.expr(x.X)
		return func(v *value) {
			s := l.emit(opStore, nil, x.Pos(), v, base)
			s.note.Kind = report.InPointee
			s.expr = x
		}
	}
	return func(v *value) { l.emit(opStore, nil, lhs.Pos(), v).note.Kind = report.Somewhere }
}

// setPart stores v in the part of r at path, which lhs denotes.
func (l *lower) setPart(lhs ast.Expr, r *root, path []int, v *value) {
	for _, p := range r.leaves {
		if len(p.path) < len(path) && hasPrefix(path, p.path) {
			// Below a leaf: the leaf is changed in place.
			old := l.readPlace(p)
			u := l.emit(opStore, nil, lhs.Pos(), v, old)
			u.note = report.Note{Kind: report.InPart, Of: r.name}
			return
		}
	}
	l.writeUnder(r, path, v, lhs.Pos())
}
