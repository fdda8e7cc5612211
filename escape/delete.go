package escape

// Frees of the program that a plan replaces.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// onlyIn returns the name of a variable that is read nowhere but in the calls at,
// nor by a planned free: without them the function would not compile.
func (d *decider) onlyIn(at []*value, frees []planned) string {
	in := func(n ast.Node) bool {
		return slices.ContainsFunc(at, func(v *value) bool { return v.expr.Pos() <= n.Pos() && n.End() <= v.expr.End() })
	}
	var vars []*types.Var // read in the calls
	read := map[*types.Var]bool{}
	written := map[*ast.Ident]bool{}
	ast.Inspect(d.f.node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if id, ok := ast.Unparen(e).(*ast.Ident); ok && n.Tok == token.ASSIGN {
					written[id] = true
				}
			}
		case *ast.Ident:
			v, ok := d.p.info.Uses[n].(*types.Var)
			switch {
			case !ok || v.IsField() || written[n]:
			case in(n):
				vars = append(vars, v)
			default:
				read[v] = true
			}
		}
		return true
	})
	for _, v := range vars {
		freed := slices.ContainsFunc(frees, func(p planned) bool { return p.name == v.Name() })
		if !read[v] && !freed && v.Pos() > d.f.body.Lbrace && v.Pos() < d.f.body.Rbrace { // no parameter, and its own
			return v.Name()
		}
	}
	return ""
}

// deletion removes the statement that is the call at.
func (d *decider) deletion(at *value) (analysis.TextEdit, bool) {
	var none analysis.TextEdit
	call, ok := at.expr.(*ast.CallExpr)
	if !ok {
		return none, false
	}
	stmt, _, why := d.statementOf(call)
	ex, isExpr := stmt.(*ast.ExprStmt)
	if why != "" || !isExpr || ex.X != ast.Expr(call) {
		return none, false
	}
	from, to := d.src.off(stmt.Pos()), d.src.off(stmt.End())
	_, first := d.src.indent(from)
	end, clean := d.src.restIsComment(to)
	if !first || !clean || strings.TrimSpace(string(d.src.text[to:end])) != "" {
		return none, false
	}
	if end < len(d.src.text) && d.src.text[end] == '\r' {
		end++
	}
	if end < len(d.src.text) {
		end++
	}
	return d.src.edit(d.src.lineStart(from), end, ""), true
}
