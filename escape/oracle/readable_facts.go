package main

import (
	"go/ast"
	"go/token"
	"maps"
)

// What a reader knows of a variable on a path: that it is nil or false, or that it is not. An error that was
// wrapped is not nil, and a variable that is given another's value is what that is. Of an interface that is
// given a pointer it is known that it is not nil where the pointer is not; else nothing, as readers take it
// for nil where the pointer is.
type facts map[*ast.Object]bool

// A holding says what is known of a condition.
type holding uint8

const (
	notKnown holding = iota
	falseHere
	trueHere
)

func holdsIf(b bool) holding {
	if b {
		return trueHere
	}
	return falseHere
}

// tested returns the variable that a condition tests, and whether that is true, or not nil, where the
// condition holds.
func tested(cond ast.Expr) (v *ast.Object, is bool) {
	switch x := ast.Unparen(cond).(type) {
	case *ast.Ident:
		return x.Obj, true
	case *ast.UnaryExpr:
		if v, is := tested(x.X); x.Op == token.NOT {
			return v, !is
		}
	case *ast.BinaryExpr:
		id, ok := x.X.(*ast.Ident)
		if null, isNil := x.Y.(*ast.Ident); ok && isNil && null.Name == "nil" && (x.Op == token.NEQ || x.Op == token.EQL) {
			return id.Obj, x.Op == token.NEQ
		}
	}
	return nil, false
}

// of says whether a condition holds.
func (k facts) of(cond ast.Expr) holding {
	if b, ok := ast.Unparen(cond).(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) {
		x, y, decides := k.of(b.X), k.of(b.Y), falseHere
		if b.Op == token.LOR {
			decides = trueHere
		}
		switch {
		case x == decides || y == decides:
			return decides
		case x == y: // not known, or both the other
			return x
		}
		return notKnown
	}
	v, is := tested(cond)
	if was, ok := k[v]; ok && v != nil {
		return holdsIf(was == is)
	}
	return notKnown
}

func (k facts) copy() facts {
	c := facts{}
	maps.Copy(c, k)
	return c
}

// and returns what is known on both of two paths.
func (k facts) and(other facts) facts {
	both := k.copy()
	maps.DeleteFunc(both, func(v *ast.Object, is bool) bool { was, ok := other[v]; return !ok || was != is })
	return both
}

// learn returns what is known where a condition holds, or does not.
func (r *orderly) learn(k facts, cond ast.Expr, holds bool) facts {
	if v, is := tested(cond); v != nil && !r.loose[v] {
		k = k.copy()
		k[v] = is == holds
	}
	return k
}

// after returns what is known behind a statement.
func (r *orderly) after(s ast.Stmt, k facts) facts {
	if as, ok := s.(*ast.AssignStmt); ok && len(as.Lhs) == len(as.Rhs) {
		was := k
		k = k.copy()
		for i, x := range as.Lhs {
			if id, ok := x.(*ast.Ident); ok {
				delete(k, id.Obj)
				if is := was.value(as.Rhs[i], as.Tok); is != notKnown && !r.loose[id.Obj] {
					k[id.Obj] = is == trueHere
				}
			}
		}
		return k
	}
	if d, ok := s.(*ast.DeclStmt); ok {
		k = k.copy()
		for _, spec := range d.Decl.(*ast.GenDecl).Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && len(v.Values) == 0 {
				for _, id := range v.Names {
					k[id.Obj] = false // of others than these it is not asked
				}
			}
		}
		return k
	}
	some := false
	eachAssigned(s, func(id *ast.Ident) { some = true })
	if some {
		k = k.copy()
		eachAssigned(s, func(id *ast.Ident) { delete(k, id.Obj) })
	}
	return k
}

// value says what a variable is known to be that is given x.
func (k facts) value(x ast.Expr, tok token.Token) holding {
	switch x := x.(type) {
	case *ast.Ident:
		switch {
		case x.Obj == nil && (x.Name == "nil" || x.Name == "false"):
			return falseHere
		case x.Obj == nil && x.Name == "true":
			return trueHere
		case tok == token.DEFINE || k.of(x) == trueHere: // else it may hold a nil pointer of another type
			return k.of(x)
		}
	case *ast.CallExpr:
		if sel, ok := x.Fun.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Obj == nil && (pkg.Name+"."+sel.Sel.Name == "fmt.Errorf" || pkg.Name+"."+sel.Sel.Name == "errors.New") {
				return trueHere
			}
		}
	}
	return notKnown
}
