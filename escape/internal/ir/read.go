package ir

import (
	"go/ast"
	"go/types"
	"slices"
)

// This file is about reads that go/ssa drops: _ = x, and x of y = x where nobody looks at y.
// A reader of the source sees them, so they are marks that read.

// reads returns the variables from outside that a statement reads, where SSA may have nothing
// of that: the heads of compound statements among them, but not what a loop does behind each
// turn.
func (m *marker) reads(s ast.Stmt) []*types.Var {
	return slices.DeleteFunc(m.read(s), func(v *types.Var) bool { return within(v, s) })
}

func (m *marker) read(s ast.Stmt) []*types.Var {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return m.copies(s.Rhs...)
	case *ast.DeclStmt:
		var out []*types.Var
		if d, ok := s.Decl.(*ast.GenDecl); ok {
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					out = append(out, m.copies(v.Values...)...)
				}
			}
		}
		return out
	case *ast.IfStmt:
		return m.read(s.Init)
	case *ast.ForStmt:
		return m.read(s.Init)
	case *ast.RangeStmt:
		if _, number := m.in.Info.TypeOf(s.X).Underlying().(*types.Basic); !number {
			return m.copies(s.X)
		}
	case *ast.SwitchStmt:
		return append(m.read(s.Init), m.copies(s.Tag)...)
	case *ast.TypeSwitchStmt:
		return m.read(s.Init)
	case *ast.LabeledStmt:
		return m.read(s.Stmt)
	}
	return nil
}

// readsBehind returns the variables that a loop reads behind each turn. Nothing can stand
// there, so that they count as read where the next turn begins, and behind the loop.
func (m *marker) readsBehind(s ast.Stmt) []*types.Var {
	for {
		l, ok := s.(*ast.LabeledStmt)
		if !ok {
			break
		}
		s = l.Stmt
	}
	f, ok := s.(*ast.ForStmt)
	if !ok || f.Post == nil {
		return nil
	}
	return slices.DeleteFunc(m.read(f.Post), func(v *types.Var) bool { return within(v, f) })
}

// copies returns the local variables that expressions are, and no more than these.
func (m *marker) copies(list ...ast.Expr) []*types.Var {
	var out []*types.Var
	for _, e := range list {
		for e != nil {
			x := ast.Unparen(e)
			c, ok := x.(*ast.CallExpr)
			if !ok || len(c.Args) != 1 || !m.in.Info.Types[c.Fun].IsType() {
				e = x
				break
			}
			e = c.Args[0] // a conversion, perhaps to the same type
		}
		id, ok := e.(*ast.Ident)
		if !ok {
			continue
		}
		v, ok := m.in.Info.Uses[id].(*types.Var)
		if ok && v.Parent() != v.Pkg().Scope() && refers(v.Type()) && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// refers reports whether a value of type t may lead to memory, be it as a number.
func refers(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return !ok || b.Info()&(types.IsBoolean|types.IsFloat|types.IsComplex) == 0
}
