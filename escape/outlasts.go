package escape

// Fields that a destructor forgets: whether the program counts on them after it.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// outlasts says why field of h's type may be needed, or freed, after h's destructor
// ran, which does not free it today; "" if nothing in the package hints at that.
func (p *pkg) outlasts(h *holding, field *types.Var) string {
	if field.Exported() && h.named.Obj().Exported() && p.types.Name() != "main" {
		return "field " + field.Name() + " is exported: others may free it"
	}
	for _, f := range p.files {
		for _, d := range f.Decls {
			if fd, ok := d.(*ast.FuncDecl); ok && (fd.Body == nil || p.info.Defs[fd.Name] == types.Object(h.free)) {
				continue
			}
			if why := p.outlastsIn(d, h, field); why != "" {
				return why
			}
		}
	}
	return ""
}

// outlastsIn says the same of one declaration.
func (p *pkg) outlastsIn(decl ast.Node, h *holding, field *types.Var) string {
	type ending struct {
		of     *types.Var // whose destructor is called; nil: not a variable
		at     token.Pos
		inLoop bool
	}
	var ends []ending
	why := ""
	inspectPath(decl, func(path []ast.Node) {
		call, ok := path[len(path)-1].(*ast.CallExpr)
		if !ok {
			return
		}
		sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if m := p.called(call); !ok || m == nil || m.Origin() != h.free {
			return
		}
		e := ending{at: call.End()}
		if id, ok := ast.Unparen(sel.X).(*ast.Ident); ok {
			e.of, _ = p.info.Uses[id].(*types.Var)
		}
		for _, n := range path {
			switch n := n.(type) {
			case *ast.ForStmt, *ast.RangeStmt:
				e.inLoop = e.of == nil || !within(n, e.of.Pos())
			case *ast.DeferStmt:
				if n.Call == call {
					e.at = decl.End() // what is written behind it runs before it
				}
			}
		}
		ends = append(ends, e)
	})
	inspectPath(decl, func(path []ast.Node) {
		switch n := path[len(path)-1].(type) {
		case *ast.SelectorExpr:
			s := p.info.Selections[n]
			if s == nil || s.Kind() != types.FieldVal || s.Obj().(*types.Var).Origin() != field {
				return
			}
			switch how := p.mention(path); {
			case how == touchFrees:
				why = "field " + field.Name() + " is freed at " + p.line(n.Pos()) + ", too"
			case how == touchReads && !p.lentHere(path):
				why = "field " + field.Name() + " is handed on at " + p.line(n.Pos())
			case how == touchReads && slices.ContainsFunc(ends, func(e ending) bool { return e.inLoop || n.Pos() > e.at }),
				how == touchReads && len(ends) > 0 && slices.ContainsFunc(path, func(n ast.Node) bool { _, lit := n.(*ast.FuncLit); return lit }):
				why = "field " + field.Name() + " is used after it at " + p.line(n.Pos())
			}
		case *ast.Ident:
			v, _ := p.info.Uses[n].(*types.Var)
			if v == nil || v.IsField() || p.mention(path) == touchNone {
				return
			}
			if slices.ContainsFunc(ends, func(e ending) bool { return e.of == v && (e.inLoop || n.Pos() > e.at) }) {
				why = v.Name() + " is used after it at " + p.line(n.Pos())
			}
		}
	})
	return why
}

// lentHere reports whether what ends path is an operand of a call, which borrows it:
// whatever else reads it may keep it.
func (p *pkg) lentHere(path []ast.Node) bool {
	cur := path[len(path)-1]
	for i := len(path) - 2; i >= 0; i-- {
		switch n := path[i].(type) {
		case *ast.ParenExpr:
		case *ast.SelectorExpr:
			s := p.info.Selections[n]
			if s == nil || s.Kind() != types.MethodVal || i == 0 {
				return false
			}
			call, ok := path[i-1].(*ast.CallExpr)
			if !ok || call.Fun != ast.Expr(n) {
				return false
			}
			sum := p.summaryOf(s.Obj().(*types.Func))
			return sum.arg(-1).borrow() && !sum.returned(-1)
		case *ast.CallExpr:
			j, f := slices.IndexFunc(n.Args, func(e ast.Expr) bool { return e == cur }), p.called(n)
			if j < 0 || f == nil {
				return false
			}
			sum := p.summaryOf(f)
			return sum.arg(j).borrow() && !sum.returned(j)
		default:
			return false
		}
		cur = path[i]
	}
	return false
}

func within(n ast.Node, pos token.Pos) bool { return n.Pos() <= pos && pos < n.End() }
