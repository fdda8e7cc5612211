package escape

// Source to flow form: expressions and assignments.

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/report"
)

func (p *pkg) typeOf(e ast.Expr) types.Type {
	if t := p.info.TypeOf(e); t != nil {
		return t
	}
	return types.Typ[types.Invalid]
}

// plain reports whether values of type t lead to no memory and own nothing.
func (p *pkg) plain(t types.Type) bool { return plain(t) && !p.holdsResource(t) }

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
	if l.panics(e) {
		l.mayPanic(e.Pos())
	}
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
				v := l.settled(x, l.readRoot(r, x.Pos()))
				if _, _, ok := l.pointee(v); ok {
					v = l.again(v, x.Pos()) // what it points to holds now
				}
				return l.reread(v, o, r, x.Pos())
			}
			v := l.emit(opUnknown, t, x.Pos())
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
		return l.part(base, t, x.Pos(), report.Note{Kind: report.Element}, true)
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
		v.note.Kind = report.Slice
		return v
	case *ast.StarExpr:
		base := l.expr(x.X)
		if r, path, ok := l.pointee(base); ok {
			return l.readUnder(r, path, t, x.Pos())
		}
		if l.p.isResource(t) {
			v := l.emit(opCopy, t, x.Pos(), base)
			v.note.Kind = report.Pointee
			return v
		}
		return l.part(base, t, x.Pos(), report.Note{}, false)
	case *ast.UnaryExpr:
		return l.unary(x, t)
	case *ast.BinaryExpr:
		return l.binary(x, t)
	case *ast.TypeAssertExpr:
		base := l.expr(x.X)
		tt, comma := t.(*types.Tuple)
		if comma && tt.Len() > 0 {
			t = tt.At(0).Type()
		}
		v := l.emit(opCopy, t, x.Pos(), base)
		if comma {
			v.note.Kind = report.CommaOK
		}
		return v
	}
	return l.emit(opUnknown, t, e.Pos())
}

// part reads a part of base. An element that is plain leads nowhere; a plain
// field of a resource is still a view of it, as it may be a raw handle.
func (l *lower) part(base *value, t types.Type, pos token.Pos, note report.Note, elem bool) *value {
	o := opPart
	if l.p.plain(t) && (elem || !integer(t)) {
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
			if r := l.flagRoot(x, v.typ); r != nil {
				l.writeRoot(r, v, x.Pos())
				return l.addr(r, nil, t, x.Pos())
			}
			p := l.emit(opCopy, t, x.Pos(), v)
			p.note.Kind = report.Address
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
			v.note.Kind = report.Element
			return v
		case *ast.SelectorExpr:
			base := l.expr(y.X)
			return l.emit(opPart, t, x.Pos(), base)
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
		a, b = l.compared(a, x.X, b, x.Y)
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
	var keys []*value
	for _, el := range x.Elts {
		if kv, ok := el.(*ast.KeyValueExpr); ok {
			if _, isStruct := deref(t).Underlying().(*types.Struct); !isStruct {
				keys = append(keys, l.expr(kv.Key))
				if m, ok := t.Underlying().(*types.Map); ok && dynamic(m.Key(), 0) {
					l.mayPanic(kv.Key.Pos())
				}
			}
			args = append(args, l.expr(kv.Value))
			continue
		}
		args = append(args, l.expr(el))
	}
	v := l.emit(opPack, t, x.Pos(), args...)
	v.note.Kind = report.Literal
	for _, k := range keys {
		l.mapKey(t, v, k)
	}
	return v
}

// mapKey stores k as a key of m, a map of type t. Keys come out again in a range. A map
// whose elements own nothing holds them: they are in use for as long as it is. No loop
// over the elements frees the keys, so one of a map that owns has left. An index of
// something else than a map is only read.
func (l *lower) mapKey(t types.Type, m, k *value) {
	mt, ok := t.Underlying().(*types.Map)
	if ok && carries(mt.Key(), 0) && l.p.plain(mt.Key()) {
		l.emit(opUse, nil, k.pos, k).note.Kind = report.NumberKey
	}
	if !ok || l.p.plain(mt.Key()) {
		return
	}
	s := l.emit(opStore, nil, k.pos, k)
	if !l.p.holdsResource(mt.Elem()) {
		s.args = append(s.args, m)
	}
	s.note = report.Note{Kind: report.InKey, Of: types.TypeString(t, l.p.qualifier)}
}
