package escape

// Source to flow form: built-in functions and conversions.

import (
	"go/ast"
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/report"
)

func (l *lower) builtin(call *ast.CallExpr) string {
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		if b, ok := l.p.info.Uses[f].(*types.Builtin); ok {
			return b.Name()
		}
	case *ast.SelectorExpr:
		if b, ok := l.p.info.Uses[f.Sel].(*types.Builtin); ok {
			return "unsafe." + b.Name()
		}
	}
	return ""
}

func (l *lower) conversion(call *ast.CallExpr, t types.Type) *value {
	v := l.expr(call.Args[0])
	o := opCopy
	from := l.p.typeOf(call.Args[0]).Underlying()
	if b, ok := from.(*types.Basic); ok && b.Info()&types.IsString != 0 {
		o = opPure
	}
	if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&(types.IsString|types.IsFloat|types.IsComplex) != 0 {
		o = opElem
	}
	if _, slice := from.(*types.Slice); slice {
		if _, array := deref(t).Underlying().(*types.Array); array {
			l.mayPanic(call.Pos()) // it may be too short
		}
	}
	x := l.emit(o, t, call.Pos(), v)
	x.expr, x.end = call, call.End()
	return x
}

func (l *lower) callBuiltin(call *ast.CallExpr, name string) []*value {
	t := l.p.typeOf(call)
	one := func(v *value) []*value {
		v.expr, v.end = call, call.End()
		return []*value{v}
	}
	switch name {
	case "append", "copy", "len", "cap", "new", "min", "max", "print", "println", "recover":
	default:
		l.mayPanic(call.Pos())
		defer func() { l.mayPanic(call.Pos()) }()
	}
	switch name {
	case "append":
		args := l.args(call)
		v := l.emit(opAppend, t, call.Pos(), args...)
		if call.Ellipsis.IsValid() {
			v.note.Kind = report.Spread
		}
		return one(v)
	case "copy":
		args := l.args(call)
		if len(args) == 2 {
			if s, ok := l.p.typeOf(call.Args[0]).Underlying().(*types.Slice); ok && !l.p.plain(s.Elem()) {
				st := l.emit(opStore, nil, call.Pos(), args[1], args[0])
				st.note.Kind = report.InSlice
			}
		}
		return one(l.emit(opElem, t, call.Pos(), args...))
	case "len", "cap":
		l.expr(call.Args[0])
		return one(l.emit(opUnknown, t, call.Pos()))
	case "new":
		el := deref(t)
		if l.p.splits(el) || l.flagged[call] && isBool(el) {
			r := l.newRoot(nil, "new", el)
			l.writeRoot(r, l.nilValue(el, call.Pos()), call.Pos())
			return one(l.addr(r, nil, t, call.Pos()))
		}
		if tv := l.p.info.Types[call.Args[0]]; !tv.IsType() { // new(expr)
			return one(l.emit(opPack, t, call.Pos(), l.expr(call.Args[0])))
		}
		return one(l.emit(opPack, t, call.Pos()))
	case "make":
		for _, a := range call.Args[1:] {
			l.expr(a)
		}
		v := l.emit(opPack, t, call.Pos())
		v.note.Kind = report.Made
		return one(v)
	case "panic":
		v := l.expr(call.Args[0])
		if l.splice != nil && l.cur != nil {
			l.mayPanic(call.Pos())
			// No statement can be put in front of it here: like a call that
			// may panic, it ends the path and gets nothing.
			l.cur.noreturn = true
			l.cur = nil
			return nil
		}
		was := l.panicking
		l.panicking = true
		l.runDefers(call.Pos())
		l.panicking = was
		l.unjoined(call.Pos())
		if l.cur != nil {
			l.emit(opPanic, nil, call.Pos(), v)
			l.cur = nil
		}
		return nil
	case "recover":
		if l.deferring != nil && !l.panicking {
			return one(l.nilValue(t, call.Pos())) // the function returns: there is no panic
		}
		return one(l.emit(opUnknown, t, call.Pos()))
	case "delete":
		args := l.args(call)
		v := l.emit(opUse, nil, call.Pos(), args...)
		v.note.Kind = report.Deleted
		return nil
	case "clear", "close", "print", "println":
		v := l.emit(opUse, nil, call.Pos(), l.args(call)...)
		if name == "clear" {
			v.note.Kind = report.Cleared
		}
		return nil
	case "unsafe.Slice", "unsafe.SliceData", "unsafe.Add", "unsafe.String", "unsafe.StringData":
		args := l.args(call)
		return one(l.emit(opPart, t, call.Pos(), args[0]))
	}
	return one(l.emit(opPure, t, call.Pos(), l.args(call)...))
}
