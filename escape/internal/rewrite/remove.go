package rewrite

import (
	"cmp"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"sort"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// OnlyIn returns the name of a variable of the function that is read nowhere but in out, which is
// taken out, nor by what is inserted, which names those in named: without that the function would
// not compile.
func (f *Func) OnlyIn(out []ast.Stmt, named map[string]bool) string {
	in := func(n ast.Node) bool {
		i := sort.Search(len(out), func(i int) bool { return out[i].Pos() > n.Pos() })
		return i > 0 && n.End() <= out[i-1].End()
	}
	body := f.body()
	for _, s := range out {
		for _, v := range f.Vars.ReadIn(s) {
			if v.Pos() <= body.Lbrace || v.Pos() >= body.Rbrace || named[v.Name()] {
				continue // not its own, or a parameter
			}
			read := false
			f.Vars.Reads(v, f.Node, func(id ast.Expr) bool { read = !in(id); return !read })
			if !read {
				return v.Name()
			}
		}
	}
	return ""
}

func (f *Func) body() *ast.BlockStmt {
	if lit, ok := f.Node.(*ast.FuncLit); ok {
		return lit.Body
	}
	return f.Node.(*ast.FuncDecl).Body
}

// TakenOut lists, in the order of the source, the statements that go with calls: each
// call's own, or the if around it of which it leaves nothing but a test, unless something is
// inserted there: at one of the positions in used, which ascend.
func (f *Func) TakenOut(src *Source, calls []ast.Expr, used []token.Pos) []ast.Stmt {
	gone := map[ast.Stmt]bool{}
	for _, call := range calls {
		if s, ok := f.up[call].(*ast.ExprStmt); ok {
			gone[s] = true
		}
	}
	for again := true; again; {
		again = false
		for s := range gone {
			body, ok := f.up[s].(*ast.BlockStmt)
			if !ok {
				continue
			}
			test, ok := f.up[body].(*ast.IfStmt)
			if !ok || gone[test] || test.Body != body || test.Init != nil || test.Else != nil ||
				!f.testsNil(test.Cond) {
				continue
			}
			stays := slices.ContainsFunc(body.List, func(x ast.Stmt) bool { return !gone[x] })
			if stays || !f.standsAlone(src, test) || usedAt(used, test) {
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
func (f *Func) standsAlone(src *Source, s ast.Stmt) bool {
	switch f.up[s].(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
	default:
		return false
	}
	_, first := src.Indent(src.Off(s.Pos()))
	_, clean := src.RestIsComment(src.Off(s.End()))
	return first && clean
}

// usedAt reports whether one of the positions is in s, or right behind it.
func usedAt(used []token.Pos, s ast.Stmt) bool {
	i, _ := slices.BinarySearch(used, s.Pos())
	return i < len(used) && used[i] <= s.End()
}

// testsNil reports whether e is x != nil, or several of these, where x is a variable or a field of one: who
// frees x writes no other test for that alone.
func (p *Package) testsNil(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	if ok && b.Op == token.LAND {
		return p.testsNil(b.X) && p.testsNil(b.Y)
	}
	if !ok || b.Op != token.NEQ || !p.Info.Types[b.Y].IsNil() {
		return false
	}
	x := b.X
	for {
		sel, ok := x.(*ast.SelectorExpr)
		if !ok {
			break
		}
		x = sel.X
	}
	_, ok = x.(*ast.Ident)
	return ok
}

// Empties reports whether a block has nothing left without some statements, and nothing is inserted there, at
// one of the positions in used.
func (f *Func) Empties(gone []ast.Stmt, used []token.Pos) bool {
	return slices.ContainsFunc(gone, func(s ast.Stmt) bool {
		b, ok := f.up[s].(*ast.BlockStmt)
		return ok && !slices.ContainsFunc(b.List, func(x ast.Stmt) bool { return !slices.Contains(gone, x) }) &&
			!slices.ContainsFunc(used, func(at token.Pos) bool { return b.Lbrace < at && at <= b.Rbrace })
	})
}

// Removal takes s out, with the line that it ends on, and leaves the comments in there.
func (src *Source) Removal(s ast.Stmt) analysis.TextEdit {
	ind, _ := src.Indent(src.Off(s.Pos()))
	end, _ := src.RestIsComment(src.Off(s.End()))
	var kept strings.Builder
	for _, g := range src.comments(s.Pos(), src.File.Pos(end)) {
		for _, c := range g.List {
			kept.WriteString(ind + c.Text + src.newline())
		}
	}
	if end < len(src.Text) && src.Text[end] == '\r' {
		end++
	}
	if end < len(src.Text) {
		end++
	}
	return src.edit(src.lineStart(src.Off(s.Pos())), end, kept.String())
}

// Removable reports whether the statement that is the call e can be taken out.
func (f *Func) Removable(src *Source, e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	stmt, _, why := f.statementOf(call)
	ex, isExpr := stmt.(*ast.ExprStmt)
	if why != "" || !isExpr || ex.X != ast.Expr(call) || !byName(call) {
		return false
	}
	from, to := src.Off(stmt.Pos()), src.Off(stmt.End())
	_, first := src.Indent(from)
	end, clean := src.RestIsComment(to)
	return first && clean && strings.TrimSpace(string(src.Text[to:end])) == ""
}

// byName reports whether a call frees what a path of names leads to: taking that out skips nothing
// that might panic before, as an assertion of a type does.
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
