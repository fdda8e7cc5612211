package escape

// Interfaces and nil: a nil pointer in an interface makes no nil interface, and an
// assertion that fails gives nil for what is none.

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// boxing says how a type holds a value.
type boxing uint8

const (
	bare    boxing = iota // as it is
	inBox                 // in an interface
	generic               // a type parameter: one or the other
)

func boxed(t types.Type) boxing {
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return generic
	}
	if types.IsInterface(t) {
		return inBox
	}
	return bare
}

// box converts v to type t where it is assigned to, or compared with, something of
// that type: source leaves that conversion out.
func (l *lower) box(v *value, t types.Type, pos token.Pos) *value {
	if from := v.find().typ0(); boxed(t) != inBox || boxed(from) == inBox || untyped(from) {
		return v
	}
	return l.emit(opCopy, t, pos, v.find())
}

// boxes reports whether copy v puts something that is no interface into one.
func (v *value) boxes() bool {
	if v.op != opCopy {
		return false
	}
	from := v.args[0].find().typ0()
	return boxed(v.typ0()) == inBox && boxed(from) != inBox && !untyped(from)
}

// untyped reports whether t is the type of nil itself, or not known.
func untyped(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && (b.Kind() == types.UntypedNil || b.Kind() == types.Invalid)
}

// copied strips copies, but for reads of what others may assign.
func copied(v *value) *value {
	for v.op == opCopy && v.from == nil {
		v = v.args[0].find()
	}
	return v
}

// errRoot strips the copies that are nil exactly where what they copy is.
func errRoot(v *value) *value {
	for v.op == opCopy && !v.opaque() && v.note.Kind != report.CommaOK && v.note.Kind != report.Pointee {
		from := v.args[0].find()
		if boxed(v.typ0()) != boxed(from.typ0()) && !untyped(from.typ0()) {
			break
		}
		v = from
	}
	if v.op == opAddr && len(v.place.path) == 0 && v.place.root.result != nil {
		return v.place.root.result // that one pointer, whatever it leads to by now
	}
	return v
}

// saysNil reports whether v is nil exactly where there is no buffer.
func saysNil(v *value) bool {
	for ; v.op == opCopy; v = v.args[0].find() {
		if v.note.Kind == report.CommaOK || v.boxes() || v.opaque() {
			return false
		}
	}
	return true
}

// compared converts the operands of a comparison, of x and y, to one type.
func (l *lower) compared(a *value, x ast.Expr, b *value, y ast.Expr) (*value, *value) {
	tx, ty := l.p.typeOf(x), l.p.typeOf(y)
	nx, ny := l.p.info.Types[x].IsNil(), l.p.info.Types[y].IsNil()
	if !nx && (boxed(tx) == inBox || !ny && boxed(ty) == inBox) {
		a = l.box(a, interfaceOf(tx, ty), x.Pos())
	}
	if !ny && (boxed(ty) == inBox || !nx && boxed(tx) == inBox) {
		b = l.box(b, interfaceOf(ty, tx), y.Pos())
	}
	return a, b
}

// interfaceOf returns the first of two types that is an interface.
func interfaceOf(t, u types.Type) types.Type {
	if boxed(t) == inBox {
		return t
	}
	return u
}

// uneven reports whether comparing x and y may panic, as interfaces may hold what
// cannot be compared.
func (p *pkg) uneven(x, y ast.Expr) bool {
	if p.info.Types[x].IsNil() || p.info.Types[y].IsNil() {
		return false
	}
	return dynamic(p.typeOf(x), 0) && dynamic(p.typeOf(y), 0)
}

// dynamic reports whether values of type t are compared by what interfaces hold.
func dynamic(t types.Type, depth int) bool {
	switch u := t.Underlying().(type) {
	case *types.Interface:
		return true
	case *types.Array:
		return dynamic(u.Elem(), depth+1)
	case *types.Struct:
		for i := range u.NumFields() {
			if depth > 20 || dynamic(u.Field(i).Type(), depth+1) {
				return true
			}
		}
	}
	return false
}
