package proof

// Rule readable where go/ssa has no register for a name: in what it folds, unsafe.Sizeof(*b) or len(a), and
// in literals that nobody calls. Such a name may stand in front of a free, in no loop with it, and nowhere
// else. What a literal captures is asked where it is made: a walk says whether that has what was freed.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A mention is an expression that no instruction reads, or none where what is freed gets to.
type mention struct {
	x    ast.Expr
	in   []ast.Node // what it stands in
	fold bool       // it is a constant
}

// readBehind withholds frees behind which the text may name what they freed without reading it.
func (c *checker) readBehind(g *graph, d *differ, frees []*free) {
	idle := map[ast.Node]*ssa.Function{} // literals that nobody calls
	for _, fn := range g.f.fns {
		_, lit := fn.Syntax().(*ast.FuncLit)
		if lit && len(g.back[fn]) == 0 && !g.calledBack(g.f, fn) && !g.started(fn) {
			idle[fn.Syntax()] = fn
		}
	}
	quiet, jumps := c.quiet(g, d.decl, idle)
	for _, x := range frees {
		if x.e.late || c.off[Readable] || len(quiet) == 0 {
			continue
		}
		names, in := g.names(x), stackOf(d.decl, x.e.stmt)
		for _, m := range quiet {
			ast.Inspect(m.x, func(n ast.Node) bool {
				y, _ := n.(ast.Expr)
				if y == nil || base(y) == nil {
					return true
				}
				v, path := c.info.ObjectOf(base(y)), types.ExprString(y)
				if m.behind(x, in, v, idle, jumps) && slices.ContainsFunc(names[v], func(name string) bool {
					return leadsTo(name, path) || leadsTo(path, name)
				}) {
					c.fail(x.e, Readable, "its name is read", y.Pos())
				}
				return false
			})
		}
	}
}

// quiet returns what a declaration names in literals that nobody calls and in what is folded, and whether a
// statement jumps there.
func (c *checker) quiet(g *graph, d ast.Decl, idle map[ast.Node]*ssa.Function) (out []mention, jumps bool) {
	ast.PreorderStack(d, nil, func(n ast.Node, in []ast.Node) bool {
		if b, ok := n.(*ast.BranchStmt); ok && b.Tok == token.GOTO {
			jumps = true
		}
		x, ok := n.(ast.Expr)
		fold := ok && c.info.Types[x].Value != nil
		said := fold || ok && base(x) != nil && slices.ContainsFunc(in, func(n ast.Node) bool { return idle[n] != nil })
		if said && !g.inserted(x.Pos()) {
			out = append(out, mention{x, slices.Clone(in), fold})
		}
		return !said
	})
	return out, jumps
}

// stackOf returns a statement behind what it stands in, from the outside.
func stackOf(d ast.Decl, of ast.Stmt) (out []ast.Node) {
	ast.PreorderStack(d, nil, func(n ast.Node, in []ast.Node) bool {
		if n == ast.Node(of) {
			out = append(slices.Clone(in), n)
		}
		return out == nil && n.Pos() <= of.Pos() && of.End() <= n.End()
	})
	return out
}

// A capture is a variable that a literal captures, by where these are declared.
type capture struct{ lit, v token.Pos }

// behind reports whether what is said of variable v may come behind a free x, the last of in, which stands in
// the others.
func (m mention) behind(x *free, in []ast.Node, v types.Object, idle map[ast.Node]*ssa.Function, jumps bool) bool {
	free := in[len(in)-1]
	around := func(n ast.Node) bool { return n.Pos() <= free.Pos() && free.End() <= n.End() }
	said, later := m.fold, jumps || m.x.Pos() > free.Pos() && !m.left(in)
	for _, n := range m.in {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			later = later || around(n) && v != nil && v.Pos() < n.Pos()
		case *ast.FuncLit:
			if fn := idle[n]; fn != nil && !around(n) {
				captures := func(fv *ssa.FreeVar) bool { return v != nil && fv.Pos() == v.Pos() }
				if slices.ContainsFunc(fn.FreeVars, captures) {
					return slices.Contains(x.captured, capture{n.Pos(), v.Pos()})
				}
				said = true
			}
			later = later || idle[n] == nil && !around(n)
		}
	}
	return said && later
}

// left reports whether the function in which something is said returns behind a free, with no more than other
// frees between, before the text comes there.
func (m mention) left(in []ast.Node) bool {
	beside := func(n ast.Node) bool { return m.x.End() <= n.Pos() || n.End() <= m.x.Pos() }
	if slices.ContainsFunc(in, func(n ast.Node) bool { _, lit := n.(*ast.FuncLit); return lit && beside(n) }) {
		return false
	}
	for k := len(in) - 2; k >= 0; k-- {
		var list []ast.Stmt
		switch n := in[k].(type) {
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		case *ast.CommClause:
			list = n.Body
		case *ast.IfStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			continue
		default:
			return false
		}
		if !beside(in[k]) {
			return false
		}
		for _, s := range list {
			if s.Pos() <= in[k+1].Pos() {
				continue
			}
			if _, returns := s.(*ast.ReturnStmt); returns {
				return true
			}
			if freeing(s) == nil {
				return false
			}
		}
	}
	return false
}

// names returns the names of what may be what a free frees, by the variable that each begins with.
func (g *graph) names(x *free) map[types.Object][]string {
	var own set
	for id := range x.pts.all() {
		if g.f.elems[id].resource() {
			own.add(id)
		}
	}
	out := map[types.Object][]string{}
	add := func(e ast.Expr) {
		v := g.f.c.info.ObjectOf(base(e))
		if path := types.ExprString(e); !slices.Contains(out[v], path) {
			out[v] = append(out[v], path)
		}
	}
	for i := range g.f.instrs() {
		r, ok := i.(*ssa.DebugRef)
		if !ok || base(r.Expr) == nil {
			continue
		}
		is := g.f.of(r.X)
		if r.IsAddr {
			is = g.f.load(is)
		}
		if is.meets(own) {
			add(r.Expr)
		}
	}
	if x.e.loop != nil {
		add(x.e.loop)
	}
	return out
}

// leadsTo reports whether path is to, or goes on from there.
func leadsTo(path, to string) bool {
	rest, ok := strings.CutPrefix(path, to)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
