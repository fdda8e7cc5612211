package memory

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// Outcome returns whether a return may be one without an error, and one with an error, as far as what is
// known to be nil tells. A function whose last result is none returns no errors.
func Outcome(r *ssa.Return, nonNil func(ssa.Value) (on, known bool)) (success, failure bool) {
	if !effect.HasError(r.Parent().Signature) {
		return true, false
	}
	v := Last(r)
	switch i := v.(type) {
	case *ssa.Const:
		return i.IsNil(), !i.IsNil()
	case *ssa.MakeInterface:
		return false, true
	case *ssa.Call:
		if fn := calls.Called(&i.Call); fn != nil && effect.AlwaysFails(fn.FullName()) {
			return false, true
		}
	case *ssa.UnOp:
		if a, ok := i.X.(*ssa.Alloc); ok && alwaysNil(a) {
			return true, false
		}
	}
	on, known := nonNil(v)
	if !known {
		var made *ssa.BasicBlock
		load, ok := v.(*ssa.UnOp)
		if def, is := v.(ssa.Instruction); is && !(ok && InMemory(load.X)) {
			made = def.Block()
		}
		on, known = ir.NonNil(r.Block(), made, func(x ssa.Value) bool { return sameRead(x, v) })
	}
	return !known || !on, !known || on
}

// Fails reports whether a return is one with an error, whatever way leads there.
func Fails(r *ssa.Return) bool {
	success, _ := Outcome(r, func(ssa.Value) (on, known bool) { return false, false })
	return !success
}

// stored calls see with what is put into a variable, here and in literals that capture it, and reports
// whether nobody else gets at it.
func stored(addr ssa.Value, see func(*ssa.Store)) bool {
	return !slices.ContainsFunc(*addr.Referrers(), func(i ssa.Instruction) bool {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.UnOp:
			return false
		case *ssa.Store:
			see(i)
			return i.Addr != addr
		case *ssa.MakeClosure:
			return !stored(i.Fn.(*ssa.Function).FreeVars[slices.Index(i.Bindings, addr)], see)
		}
		return true
	})
}

// alwaysNil reports whether a variable is never set to anything but nil.
func alwaysNil(addr ssa.Value) bool {
	none := true
	return stored(addr, func(s *ssa.Store) {
		c, ok := s.Val.(*ssa.Const)
		none = none && ok && c.IsNil()
	}) && none
}

// steady reports whether a variable is set by its function alone, and by no literal.
func steady(addr ssa.Value) bool {
	own := true
	return stored(addr, func(s *ssa.Store) { own = own && s.Parent() == addr.Parent() }) && own
}

// sameRead reports whether two loads read a variable with nothing between them that sets it.
func sameRead(x, y ssa.Value) bool {
	a, ok := x.(*ssa.UnOp)
	b, also := y.(*ssa.UnOp)
	if x == y || !ok || !also || a.Op != token.MUL || a.X != b.X || !InMemory(a.X) || !steady(a.X) {
		return x == y
	}
	return !slices.ContainsFunc(ir.Stores(a.X), func(s *ssa.Store) bool {
		return ir.Leads(a, s) && ir.Leads(s, b)
	})
}

// AsksError reports whether a call asks of its first operand whether that is some error: nil is none.
func AsksError(c *ssa.CallCommon) bool {
	fn := calls.Called(c)
	return fn != nil && (fn.FullName() == "errors.Is" || fn.FullName() == "errors.As")
}
