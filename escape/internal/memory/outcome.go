package memory

import (
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
		if def, ok := v.(ssa.Instruction); ok {
			made = def.Block()
		}
		on, known = ir.NonNil(r.Block(), made, func(x ssa.Value) bool { return x == v })
	}
	return !known || !on, !known || on
}

// alwaysNil reports whether a variable is never set to anything but nil.
func alwaysNil(addr ssa.Value) bool {
	return !slices.ContainsFunc(*addr.Referrers(), func(i ssa.Instruction) bool {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.UnOp:
			return false
		case *ssa.Store:
			c, ok := i.Val.(*ssa.Const)
			return i.Addr != addr || !ok || !c.IsNil()
		case *ssa.MakeClosure:
			return !alwaysNil(i.Fn.(*ssa.Function).FreeVars[slices.Index(i.Bindings, addr)])
		}
		return true
	})
}

// AsksError reports whether a call asks of its first operand whether that is some error: nil is none.
func AsksError(c *ssa.CallCommon) bool {
	fn := calls.Called(c)
	return fn != nil && (fn.FullName() == "errors.Is" || fn.FullName() == "errors.As")
}
