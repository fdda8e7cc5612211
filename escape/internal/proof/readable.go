package proof

// Rule readable where go/ssa has no register for a name: in what it folds, unsafe.Sizeof(*b) or len(a), and
// in literals that nobody calls. Such a name is found in the text, on the paths of package cfg, up to
// where it is assigned anew.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/cfg"
)

// A reader looks for what a free frees, in the text behind it.
type reader struct {
	c    *checker
	g    *graph
	idle map[ast.Node]bool // literals that nobody calls
	v    types.Object      // the variable,
	path string            // and what of it is freed
	at   token.Pos         // where that is named
}

// readBehind withholds frees behind which the text names what they freed without reading it.
func (c *checker) readBehind(g *graph, d *differ) {
	quiet, idle := c.quiet(d.decl), map[ast.Node]bool{}
	for _, fn := range g.f.fns {
		idle[fn.Syntax()] = len(g.back[fn]) == 0 && !g.calledBack(g.f, fn) && !g.started(fn)
	}
	for _, e := range d.edits {
		if e.kind != Inserted || e.late || e.keep || c.off[Readable] {
			continue
		}
		what := e.what
		if e.loop != nil {
			what = e.loop
		}
		r := &reader{c: c, g: g, idle: idle, v: c.info.Uses[base(what)], path: types.ExprString(what)}
		if !quiet[r.v] {
			continue
		}
		ast.Inspect(d.decl, func(n ast.Node) bool {
			if n == nil || n.Pos() > e.stmt.Pos() || n.End() < e.stmt.End() {
				return false
			}
			if body := bodyOf(n); body != nil {
				r.from(body, e.free, false)
			}
			return true
		})
		if r.at.IsValid() {
			c.fail(e, Readable, "its name is read", r.at)
		}
	}
}

func bodyOf(n ast.Node) *ast.BlockStmt {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return n.Body
	case *ast.FuncLit:
		return n.Body
	}
	return nil
}

// quiet returns the variables that a declaration names in literals and in what is folded.
func (c *checker) quiet(d ast.Decl) map[types.Object]bool {
	out := map[types.Object]bool{}
	ast.Inspect(d, func(n ast.Node) bool {
		x, _ := n.(ast.Expr)
		if _, lit := n.(*ast.FuncLit); lit || x != nil && c.info.Types[x].Value != nil {
			ast.Inspect(n, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && c.info.Uses[id] != nil {
					out[c.info.Uses[id]] = true
				}
				return true
			})
		}
		return true
	})
	return out
}

// from reads a body from behind what stands in it, or, if that is nil, from its start; lit: nobody runs it.
func (r *reader) from(body *ast.BlockStmt, behind ast.Node, lit bool) {
	g := cfg.New(body, func(k *ast.CallExpr) bool {
		id, _ := k.Fun.(*ast.Ident)
		b, ok := r.c.info.Uses[id].(*types.Builtin)
		return !ok || b.Name() != "panic"
	})
	seen := map[*cfg.Block]bool{}
	var visit func(b *cfg.Block, first int)
	visit = func(b *cfg.Block, first int) {
		for _, n := range b.Nodes[first:] {
			if r.look(n, lit); r.renews(n) {
				return
			}
		}
		for _, s := range b.Succs {
			if !seen[s] {
				seen[s] = true
				visit(s, 0)
			}
		}
	}
	if behind == nil {
		visit(g.Blocks[0], 0)
		return
	}
	for _, b := range g.Blocks {
		for i, n := range b.Nodes {
			if n.Pos() <= behind.Pos() && behind.End() <= n.End() {
				visit(b, i+1)
			}
		}
	}
}

// look notes where a node names it, in a literal or in what is folded; lit: all that is read there counts.
func (r *reader) look(n ast.Node, lit bool) {
	var assigned []ast.Expr
	ast.Inspect(n, func(n ast.Node) bool {
		if n != nil && r.g.inserted(n.Pos()) {
			return false
		}
		switch x := n.(type) {
		case *ast.FuncLit:
			r.from(x.Body, nil, lit || r.idle[x])
			return false
		case *ast.AssignStmt:
			assigned = append(assigned, x.Lhs...)
		case ast.Expr:
			id := base(x)
			path := types.ExprString(x)
			folded := r.c.info.Types[x].Value != nil
			switch {
			case folded && r.folds(x), lit && id != nil && r.c.info.Uses[id] == r.v && path == r.path &&
				!slices.Contains(assigned, x):
				r.at = x.Pos()
			}
			return !folded
		}
		return true
	})
}

// folds reports whether a constant expression names what is freed, or what that is a part of.
func (r *reader) folds(x ast.Expr) (found bool) {
	ast.Inspect(x, func(n ast.Node) bool {
		if x, ok := n.(ast.Expr); ok && base(x) != nil && r.c.info.Uses[base(x)] == r.v {
			found = found || leadsTo(r.path, types.ExprString(x)) || leadsTo(types.ExprString(x), r.path)
			return false
		}
		return true
	})
	return found
}

// leadsTo reports whether path is to, or goes on from there.
func leadsTo(path, to string) bool {
	rest, ok := strings.CutPrefix(path, to)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// renews reports whether a node assigns it anew.
func (r *reader) renews(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return (n.Tok == token.ASSIGN || n.Tok == token.DEFINE) && slices.ContainsFunc(n.Lhs, r.anew)
	case *ast.ValueSpec:
		return slices.ContainsFunc(n.Names, func(id *ast.Ident) bool { return r.anew(id) })
	}
	return false
}

// anew reports whether what is assigned to x is assigned to it, or to all of what it is a part of.
func (r *reader) anew(x ast.Expr) bool {
	id := base(x)
	return id != nil && (r.c.info.Uses[id] == r.v || r.c.info.Defs[id] == r.v) &&
		leadsTo(r.path, types.ExprString(x))
}
