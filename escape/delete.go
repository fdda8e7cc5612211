package escape

// Frees of the program that a plan replaces.

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// onlyIn returns the name of a variable that is read nowhere but in what the plan takes
// out, nor by a planned free: without that the function would not compile.
func (d *decider) onlyIn(at []*value, frees []planned) string {
	out := d.takenOut(at)
	in := func(n ast.Node) bool {
		i, _ := slices.BinarySearchFunc(out, n.Pos()+1, func(s ast.Stmt, p token.Pos) int { return cmp.Compare(s.Pos(), p) })
		return i > 0 && n.End() <= out[i-1].End()
	}
	var vars []*types.Var // read in there
	for _, s := range out {
		vars = append(vars, d.p.vars().ReadIn(s)...)
	}
	freed := map[string]bool{}
	for _, p := range frees {
		freed[p.name] = true
	}
	for _, v := range vars {
		read := func() (out bool) {
			d.p.vars().Reads(v, d.f.node, func(id ast.Expr) bool { out = !in(id); return !out })
			return out
		}
		own := v.Pos() > d.f.body.Lbrace && v.Pos() < d.f.body.Rbrace // and no parameter
		if own && !freed[v.Name()] && !read() {
			return v.Name()
		}
	}
	return ""
}

// takenOut lists, in the order of the source, the statements that go with the calls at: each
// call's own, or the if around it of which it leaves nothing but a test.
func (d *decider) takenOut(at []*value) []ast.Stmt {
	gone := map[ast.Stmt]bool{}
	for _, v := range at {
		if s, ok := d.f.walked().up[v.expr].(*ast.ExprStmt); ok {
			gone[s] = true
		}
	}
	for again := true; again; {
		again = false
		for s := range gone {
			body, ok := d.f.walked().up[s].(*ast.BlockStmt)
			if !ok {
				continue
			}
			test, ok := d.f.walked().up[body].(*ast.IfStmt)
			if !ok || gone[test] || test.Body != body || test.Init != nil || test.Else != nil || !d.p.onlyTests(test.Cond) {
				continue
			}
			if slices.ContainsFunc(body.List, func(x ast.Stmt) bool { return !gone[x] }) || !d.standsAlone(test) || d.freesAt(test) {
				continue
			}
			for _, x := range body.List {
				delete(gone, x)
			}
			gone[test], again = true, true
			break
		}
	}
	return slices.SortedFunc(maps.Keys(gone), func(a, b ast.Stmt) int { return cmp.Compare(a.Pos(), b.Pos()) })
}

// standsAlone reports whether s is an element of a list of statements and has its lines to
// itself.
func (d *decider) standsAlone(s ast.Stmt) bool {
	switch d.f.walked().up[s].(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
	default:
		return false
	}
	_, first := d.src.indent(d.src.off(s.Pos()))
	_, clean := d.src.restIsComment(d.src.off(s.End()))
	return first && clean
}

// freesAt reports whether a free is planned in s, or right behind it.
func (d *decider) freesAt(s ast.Stmt) bool {
	i, _ := slices.BinarySearch(d.freed, s.Pos())
	return i < len(d.freed) && d.freed[i] <= s.End()
}

// at is where a statement at the gap is put, roughly: behind what comes before it, or in it.
func (g *gap) at() token.Pos {
	switch g.kind {
	case gapStmt:
		return g.anchor
	case gapElse:
		return g.stmt.End()
	case gapDefault:
		return g.list.End()
	}
	return g.stmt.Pos()
}

// onlyTests reports whether evaluating e does nothing, and cannot go wrong.
func (p *pkg) onlyTests(e ast.Expr) bool {
	if tv := p.info.Types[e]; tv.Value != nil || tv.IsNil() {
		return true
	}
	switch e := e.(type) {
	case *ast.Ident:
		return true
	case *ast.ParenExpr:
		return p.onlyTests(e.X)
	case *ast.SelectorExpr:
		sel := p.info.Selections[e]
		return sel != nil && sel.Kind() == types.FieldVal && !sel.Indirect() && p.onlyTests(e.X)
	case *ast.UnaryExpr:
		return e.Op == token.NOT && p.onlyTests(e.X)
	case *ast.BinaryExpr:
		_, basic := p.typeOf(e.X).Underlying().(*types.Basic)
		switch e.Op {
		case token.LAND, token.LOR, token.LSS, token.LEQ, token.GTR, token.GEQ:
		case token.EQL, token.NEQ: // interfaces may hold what cannot be compared
			if !basic && !p.info.Types[e.X].IsNil() && !p.info.Types[e.Y].IsNil() {
				return false
			}
		default:
			return false
		}
		return p.onlyTests(e.X) && p.onlyTests(e.Y)
	}
	return false
}

// removal takes s out, with the line that it ends on, and leaves the comments in there.
func (d *decider) removal(s ast.Stmt) analysis.TextEdit {
	ind, _ := d.src.indent(d.src.off(s.Pos()))
	end, _ := d.src.restIsComment(d.src.off(s.End()))
	var kept strings.Builder
	for _, g := range d.src.comments(s.Pos(), d.src.file.Pos(end)) {
		for _, c := range g.List {
			kept.WriteString(ind + c.Text + d.src.newline())
		}
	}
	if end < len(d.src.text) && d.src.text[end] == '\r' {
		end++
	}
	if end < len(d.src.text) {
		end++
	}
	return d.src.edit(d.src.lineStart(d.src.off(s.Pos())), end, kept.String())
}

// removable reports whether the statement that is the call at can be taken out.
func (d *decider) removable(at *value) bool {
	call, ok := at.expr.(*ast.CallExpr)
	if !ok {
		return false
	}
	stmt, _, why := d.statementOf(call)
	ex, isExpr := stmt.(*ast.ExprStmt)
	if why != "" || !isExpr || ex.X != ast.Expr(call) || !byName(call) {
		return false
	}
	from, to := d.src.off(stmt.Pos()), d.src.off(stmt.End())
	_, first := d.src.indent(from)
	end, clean := d.src.restIsComment(to)
	return first && clean && strings.TrimSpace(string(d.src.text[to:end])) == ""
}

// byName reports whether a call frees what a path of names leads to: taking that out skips nothing that might panic
// before, as an assertion of a type does.
func byName(call *ast.CallExpr) bool {
	x := call.Fun
	if len(call.Args) == 1 {
		x = call.Args[0]
		if u, ok := x.(*ast.UnaryExpr); ok && u.Op == token.AND {
			x = u.X
		}
	}
	for {
		switch e := x.(type) {
		case *ast.SelectorExpr:
			x = e.X
		case *ast.IndexExpr:
			if _, fixed := e.Index.(*ast.BasicLit); !fixed {
				return false
			}
			x = e.X
		case *ast.Ident:
			return true
		default:
			return false
		}
	}
}
