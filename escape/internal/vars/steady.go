package vars

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Steady reports whether code that the function fn defers finds in the variable v, or where v points,
// what it held when something panicked: v belongs to fn, which never takes its address or hands the
// pointer on; it is assigned in fn, or by a literal with a name that fn alone calls, and by nothing
// that is deferred.
func (x *Index) Steady(v *types.Var, fn ast.Node) bool {
	if !within(fn, v.Pos()) {
		return false
	}
	s := x.of(v)
	return s.steady.ask(fn, func() bool { return x.findSteady(s, v, fn) })
}

func (x *Index) findSteady(s *variable, v *types.Var, fn ast.Node) bool {
	pointer := isPointer(v.Type())
	for _, i := range s.at {
		u := &x.uses[i]
		written, other := u.flag(pointer)
		if other {
			return false
		}
		if !written || u.Lit.of(fn) && !u.later(fn) {
			continue
		}
		l := u.Lit
		if l.of(fn) || !l.Up.of(fn) || u.later(fn) || l.Name == nil || !x.onlyCalled(l.Name, fn) {
			return false
		}
	}
	return true
}

// of reports whether no literal but fn itself is between fn and what l is the innermost one around.
func (l *Lit) of(fn ast.Node) bool { return l == nil || l.Node == fn || !within(fn, l.Node.Pos()) }

// later reports whether u is deferred in fn, or on another goroutine.
func (u *Use) later(fn ast.Node) bool { return u.Later != nil && within(fn, u.Later.Pos()) }

// flag says of a use whether it assigns the variable, a field or what the variable points to; other is
// a use through which something else may do that.
func (u *Use) flag(pointer bool) (written, other bool) {
	alone := pointer && u.Part&(Field|Star) == 0 // the pointer goes on
	switch u.Op {
	case Declare, Define, MethodVal:
		return false, false
	case Addr, MethodRef, MethodPtr:
		return false, true
	case Assign:
		return u.Part&Elem == 0, u.Tok == token.RANGE || alone
	case Drop:
		return false, false
	}
	return false, alone
}

// onlyCalled reports whether w, which is assigned one literal and nothing else, is only called by fn:
// in no literal, and not deferred.
func (x *Index) onlyCalled(w *types.Var, fn ast.Node) bool {
	if !within(fn, w.Pos()) || !x.Once(w) {
		return false
	}
	s := x.of(w)
	return s.called.ask(fn, func() bool { return x.findCalled(s, fn) })
}

func (x *Index) findCalled(s *variable, fn ast.Node) bool {
	for _, i := range s.at {
		switch u := &x.uses[i]; u.Op {
		case Declare, Define, Drop:
		case Call:
			if u.Steps > 0 || !u.Lit.of(fn) || u.later(fn) {
				return false
			}
		default:
			return false
		}
	}
	return true
}
