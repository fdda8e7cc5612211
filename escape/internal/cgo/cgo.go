// Package cgo reads what the cgo tool makes of a call of C where a pointer is to be looked at first. Of
// f(x, y) it makes a literal that is called at once,
//
//	func() T { _cgo0 := x; _cgo1 := y; _cgoCheckPointer(_cgo0, nil); return f(_cgo0, _cgo1) }()
//
// and of defer f(x, y) one that returns what is deferred:
//
//	defer func() func() {
//		_cgo0 := x; _cgo1 := y; return func() { _cgoCheckPointer(_cgo0, nil); f(_cgo0, _cgo1) }
//	}()()
//
// Both evaluate x and y where they stand, in that order, and nobody captures them.
package cgo

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// An Arg is an operand of the call in the text.
type Arg struct {
	Expr ast.Expr
	As   *ast.CallExpr // its conversion, of one of cgo's variables in place of it; nil if it has none
}

// Plain returns the call of C that a call is in the text, with its operands; nil if cgo made nothing else of
// it, or something that is not known here.
func Plain(info *types.Info, c *ast.CallExpr) (call *ast.CallExpr, args []Arg) {
	if len(c.Args) > 0 {
		return nil, nil
	}
	later := false
	if made, ok := c.Fun.(*ast.CallExpr); ok && len(made.Args) == 0 {
		c, later = made, true
	}
	lit, ok := c.Fun.(*ast.FuncLit)
	if !ok {
		return nil, nil
	}
	given := map[types.Object]Arg{}
	list := lit.Body.List
	for ; len(list) > 0; list = list[1:] {
		id, value := set(list[0])
		if id == nil {
			break
		}
		a := resolve(info, value, given)
		if !strings.HasPrefix(id.Name, "_cgo") || mentions(info, a.Expr, given) {
			return nil, nil
		}
		given[info.Defs[id]] = a
	}
	if later {
		if len(list) != 1 {
			return nil, nil
		}
		inner, ok := result(list[0]).(*ast.FuncLit)
		if !ok {
			return nil, nil
		}
		list = inner.Body.List
	}
	for len(list) > 1 && checks(list[0]) {
		list = list[1:]
	}
	if len(list) != 1 {
		return nil, nil
	}
	call, ok = result(list[0]).(*ast.CallExpr)
	if !ok || len(given) == 0 || len(call.Args) != len(given) {
		return nil, nil
	}
	for _, x := range call.Args {
		id, ok := x.(*ast.Ident)
		if !ok {
			return nil, nil
		}
		a, ok := given[info.Uses[id]]
		if !ok {
			return nil, nil
		}
		args = append(args, a)
	}
	return call, args
}

// resolve returns what one of cgo's variables is given. That may be another one, or that as another type:
// what that was given is this one's then, and nobody else's.
func resolve(info *types.Info, e ast.Expr, given map[types.Object]Arg) Arg {
	take := func(e ast.Expr) (a Arg, ok bool) {
		if id, is := ast.Unparen(e).(*ast.Ident); is {
			a, ok = given[info.Uses[id]]
			delete(given, info.Uses[id])
		}
		return a, ok
	}
	if a, ok := take(e); ok {
		return a
	}
	if c, ok := e.(*ast.CallExpr); ok && len(c.Args) == 1 && info.Types[c.Fun].IsType() {
		if a, ok := take(c.Args[0]); ok && a.As == nil {
			return Arg{a.Expr, c}
		}
	}
	return Arg{Expr: e}
}

// set returns the variable that a statement declares, and what it gives it; nil if it does anything else.
func set(s ast.Stmt) (*ast.Ident, ast.Expr) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		if id, ok := s.Lhs[0].(*ast.Ident); ok && s.Tok == token.DEFINE && len(s.Lhs) == 1 {
			return id, s.Rhs[0]
		}
	case *ast.DeclStmt:
		g, ok := s.Decl.(*ast.GenDecl)
		if !ok || len(g.Specs) != 1 {
			break
		}
		if v, ok := g.Specs[0].(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
			return v.Names[0], v.Values[0]
		}
	}
	return nil, nil
}

// result returns what a statement evaluates or returns, if that is all; else nil.
func result(s ast.Stmt) ast.Expr {
	switch s := s.(type) {
	case *ast.ExprStmt:
		return s.X
	case *ast.ReturnStmt:
		if len(s.Results) == 1 {
			return s.Results[0]
		}
	}
	return nil
}

// checks reports whether a statement only looks at a pointer for cgo.
func checks(s ast.Stmt) bool {
	c, ok := result(s).(*ast.CallExpr)
	if !ok {
		return false
	}
	id, ok := c.Fun.(*ast.Ident)
	return ok && id.Name == "_cgoCheckPointer"
}

// mentions reports whether an expression names one of some variables.
func mentions(info *types.Info, e ast.Expr, some map[types.Object]Arg) (yes bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			_, is := some[info.Uses[id]]
			yes = yes || is
		}
		return !yes
	})
	return yes
}
