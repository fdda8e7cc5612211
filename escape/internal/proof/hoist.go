package proof

// A hoist evaluates an expression earlier than the statement that it stands in. That is
// right if nothing that the statement evaluates before it could affect it or see it, and
// if its name means nothing else. Go leaves open in which order a variable is read and a
// function is called; go/ssa decides it, and so does the compiler. Where a hoist could
// make a difference there, it is withheld.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// hoistFault returns why h is not shown; "" if it is. shared are the variables that a call
// might change.
func (c *checker) hoistFault(h *hoist, shared map[types.Object]bool) string {
	if len(h.read) != len(h.names) {
		return "a name that was made is not read just once"
	}
	ours := map[*ast.Ident]bool{}
	for i, id := range h.read {
		if c.info.Uses[id] == nil || c.info.Uses[id] != c.info.Defs[h.names[i]] {
			return "the names are not read in the order in which they are made"
		}
		ours[id] = true
	}
	if _, ok := h.stmt.(*ast.LabeledStmt); ok {
		return "a value is computed before a label"
	}
	if slices.ContainsFunc(h.subs, untypedShift) {
		return "the type of a shift comes from where it stands"
	}
	last := h.read[len(h.read)-1]
	why := ""
	ast.Inspect(h.stmt, func(n ast.Node) bool {
		if n == nil || why != "" || n.Pos() > last.Pos() {
			return false
		}
		switch x := n.(type) {
		case *ast.CallExpr:
			if last.End() > x.End() && !c.info.Types[x.Fun].IsType() {
				why = "a call comes before the value that is computed first"
			}
		case *ast.IndexExpr, *ast.IndexListExpr, *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr:
			if _, fn := c.info.TypeOf(x.(ast.Expr)).(*types.Signature); !fn && !c.info.Types[x.(ast.Expr)].IsType() {
				why = "what comes before the value that is computed first may panic"
			}
		case *ast.UnaryExpr:
			if x.Op == token.ARROW || x.Op == token.AND {
				why = "a receive or an address comes before the value that is computed first"
			}
		case *ast.BinaryExpr:
			if x.Op == token.QUO || x.Op == token.REM {
				why = "a division comes before the value that is computed first"
			}
		case *ast.FuncLit:
			return false
		case *ast.Ident:
			if !ours[x] && shared[c.info.Uses[x]] {
				why = "variable " + x.Name + ", which others may change, is read before the value that is computed first"
			}
		}
		return true
	})
	return why
}

// untypedShift reports whether e has a shift outside of calls, whose type may depend on
// what it is assigned to.
func untypedShift(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CallExpr, *ast.FuncLit:
			return false
		case *ast.BinaryExpr:
			found = found || x.Op == token.SHL || x.Op == token.SHR
		}
		return true
	})
	return found
}

// sharedVars collects the variables that a call might change: those of the package, those
// with their address taken, those of a function around a literal.
func sharedVars(decl ast.Decl, info *types.Info) map[types.Object]bool {
	shared := map[types.Object]bool{}
	add := func(e ast.Expr) {
		if id := base(ast.Unparen(e)); id != nil {
			shared[info.Uses[id]] = true
		}
	}
	captured, assigned := map[types.Object]bool{}, map[types.Object]bool{}
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
				add(n.X)
			}
		case *ast.SelectorExpr:
			if s := info.Selections[n]; s != nil && s.Kind() == types.MethodVal {
				_, ptr := s.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer)
				if _, already := info.TypeOf(n.X).Underlying().(*types.Pointer); ptr && !already {
					add(n.X)
				}
			}
		case *ast.Ident:
			v, ok := info.Uses[n].(*types.Var)
			if ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
				shared[v] = true
			}
			for _, l := range lits {
				if ok && v.Pos() < l.Pos() {
					captured[v] = true
				}
			}
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if id := base(ast.Unparen(l)); id != nil {
					assigned[info.Uses[id]] = true
				}
			}
		case *ast.IncDecStmt:
			if id := base(ast.Unparen(n.X)); id != nil {
				assigned[info.Uses[id]] = true
			}
		case *ast.RangeStmt:
			for _, l := range []ast.Expr{n.Key, n.Value} {
				if id, ok := l.(*ast.Ident); ok {
					assigned[info.Uses[id]] = true
				}
			}
		}
		return true
	}
	ast.Inspect(decl, visit)
	for v := range captured {
		if assigned[v] {
			shared[v] = true
		}
	}
	return shared
}

// namesFault returns why the names that were made in a declaration are not shown to be
// read by nothing but what replaces an expression and what frees.
func (c *checker) namesFault(d *differ) string {
	made, ok := map[types.Object]bool{}, map[*ast.Ident]bool{}
	for _, id := range d.defs {
		if c.info.Defs[id] == nil {
			return "a name that was made is not new"
		}
		made[c.info.Defs[id]] = true
	}
	for _, h := range d.hoists {
		for _, id := range h.read {
			ok[id] = true
		}
	}
	why := ""
	for _, e := range d.edits {
		if e.kind == Named && !isSave(e.stmt) {
			continue
		}
		ast.Inspect(e.stmt, func(n ast.Node) bool {
			if id, isID := n.(*ast.Ident); isID {
				ok[id] = true
			}
			return true
		})
	}
	ast.Inspect(d.decl, func(n ast.Node) bool {
		if id, isID := n.(*ast.Ident); isID && !ok[id] && made[c.info.Uses[id]] {
			why = "the new name " + id.Name + " takes the place of another"
		}
		return true
	})
	return why
}
