package escape

// Fields that a destructor forgets: whether the program counts on them after it.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// outlasts says why field of h's type may be needed, or freed, after h's destructor
// ran, which does not free it today; "" if nothing in the package hints at that.
func (p *pkg) outlasts(h *holding, field *types.Var) string {
	if field.Exported() && h.named.Obj().Exported() && p.types.Name() != "main" {
		return "field " + field.Name() + " is exported: others may free it"
	}
	ends := p.enders(h)
	about := map[ast.Decl]bool{} // all others say nothing of it
	for e := range ends {
		for _, d := range p.naming(e.fn.Name()) {
			about[d] = true
		}
	}
	for _, d := range p.naming(field.Name()) {
		about[d] = true
	}
	for _, f := range p.files {
		for _, d := range f.Decls {
			if fd, ok := d.(*ast.FuncDecl); !about[d] || ok && (fd.Body == nil || p.info.Defs[fd.Name] == types.Object(h.free)) {
				continue
			}
			if why := p.outlastsIn(d, ends, field); why != "" {
				return why
			}
		}
	}
	return ""
}

// An ender is a function and one of its operands, -1 being the receiver, of which it
// calls the destructor, or that of something in it.
type ender struct {
	fn *types.Func
	i  int
}

// enders returns h's destructor and what calls it on an operand, or calls what does.
func (p *pkg) enders(h *holding) map[ender]bool {
	ends := map[ender]bool{{h.free, -1}: true}
	for list := []*types.Func{h.free}; len(list) > 0; list = list[1:] {
		for _, d := range p.naming(list[0].Name()) {
			fd, ok := d.(*ast.FuncDecl)
			if !ok || fd.Body == nil {
				continue
			}
			f, ok := p.info.Defs[fd.Name].(*types.Func)
			if !ok || f == h.free {
				continue
			}
			operands := map[*types.Var]int{f.Signature().Recv(): -1}
			for i := range f.Signature().Params().Len() {
				operands[f.Signature().Params().At(i)] = i
			}
			inspectPath(fd.Body, func(path []ast.Node) {
				call, ok := path[len(path)-1].(*ast.CallExpr)
				if !ok {
					return
				}
				for _, x := range p.ended(call, ends) {
					v, _ := p.rootOf(x)
					if i, ok := operands[v]; ok && v != nil && !ends[ender{f, i}] {
						ends[ender{f, i}] = true
						list = append(list, f)
					}
				}
			})
		}
	}
	return ends
}

// ended returns the operands of call whose life ends there.
func (p *pkg) ended(call *ast.CallExpr, ends map[ender]bool) []ast.Expr {
	m := p.called(call)
	if m == nil {
		return nil
	}
	m = m.Origin()
	var out []ast.Expr
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && ends[ender{m, -1}] {
		out = append(out, sel.X)
	}
	for i, a := range call.Args {
		if ends[ender{m, min(i, max(m.Signature().Params().Len()-1, 0))}] {
			out = append(out, a)
		}
	}
	return out
}

// rootOf returns the variable that e is, or is in, and how e is written.
func (p *pkg) rootOf(e ast.Expr) (*types.Var, string) {
	x := ast.Unparen(e)
	if u, ok := x.(*ast.UnaryExpr); ok && u.Op == token.AND {
		x = ast.Unparen(u.X)
	}
	text := types.ExprString(x)
	for {
		switch y := x.(type) {
		case *ast.ParenExpr:
			x = y.X
		case *ast.StarExpr:
			x = y.X
		case *ast.SelectorExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		case *ast.Ident:
			v, _ := p.info.Uses[y].(*types.Var)
			return v, text
		default:
			return nil, text
		}
	}
}

// revives reports whether the mention at the end of path, of a variable v, stores
// something in what is written as ended, which is v or is in it.
func revives(path []ast.Node, ended string) bool {
	for i := len(path) - 2; i >= 0; i-- {
		switch n := path[i].(type) {
		case *ast.SelectorExpr, *ast.IndexExpr, *ast.ParenExpr, *ast.StarExpr:
		case *ast.AssignStmt:
			for j, e := range n.Lhs {
				if e != path[i+1] {
					continue
				}
				whole := types.ExprString(e) == ended || !strings.HasPrefix(types.ExprString(e), ended)
				isNil := false
				if len(n.Rhs) == len(n.Lhs) {
					id, ok := n.Rhs[j].(*ast.Ident)
					isNil = ok && id.Name == "nil"
				}
				return !whole && !isNil
			}
			return false
		default:
			return false
		}
	}
	return false
}

// outlastsIn says the same of one declaration.
func (p *pkg) outlastsIn(decl ast.Node, enders map[ender]bool, field *types.Var) string {
	type ending struct {
		of     *types.Var // whose life ends, or that of something in it; nil: not a variable
		text   string     // how that is written
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
		for _, x := range p.ended(call, enders) {
			e := ending{at: call.End()}
			e.of, e.text = p.rootOf(x)
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
		}
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
				why = "field " + field.Name() + " is freed at " + report.At(n.Pos()) + ", too"
			case how == touchReads && !p.lentHere(path):
				why = "field " + field.Name() + " is handed on at " + report.At(n.Pos())
			case how == touchReads && slices.ContainsFunc(ends, func(e ending) bool { return e.inLoop || n.Pos() > e.at }),
				how == touchReads && len(ends) > 0 && slices.ContainsFunc(path, func(n ast.Node) bool { _, lit := n.(*ast.FuncLit); return lit }):
				why = "field " + field.Name() + " is used after it at " + report.At(n.Pos())
			}
		case *ast.Ident:
			v, _ := p.info.Uses[n].(*types.Var)
			if v == nil || v.IsField() {
				return
			}
			reads := p.mention(path) > touchNames
			if slices.ContainsFunc(ends, func(e ending) bool {
				return e.of == v && (e.inLoop || n.Pos() > e.at) && (reads && concerns(path, e.text) || revives(path, e.text))
			}) {
				why = v.Name() + " is used after it at " + report.At(n.Pos())
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

// concerns reports whether what the end of path is a part of is in what is written as
// text, or has it in it.
func concerns(path []ast.Node, text string) bool {
	whole := path[len(path)-1]
	for i := len(path) - 2; i >= 0; i-- {
		x, ok := path[i].(*ast.SelectorExpr)
		if !ok || x.X != whole {
			break
		}
		whole = x
	}
	e := types.ExprString(whole.(ast.Expr))
	return strings.HasPrefix(e+".", text+".") || strings.HasPrefix(text+".", e+".") || strings.ContainsAny(text, "[(*")
}

func within(n ast.Node, pos token.Pos) bool { return n.Pos() <= pos && pos < n.End() }
