package escape

// Source to flow form: expressions and assignments.

import (
	"go/ast"
	"go/token"
	"go/types"
)

func (p *pkg) typeOf(e ast.Expr) types.Type {
	if t := p.info.TypeOf(e); t != nil {
		return t
	}
	return types.Typ[types.Invalid]
}

// plain reports whether a value of type t leads to no memory: numbers that are
// no addresses, booleans, strings.
func plain(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() != types.UnsafePointer && u.Kind() != types.Uintptr && u.Kind() != types.UntypedNil && u.Kind() != types.Invalid
	case *types.Struct:
		for i := range u.NumFields() {
			if !plain(u.Field(i).Type()) {
				return false
			}
		}
		return true
	case *types.Array:
		return plain(u.Elem())
	case *types.Tuple:
		for i := range u.Len() {
			if !plain(u.At(i).Type()) {
				return false
			}
		}
		return true
	}
	return false
}

// expr lowers an expression with one value.
func (l *lower) expr(e ast.Expr) *value {
	v := l.exprN(e)
	if len(v) == 0 {
		return l.emit(opUnknown, types.Typ[types.Invalid], e.Pos())
	}
	return v[0].find()
}

// exprN lowers an expression; a call may have any number of values.
func (l *lower) exprN(e ast.Expr) []*value {
	if call, ok := ast.Unparen(e).(*ast.CallExpr); ok {
		if tv := l.p.info.Types[e]; tv.Value == nil {
			return l.call(call)
		}
	}
	v := l.expr1(e)
	if v.expr == nil {
		v.expr, v.end = e, e.End()
	}
	return []*value{v}
}

func (l *lower) expr1(e ast.Expr) *value {
	tv := l.p.info.Types[e]
	if tv.Value != nil {
		if _, ok := l.folded(e); !ok && isBool(tv.Type) {
			return l.emit(opUnknown, tv.Type, e.Pos()) // another build may say otherwise
		}
		return l.emit(opConst, tv.Type, e.Pos())
	}
	t := tv.Type
	if t == nil {
		t = l.p.typeOf(e)
	}
	switch x := e.(type) {
	case *ast.ParenExpr:
		return l.expr(x.X)
	case *ast.Ident:
		switch o := l.p.info.Uses[x].(type) {
		case *types.Nil:
			return l.nilValue(t, x.Pos())
		case *types.Func:
			v := l.emit(opFunc, t, x.Pos())
			v.fn = o
			return v
		case *types.Var:
			if c := l.lits[o]; c != nil {
				return c
			}
			if r := l.root(o); r != nil {
				v := l.readRoot(r, x.Pos())
				if only := l.fixed[o]; only != nil && v.op == opPhi {
					v = only.find()
				}
				if r, path, ok := l.pointee(v); ok {
					return l.addr(r, path, t, x.Pos()) // what it points to holds now
				}
				return v
			}
			v := l.emit(opUnknown, t, x.Pos())
			v.note = "package variable " + o.Name()
			return v
		}
		if o, ok := l.p.info.Defs[x].(*types.Var); ok {
			if r := l.root(o); r != nil {
				return l.readRoot(r, x.Pos())
			}
		}
		return l.emit(opUnknown, t, x.Pos())
	case *ast.FuncLit:
		return l.closure(x, t)
	case *ast.CompositeLit:
		return l.composite(x, t)
	case *ast.SelectorExpr:
		return l.selector(x, t)
	case *ast.IndexExpr:
		if o := l.p.funcOf(x.X); o != nil {
			v := l.emit(opFunc, t, x.Pos())
			v.fn = o
			return v
		}
		if xs, ok := ast.Unparen(x.X).(*ast.Ident); ok {
			if i, ok := ast.Unparen(x.Index).(*ast.Ident); ok {
				for _, e := range l.indexed {
					if l.p.info.Uses[xs] == e.coll && l.p.info.Uses[i] == e.index {
						return e.elem
					}
				}
			}
		}
		if r, path, ok := l.elementPlace(x); ok {
			return l.readUnder(r, path, t, x.Pos())
		}
		base := l.expr(x.X)
		l.expr(x.Index)
		if tt, ok := t.(*types.Tuple); ok && tt.Len() > 0 {
			t = tt.At(0).Type()
		}
		return l.part(base, t, x.Pos(), "element", true)
	case *ast.IndexListExpr:
		if o := l.p.funcOf(x.X); o != nil {
			v := l.emit(opFunc, t, x.Pos())
			v.fn = o
			return v
		}
		return l.emit(opUnknown, t, x.Pos())
	case *ast.SliceExpr:
		base := l.expr(x.X)
		for _, i := range []ast.Expr{x.Low, x.High, x.Max} {
			if i != nil {
				l.expr(i)
			}
		}
		if b, ok := l.p.typeOf(x.X).Underlying().(*types.Basic); ok && b.Info()&types.IsString != 0 {
			return l.emit(opPure, t, x.Pos(), base)
		}
		v := l.emit(opPart, t, x.Pos(), base)
		v.note = "slice"
		return v
	case *ast.StarExpr:
		base := l.expr(x.X)
		if r, path, ok := l.pointee(base); ok {
			return l.readUnder(r, path, t, x.Pos())
		}
		if l.p.isResource(t) {
			v := l.emit(opCopy, t, x.Pos(), base)
			v.note = "dereferenced"
			return v
		}
		return l.part(base, t, x.Pos(), "*", false)
	case *ast.UnaryExpr:
		return l.unary(x, t)
	case *ast.BinaryExpr:
		return l.binary(x, t)
	case *ast.TypeAssertExpr:
		base := l.expr(x.X)
		if tt, ok := t.(*types.Tuple); ok && tt.Len() > 0 {
			t = tt.At(0).Type()
		}
		return l.emit(opCopy, t, x.Pos(), base)
	}
	return l.emit(opUnknown, t, e.Pos())
}

// part reads a part of base. An element that is plain leads nowhere; a plain
// field of a resource is still a view of it, as it may be a raw handle.
func (l *lower) part(base *value, t types.Type, pos token.Pos, note string, elem bool) *value {
	o := opPart
	if plain(t) && (elem || !integer(t)) {
		o = opElem
	}
	v := l.emit(o, t, pos, base)
	v.note = note
	return v
}

func isBool(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

func integer(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

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
		return l.pointee(l.readUnder(r, path, t, e.Pos()))
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
			return l.readPlace(p)
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
			v.note = "package variable " + o.Name()
			return v
		}
		return l.emit(opUnknown, t, x.Pos())
	}
	switch sel.Kind() {
	case types.MethodExpr:
		v := l.emit(opFunc, t, x.Pos())
		v.fn = sel.Obj().(*types.Func)
		v.note = "method expression"
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
		if v.op == opPack && v.note == "struct" && v.place != nil {
			v = l.readUnder(v.place.root, append(v.place.path[:len(v.place.path):len(v.place.path)], f), t, pos)
			continue
		}
		v = l.part(v, t, pos, "field "+st.Field(f).Name(), false)
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

// addr takes the address of a local place.
func (l *lower) addr(r *root, path []int, t types.Type, pos token.Pos) *value {
	v := l.f.newValue(opAddr, t)
	v.pos = pos
	for _, p := range r.leaves {
		if hasPrefix(p.path, path) || hasPrefix(path, p.path) {
			v.args = append(v.args, l.readPlace(p))
		}
	}
	v.place = &place{root: r, path: path, typ: deref(t), name: ""}
	l.add(v)
	return v
}

func (l *lower) unary(x *ast.UnaryExpr, t types.Type) *value {
	switch x.Op {
	case token.AND:
		inner := ast.Unparen(x.X)
		if c, ok := inner.(*ast.CompositeLit); ok {
			v := l.composite(c, l.p.typeOf(c))
			if l.p.splits(v.typ) {
				// An object of its own, followed field by field.
				r := l.newRoot(nil, "&"+types.TypeString(v.typ, l.p.qualifier), v.typ)
				l.writeRoot(r, v, x.Pos())
				return l.addr(r, nil, t, x.Pos())
			}
			p := l.emit(opCopy, t, x.Pos(), v)
			p.note = "address"
			return p
		}
		if r, path, ok := l.placeOf(inner); ok {
			return l.addr(r, path, t, x.Pos())
		}
		switch y := inner.(type) {
		case *ast.IndexExpr:
			base := l.expr(y.X)
			l.expr(y.Index)
			v := l.emit(opPart, t, x.Pos(), base)
			v.note = "address of element"
			return v
		case *ast.SelectorExpr:
			base := l.expr(y.X)
			v := l.emit(opPart, t, x.Pos(), base)
			v.note = "address of field"
			return v
		}
		base := l.expr(inner)
		return l.emit(opPart, t, x.Pos(), base)
	case token.ARROW:
		ch := l.expr(x.X)
		if tt, ok := t.(*types.Tuple); ok && tt.Len() > 0 {
			t = tt.At(0).Type()
		}
		return l.emit(opRecv, t, x.Pos(), ch)
	case token.NOT:
		return l.emit(opNot, t, x.Pos(), l.expr(x.X))
	}
	return l.emit(opPure, t, x.Pos(), l.expr(x.X))
}

func (l *lower) binary(x *ast.BinaryExpr, t types.Type) *value {
	switch x.Op {
	case token.LAND, token.LOR:
		tb, fb, done := l.block("bool.true"), l.block("bool.false"), l.block("bool.done")
		res := &place{root: &root{name: "bool", typ: t}, typ: t}
		l.cond(x, tb, fb)
		l.sealAndStart(tb)
		l.f.write(res, tb, l.constBool(true))
		l.jump(done)
		l.sealAndStart(fb)
		l.f.write(res, fb, l.constBool(false))
		l.jump(done)
		l.sealAndStart(done)
		return l.readPlace(res)
	case token.EQL, token.NEQ, token.LSS, token.GTR, token.LEQ, token.GEQ:
		a := l.expr(x.X)
		b := l.expr(x.Y)
		v := l.emit(opCmp, t, x.OpPos, a, b)
		v.tok = x.Op
		return v
	}
	a := l.expr(x.X)
	b := l.expr(x.Y)
	return l.emit(opPure, t, x.OpPos, a, b)
}

func (l *lower) composite(x *ast.CompositeLit, t types.Type) *value {
	var args []*value
	if _, isStruct := t.Underlying().(*types.Struct); isStruct && len(x.Elts) == 0 {
		return l.nilValue(t, x.Pos())
	}
	if st, ok := deref(t).Underlying().(*types.Struct); ok && l.p.splits(deref(t)) {
		// Through a temporary, so that parts keep their fields.
		r := l.newRoot(nil, types.TypeString(t, l.p.qualifier), deref(t))
		l.writeRoot(r, l.nilValue(deref(t), x.Pos()), x.Pos())
		for i, el := range x.Elts {
			idx := i
			val := el
			if kv, ok := el.(*ast.KeyValueExpr); ok {
				val = kv.Value
				for j := range st.NumFields() {
					if id, ok := kv.Key.(*ast.Ident); ok && st.Field(j).Name() == id.Name {
						idx = j
					}
				}
			}
			l.writeUnder(r, []int{idx}, l.expr(val), val.Pos())
		}
		if isPointer(t) { // &T elided inside another literal
			return l.addr(r, nil, t, x.Pos())
		}
		return l.readRoot(r, x.Pos())
	}
	for _, el := range x.Elts {
		if kv, ok := el.(*ast.KeyValueExpr); ok {
			if _, isStruct := deref(t).Underlying().(*types.Struct); !isStruct {
				l.mapKey(t, l.expr(kv.Key))
			}
			args = append(args, l.expr(kv.Value))
			continue
		}
		args = append(args, l.expr(el))
	}
	v := l.emit(opPack, t, x.Pos(), args...)
	v.note = "literal"
	return v
}

// mapKey stores k as a key of a map of type t. Keys come out again in a range, and no
// loop over the elements frees them, so a buffer that becomes one has left. An index of
// something else than a map is only read.
func (l *lower) mapKey(t types.Type, k *value) {
	if m, ok := t.Underlying().(*types.Map); ok && !plain(m.Key()) {
		s := l.emit(opStore, nil, k.pos, k)
		s.note = "stored as a key of " + types.TypeString(t, l.p.qualifier)
	}
}

// tuple lowers an expression in a context that takes n values.
func (l *lower) tuple(e ast.Expr, n int) []*value {
	vals := l.exprN(e)
	if a, ok := ast.Unparen(e).(*ast.TypeAssertExpr); ok && n == 2 && len(vals) == 1 {
		switch l.matches(concreteType(vals[0]), []ast.Expr{a.Type}) {
		case yes:
			return append(vals, l.constBool(true))
		case no:
			return append(vals, l.constBool(false))
		}
	}
	for len(vals) < n { // comma, ok
		v := l.emit(opUnknown, types.Typ[types.Bool], e.Pos())
		v.note = "ok"
		vals = append(vals, v)
	}
	return vals
}

func (l *lower) assignStmt(s *ast.AssignStmt) {
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		a := l.expr(s.Lhs[0])
		b := l.expr(s.Rhs[0])
		l.assign(s.Lhs[0], l.emit(opPure, l.p.typeOf(s.Lhs[0]), s.Pos(), a, b))
		return
	}
	if id, ok := ast.Unparen(s.Lhs[0]).(*ast.Ident); ok {
		if v, ok := l.p.info.ObjectOf(id).(*types.Var); ok && l.arrays[v] {
			l.listInto(l.declareAgain(v), ast.Unparen(s.Rhs[0]).(*ast.CompositeLit))
			return
		}
	}
	var vals []*value
	if len(s.Rhs) == 1 && len(s.Lhs) > 1 {
		vals = l.tuple(s.Rhs[0], len(s.Lhs))
	} else {
		for _, e := range s.Rhs {
			vals = append(vals, l.expr(e))
		}
	}
	for i, lhs := range s.Lhs {
		l.define(lhs, vals[i].find(), s.Tok)
	}
}

func (l *lower) define(lhs ast.Expr, v *value, tok token.Token) {
	if id, ok := lhs.(*ast.Ident); ok {
		if id.Name == "_" {
			l.emit(opDiscard, nil, id.Pos(), v)
			return
		}
		if tok == token.DEFINE {
			if o, ok := l.p.info.Defs[id].(*types.Var); ok {
				l.writeRoot(l.declareAgain(o), v, id.Pos())
				l.fix(o, v)
				return
			}
		}
	}
	l.assign(lhs, v)
}

// assign stores v where lhs says.
func (l *lower) assign(lhs ast.Expr, v *value) {
	lhs = ast.Unparen(lhs)
	if id, ok := lhs.(*ast.Ident); ok && id.Name == "_" {
		l.emit(opDiscard, nil, id.Pos(), v)
		return
	}
	if r, path, ok := l.placeOf(lhs); ok {
		for _, p := range r.leaves {
			if len(p.path) < len(path) && hasPrefix(path, p.path) {
				// Below a leaf: the leaf is changed in place.
				old := l.readPlace(p)
				u := l.emit(opStore, nil, lhs.Pos(), v, old)
				u.note = "stored in a field of " + r.name
				return
			}
		}
		l.writeUnder(r, path, v, lhs.Pos())
		return
	}
	switch x := lhs.(type) {
	case *ast.Ident:
		s := l.emit(opStore, nil, x.Pos(), v)
		s.note = "stored in package variable " + x.Name
	case *ast.SelectorExpr:
		base := l.expr(x.X)
		s := l.emit(opStore, nil, x.Pos(), v, base)
		s.note = "stored in field " + x.Sel.Name + " of " + types.TypeString(l.p.typeOf(x.X), l.p.qualifier)
		if l.p.info.Selections[x] == nil {
			s.note = "stored in package variable " + x.Sel.Name
		}
		s.expr = x
	case *ast.IndexExpr:
		if _, isArray := l.p.typeOf(x.X).Underlying().(*types.Array); isArray {
			if r, path, ok := l.placeOf(x.X); ok && l.isLeaf(r, path) {
				// An array is a value: with another element it is another array.
				old := l.readUnder(r, path, l.p.typeOf(x.X), x.Pos())
				l.expr(x.Index)
				put := l.emit(opAppend, l.p.typeOf(x.X), x.Pos(), old, v)
				put.note = "put"
				l.writeUnder(r, path, put, x.Pos())
				return
			}
		}
		base := l.expr(x.X)
		l.mapKey(l.p.typeOf(x.X), l.expr(x.Index))
		s := l.emit(opStore, nil, x.Pos(), v, base)
		s.note = "stored in an element of " + types.TypeString(l.p.typeOf(x.X), l.p.qualifier)
		s.expr = x
	case *ast.StarExpr:
		base := l.expr(x.X)
		s := l.emit(opStore, nil, x.Pos(), v, base)
		s.note = "stored through a pointer"
		s.expr = x
	default:
		s := l.emit(opStore, nil, lhs.Pos(), v)
		s.note = "stored"
	}
}
