package escape

// Names for buffers that a variable holds which the header of an if, a switch or a
// for declares: it ends with the statement. What the variable is given moves in
// front of the statement and gets a name there, which lasts longer; the variable
// takes it from there.

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// A kept is a variable of a hoist, or a field of one, that holds a buffer.
type kept struct {
	obj  *object
	name string
	typ  types.Type
}

// headerFor gives a name to what the header of a statement gives to the variable
// that holds o, if there is one and the name is visible at g. It is evaluated
// exactly once and before all else in the statement, so it may as well stand before it.
func (d *decider) headerFor(o *object, g *gap) (*hoist, kept) {
	if o.kind != objSite {
		return nil, kept{}
	}
	for _, m := range o.order {
		if origin(m) != o.def {
			continue
		}
		for _, u := range m.users {
			if u.op != opSet || u.place.root.obj == nil || !d.w.freeable(o, u.place) {
				continue
			}
			stmt, as := d.declaredInHeader(u.place.root.obj)
			if stmt == nil || len(as.Rhs) != 1 || o.def.pos < as.Rhs[0].Pos() || as.Rhs[0].End() <= o.def.pos || u.pos < as.Pos() || as.End() < u.pos {
				continue // not what it starts with
			}
			stmt, list, why := d.f.hosted(d.f.pathTo(stmt))
			if why != "" {
				continue
			}
			h := d.hoists[stmt]
			if h == nil {
				h = &hoist{stmt: stmt, list: list, braces: d.f.jumpedOver(stmt.Pos(), list)}
			}
			if h.braces || !d.within(h, g) {
				continue
			}
			d.hoists[stmt] = h
			return h, h.keep(d, o, u.place, as)
		}
	}
	return nil, kept{}
}

// freeable reports whether o can be freed through place p by a name of its root.
func (w *flow) freeable(o *object, p *place) bool {
	return w.p.reachable(p.root.typ, p.path) &&
		(w.p.isResource(p.typ) || o.coll && w.p.collects(p.typ) || types.Identical(p.typ, o.def.typ0()))
}

// declaredInHeader returns the statement in the header of which v is declared.
func (d *decider) declaredInHeader(v *types.Var) (stmt ast.Stmt, as *ast.AssignStmt) {
	hs := d.f.walked().headers
	i, _ := slices.BinarySearchFunc(hs, v.Pos()+1, func(h header, p token.Pos) int { return cmp.Compare(h.as.Pos(), p) })
	if i == 0 || v.Pos() >= hs[i-1].as.End() {
		return nil, nil
	}
	return hs[i-1].stmt, hs[i-1].as
}

// keep names the values that as gives to the variables of a header, and returns what
// holds o then: the variable at p's root, or a field of it.
func (h *hoist) keep(d *decider, o *object, p *place, as *ast.AssignStmt) kept {
	names := h.take(d, as.Rhs[0], len(as.Lhs))
	for i, e := range as.Lhs {
		if id, ok := e.(*ast.Ident); ok && d.p.info.Defs[id] == p.root.obj {
			return kept{o, names[i] + p.name, p.typ}
		}
	}
	return kept{}
}

// take lets e, with n values, move in front of the statement, and returns the names of
// its values there.
func (h *hoist) take(d *decider, e ast.Expr, n int) []string {
	for _, x := range h.items {
		switch {
		case x.expr != e:
		case x.names != nil:
			return x.names
		default:
			return []string{x.name}
		}
	}
	var names []string
	for i := range n {
		t := d.p.typeOf(e)
		if tt, ok := t.(*types.Tuple); ok {
			t = tt.At(i).Type()
		}
		switch {
		case d.p.holdsResource(t):
			names = append(names, d.fresh("b"))
		case isError(t):
			names = append(names, d.fresh("err"))
		default:
			names = append(names, d.fresh("tmp"))
		}
	}
	h.items = append(h.items, hoisted{expr: e, names: names})
	h.order()
	return names
}

// order sorts the items by when they are evaluated: what is part of another one comes first.
func (h *hoist) order() {
	slices.SortStableFunc(h.items, func(a, b hoisted) int { return int(a.expr.End() - b.expr.End()) })
}
