package proof

// What happens to the variables of a declaration, on syntax: hoist.go asks.

import (
	"go/ast"
	"go/token"
	"go/types"
)

// variables are those of a declaration to which more happens than that they are made and read, and labels to
// which more leads than what stands in front of them.
type variables struct {
	shared  map[types.Object]bool // a call might change them, or a literal that captures them
	written map[types.Object]bool // assigned again, or with their address taken, or a part of them
	goals   map[types.Object]bool // labels that a goto leads to
}

// variablesOf collects the variables of a declaration.
func variablesOf(decl ast.Decl, info *types.Info) variables {
	vars := variables{map[types.Object]bool{}, map[types.Object]bool{}, map[types.Object]bool{}}
	writes := func(e ast.Expr, elsewhere bool) {
		if v := rootOf(e, info); v != nil {
			vars.written[v] = true
			vars.shared[v] = vars.shared[v] || elsewhere
		}
	}
	captured := map[types.Object]bool{}
	var lits []*ast.FuncLit
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			lits = append(lits, n)
			ast.Inspect(n.Body, visit)
			lits = lits[:len(lits)-1]
			return false
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				writes(n.X, true)
			}
		case *ast.SliceExpr:
			if inPlace(info.TypeOf(n.X)) {
				writes(n.X, true)
			}
		case *ast.SelectorExpr:
			if s := info.Selections[n]; s != nil && s.Kind() == types.MethodVal && pointerMethod(s) {
				if _, already := info.TypeOf(n.X).Underlying().(*types.Pointer); !already {
					writes(n.X, true)
				}
			}
		case *ast.Ident:
			v, ok := info.Uses[n].(*types.Var)
			if ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
				vars.shared[v] = true
			}
			for _, l := range lits {
				if ok && v.Pos() < l.Pos() {
					captured[v] = true
				}
			}
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				writes(l, false)
			}
		case *ast.IncDecStmt:
			writes(n.X, false)
		case *ast.BranchStmt:
			if n.Tok == token.GOTO {
				vars.goals[info.Uses[n.Label]] = true
			}
		case *ast.RangeStmt:
			writes(n.Key, false)
			writes(n.Value, false)
		}
		return true
	}
	ast.Inspect(decl, visit)
	for v := range captured {
		vars.shared[v] = vars.shared[v] || vars.written[v]
	}
	return vars
}

// rootOf returns the variable that e is, or is a part of; nil if that is something else.
func rootOf(e ast.Expr, info *types.Info) types.Object {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return info.Uses[x]
		case *ast.ParenExpr:
			e = x.X
		case *ast.SelectorExpr:
			if s := info.Selections[x]; s != nil && s.Indirect() {
				return nil
			}
			e = x.X
		case *ast.IndexExpr:
			if !inPlace(info.TypeOf(x.X)) {
				return nil
			}
			e = x.X
		default:
			return nil
		}
	}
}

// inPlace reports whether the elements of a value of type t are parts of it: it is an array, or may be.
func inPlace(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Array, *types.Interface:
		return true
	}
	return false
}
