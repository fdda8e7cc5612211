package escape

// Frees of the program that a plan replaces.

import (
	"cmp"
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
	calls := slices.Clone(at)
	slices.SortFunc(calls, func(a, b *value) int { return cmp.Compare(a.expr.Pos(), b.expr.Pos()) })
	in := func(n ast.Node) bool {
		i, _ := slices.BinarySearchFunc(calls, n.Pos()+1, func(v *value, p token.Pos) int { return cmp.Compare(v.expr.Pos(), p) })
		return i > 0 && n.End() <= calls[i-1].expr.End()
	}
	reads, written := d.f.walked().reads, d.f.walked().written
	var vars []*types.Var // read in the calls
	seen := map[*types.Var]bool{}
	for _, c := range calls {
		ast.Inspect(c.expr, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if v, ok := d.p.info.Uses[id].(*types.Var); ok && !seen[v] && !v.IsField() && !written[id] {
					seen[v] = true
					vars = append(vars, v)
				}
			}
			return true
		})
	}
	freed := map[string]bool{}
	for _, p := range frees {
		freed[p.name] = true
	}
	for _, v := range vars {
		read := slices.ContainsFunc(reads[v], func(id *ast.Ident) bool { return !in(id) })
		if !read && !freed[v.Name()] && v.Pos() > d.f.body.Lbrace && v.Pos() < d.f.body.Rbrace { // no parameter, and its own
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
