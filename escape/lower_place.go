package escape

// Source to flow form: which part of which local variable an expression denotes.

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// placeOf finds the local variable part that e denotes, if it does.
func (l *lower) placeOf(e ast.Expr) (r *root, path []int, ok bool) {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return l.placeOf(x.X)
	case *ast.Ident:
		o, _ := l.p.info.ObjectOf(x).(*types.Var)
		if o == nil {
			return nil, nil, false
		}
		if r := l.root(o); r != nil {
			return r, nil, true
		}
	case *ast.SelectorExpr:
		sel := l.p.info.Selections[x]
		if sel == nil || sel.Kind() != types.FieldVal {
			return nil, nil, false
		}
		r, path, ok := l.placeOfBase(x.X)
		if !ok {
			return nil, nil, false
		}
		return l.walk(r, path, l.p.typeOf(x.X), sel.Index())
	case *ast.IndexExpr:
		return l.elementPlace(x)
	case *ast.StarExpr:
		if _, _, ok := l.placeOf(x.X); ok {
			return l.pointee(l.expr(x.X))
		}
	}
	return nil, nil, false
}

// placeOfBase is placeOf for the operand of a selector, where a pointer is
// followed by itself.
func (l *lower) placeOfBase(e ast.Expr) (*root, []int, bool) {
	t := l.p.typeOf(e)
	r, path, ok := l.placeOf(e)
	if !ok {
		return nil, nil, false
	}
	if _, isPtr := t.Underlying().(*types.Pointer); isPtr {
		if !l.isLeaf(r, path) {
			return nil, nil, false
		}
		return l.pointee(l.settled(e, l.readUnder(r, path, t, e.Pos())))
	}
	return r, path, true
}

func (l *lower) isLeaf(r *root, path []int) bool {
	for _, p := range r.leaves {
		if len(p.path) == len(path) && hasPrefix(p.path, path) {
			return true
		}
	}
	return false
}

// walk follows field indices from the part of r at path; it fails at a pointer
// that leads out of r and below a leaf.
func (l *lower) walk(r *root, path []int, t types.Type, index []int) (*root, []int, bool) {
	t = deref(t)
	for i, f := range index {
		st, ok := t.Underlying().(*types.Struct)
		if !ok {
			return nil, nil, false
		}
		if l.isLeaf(r, path) {
			return nil, nil, false // below a leaf: a part of its value
		}
		path = append(path[:len(path):len(path)], f)
		t = st.Field(f).Type()
		if i+1 < len(index) {
			if _, isPtr := t.Underlying().(*types.Pointer); isPtr {
				if !l.isLeaf(r, path) {
					return nil, nil, false
				}
				r, path, ok = l.pointee(l.readUnder(r, path, t, token.NoPos))
				if !ok {
					return nil, nil, false
				}
				t = deref(t)
			}
		}
	}
	return r, path, true
}

func deref(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// pointee finds the local object that v points to, if it is known.
func (l *lower) pointee(v *value) (*root, []int, bool) {
	for v = v.find(); v != nil; v = v.args[0].find() {
		switch v.op {
		case opAddr:
			return v.place.root, v.place.path, true
		case opCopy:
			continue
		}
		return nil, nil, false
	}
	return nil, nil, false
}

// readUnder reads the part of r at path.
func (l *lower) readUnder(r *root, path []int, t types.Type, pos token.Pos) *value {
	for _, p := range r.leaves {
		if len(p.path) == len(path) && hasPrefix(p.path, path) {
			return l.readLeaf(r, p, pos)
		}
	}
	return l.pack(r, path, t, pos)
}

func (l *lower) selector(x *ast.SelectorExpr, t types.Type) *value {
	sel := l.p.info.Selections[x]
	if sel == nil { // qualified identifier
		switch o := l.p.info.Uses[x.Sel].(type) {
		case *types.Func:
			v := l.emit(opFunc, t, x.Pos())
			v.fn = o
			return v
		case *types.Var:
			v := l.emit(opUnknown, t, x.Pos())
			return v
		}
		return l.emit(opUnknown, t, x.Pos())
	}
	switch sel.Kind() {
	case types.MethodExpr:
		v := l.emit(opFunc, t, x.Pos())
		v.fn = sel.Obj().(*types.Func)
		v.note.Kind = report.MethodOfType
		return v
	case types.MethodVal:
		recv := l.receiver(x, sel)
		v := l.emit(opBound, t, x.Pos(), recv)
		v.fn = sel.Obj().(*types.Func)
		return v
	}
	if r, path, ok := l.placeOf(x); ok {
		return l.readUnder(r, path, t, x.Pos())
	}
	base := l.expr(x.X)
	return l.fieldPath(base, l.p.typeOf(x.X), sel.Index(), x.Pos())
}

// fieldPath reads base.f.g for field indices.
func (l *lower) fieldPath(v *value, t types.Type, index []int, pos token.Pos) *value {
	for _, f := range index {
		st, ok := deref(t).Underlying().(*types.Struct)
		if !ok {
			return l.emit(opPart, t, pos, v)
		}
		t = st.Field(f).Type()
		if r, path, ok := l.pointee(v); ok && !l.isLeaf(r, path) {
			v = l.readUnder(r, append(path[:len(path):len(path)], f), t, pos)
			continue
		}
		if v.op == opPack && v.note.Kind == report.Struct && v.place != nil {
			v = l.readUnder(v.place.root, append(v.place.path[:len(v.place.path):len(v.place.path)], f), t, pos)
			continue
		}
		v = l.part(v, t, pos, report.Note{Kind: report.Field, Name: st.Field(f).Name()}, false)
	}
	return v
}

// receiver evaluates the receiver of a method selected by x, through embedded
// fields, taking its address where the method wants a pointer.
func (l *lower) receiver(x *ast.SelectorExpr, sel *types.Selection) *value {
	m := sel.Obj().(*types.Func)
	index := sel.Index()
	index = index[:len(index)-1]
	wantPtr := false
	if rv := m.Type().(*types.Signature).Recv(); rv != nil {
		_, wantPtr = rv.Type().Underlying().(*types.Pointer)
	}
	t := l.p.typeOf(x.X)
	// The type of the embedded field that has the method.
	ft := t
	for _, f := range index {
		if st, ok := deref(ft).Underlying().(*types.Struct); ok {
			ft = st.Field(f).Type()
		}
	}
	_, isPtr := ft.Underlying().(*types.Pointer)
	if wantPtr && !isPtr {
		if r, path, ok := l.placeOfBase(x.X); ok {
			if r, path, ok = l.walk(r, path, t, index); ok {
				return l.addr(r, path, types.NewPointer(ft), x.X.Pos())
			}
		}
	}
	if r, path, ok := l.placeOf(x.X); ok && len(index) > 0 && !isPointer(t) {
		if r, path, ok := l.walk(r, path, t, index); ok {
			return l.readUnder(r, path, ft, x.X.Pos())
		}
	}
	return l.promoted(l.expr(x.X), t, index, m, x.X.Pos())
}

// promoted returns the receiver of m, a method of the field of v, of type t, at
// index. A destructor that an embedded field lends to a type frees the whole
// value, not a part of it; so does its counterpart that counts a reference.
func (l *lower) promoted(v *value, t types.Type, index []int, m *types.Func, pos token.Pos) *value {
	e := ArgEffect{}
	if len(index) > 0 && l.p.isDeclared(t) {
		e = l.p.summaryOf(m).arg(-1)
	}
	if e.Freed.K != Never || e.Retained {
		return l.emit(opCopy, m.Signature().Recv().Type(), pos, v)
	}
	return l.fieldPath(v, t, index, pos)
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// renewed is v where it is handed on: what a pointer to a local object leads to is what
// the object holds now, not what it held where the pointer was taken.
func (l *lower) renewed(v *value, pos token.Pos) *value {
	v = v.find()
	a := v
	for a.op == opCopy {
		a = a.args[0].find()
	}
	if l.cur == nil || a.op != opAddr {
		return v
	}
	for i, p := range a.place.root.under(a.place.path) {
		if i >= len(a.args) || l.readPlace(p).find() != a.args[i].find() {
			return l.again(v, pos)
		}
	}
	return v
}

// again takes the address once more that v is, or is a copy of.
func (l *lower) again(v *value, pos token.Pos) *value {
	if v.op == opAddr {
		return l.addr(v.place.root, v.place.path, v.typ, pos)
	}
	c := l.emit(opCopy, v.typ, pos, l.again(v.args[0].find(), pos))
	c.note, c.from = v.note, v.from
	return c
}

// under lists the leaves of r that are part of what is at path, or that this is a part of.
func (r *root) under(path []int) []*place {
	var out []*place
	for _, p := range r.leaves {
		if hasPrefix(p.path, path) || hasPrefix(path, p.path) {
			out = append(out, p)
		}
	}
	return out
}

// addr takes the address of a local place.
func (l *lower) addr(r *root, path []int, t types.Type, pos token.Pos) *value {
	v := l.f.newValue(opAddr, t)
	v.pos = pos
	for _, p := range r.under(path) {
		v.args = append(v.args, l.readPlace(p))
	}
	v.place = &place{root: r, path: path, typ: deref(t), name: ""}
	l.add(v)
	return v
}
