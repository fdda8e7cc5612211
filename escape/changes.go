package escape

// Variables that change behind the back of the function that declares them: a literal
// that captures them assigns them, or somebody has their address. Whether such a literal
// or address goes where it is not followed is known when everything is lowered; until
// then each read of such a variable is a copy that remembers whose content it is.

import (
	"go/ast"
	"go/token"
	"go/types"
)

// opaque reports whether copy v reads a variable that others may have assigned since: it
// need not hold what it was given last, nor what the last read found.
func (v *value) opaque() bool {
	return v.op == opCopy && v.from != nil && (v.from.exposed != "" || v.from.aliased)
}

// reread notes that v was read from variable o, if others may assign it.
func (l *lower) reread(v *value, o *types.Var, r *root, pos token.Pos) *value {
	if !l.p.changing(o) {
		return v
	}
	switch o.Type().Underlying().(type) {
	case *types.Struct, *types.Array:
		return v // read part by part
	}
	c := l.emit(opCopy, o.Type(), pos, v)
	c.from = r
	return c
}

// readLeaf reads a leaf of r. What is no buffer may have been assigned by whoever has a
// pointer to r.
func (l *lower) readLeaf(r *root, p *place, pos token.Pos) *value {
	v := l.readPlace(p)
	if !l.p.tested(p.typ) || r.obj != nil && !l.p.changing(r.obj) {
		return v
	}
	c := l.emit(opCopy, p.typ, pos, v)
	c.from = r
	return c
}

// tested reports whether t is no buffer's type, but one that branches depend on.
func (p *pkg) tested(t types.Type) bool {
	return (isBool(t) || nilable(t)) && !p.isResource(t) && !p.collects(t)
}

// changed notes that a call which got the address of r may have assigned the parts of it
// that branches depend on.
func (l *lower) changed(r *root, path []int, pos token.Pos) {
	for _, p := range r.leaves {
		if (hasPrefix(p.path, path) || hasPrefix(path, p.path)) && l.p.tested(p.typ) && l.readPlace(p).op != opAddr {
			x := l.emit(opCopy, p.typ, pos, l.readPlace(p))
			x.from = &root{name: r.name, aliased: true}
			l.f.write(p, l.cur, x)
		}
	}
}

// changing reports whether v may be assigned by a literal that captures it, or through
// its address.
func (p *pkg) changing(v *types.Var) bool {
	if p.changes == nil {
		p.changes = map[*types.Var]bool{}
		for _, f := range p.files {
			p.findChanging(f)
		}
	}
	return p.changes[v]
}

func (p *pkg) findChanging(f *ast.File) {
	captured, assigned := map[*types.Var]bool{}, map[*types.Var]bool{}
	variable := func(e ast.Expr) *types.Var {
		for {
			switch x := ast.Unparen(e).(type) {
			case *ast.SelectorExpr:
				e = x.X
			case *ast.IndexExpr:
				e = x.X
			case *ast.Ident:
				v, _ := p.info.Uses[x].(*types.Var)
				return v
			default:
				return nil
			}
		}
	}
	assign := func(e ast.Expr) {
		if e == nil {
			return
		}
		if v := variable(e); v != nil {
			assigned[v] = true
		}
	}
	var lits []*ast.FuncLit
	var path []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			if _, ok := path[len(path)-1].(*ast.FuncLit); ok {
				lits = lits[:len(lits)-1]
			}
			path = path[:len(path)-1]
			return true
		}
		path = append(path, n)
		switch n := n.(type) {
		case *ast.FuncLit:
			lits = append(lits, n)
		case *ast.Ident:
			if v, ok := p.info.Uses[n].(*types.Var); ok && len(lits) > 0 && !v.IsField() {
				if in := lits[len(lits)-1]; v.Pos() < in.Pos() || v.Pos() >= in.End() {
					captured[v] = true
				}
			}
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				assign(e)
			}
		case *ast.IncDecStmt:
			assign(n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				assign(n.Key)
				assign(n.Value)
			}
		case *ast.UnaryExpr:
			if v := variable(n.X); n.Op == token.AND && v != nil {
				p.changes[v] = true
			}
		case *ast.SelectorExpr:
			s := p.info.Selections[n]
			if v := variable(n.X); v != nil && s != nil && s.Kind() == types.MethodVal && !isPointer(v.Type()) {
				if r := s.Obj().(*types.Func).Signature().Recv(); r != nil && isPointer(r.Type()) {
					p.changes[v] = true
				}
			}
		}
		return true
	})
	for v := range captured {
		if assigned[v] {
			p.changes[v] = true
		}
	}
}
