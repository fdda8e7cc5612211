package memory

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/lift"
)

// Outcome returns whether a return may be one without an error, and one with an error, as far as what is
// known to be nil tells. A function whose last result is none returns no errors.
func (f *Func) Outcome(r *ssa.Return, nonNil func(ssa.Value) (on, known bool)) (success, failure bool) {
	if !effect.HasError(r.Parent().Signature) {
		return true, false
	}
	v := f.Last(r)
	switch i := v.(type) {
	case *ssa.Const:
		return i.IsNil(), !i.IsNil()
	case *ssa.MakeInterface:
		return false, true
	case *ssa.Call:
		if fn := calls.Called(&i.Call); fn != nil && effect.AlwaysFails(fn.FullName()) {
			return false, true
		}
	}
	on, known := nonNil(v)
	if !known {
		made, _ := lift.Ways(v)
		load, ok := v.(*ssa.UnOp)
		if def, is := v.(ssa.Instruction); is && !(ok && InMemory(load.X)) {
			made = def.Block()
		}
		on, known = ir.NonNil(r.Block(), made, func(x ssa.Value) bool { return f.Stored(x) == v })
	}
	return !known || !on, !known || on
}

// Fails reports whether a return is one with an error, whatever way leads there.
func (f *Func) Fails(r *ssa.Return) bool {
	success, _ := f.Outcome(r, func(ssa.Value) (on, known bool) { return false, false })
	return !success
}

// Last returns the last result of a return: what was put into its variable before deferred calls run, if it
// lies in one that these do not set.
func (f *Func) Last(r *ssa.Return) ssa.Value { return f.Stored(r.Results[len(r.Results)-1]) }

// AsksError reports whether a call asks of its first operand whether that is some error: nil is none.
func AsksError(c *ssa.CallCommon) bool {
	fn := calls.Called(c)
	return fn != nil && (fn.FullName() == "errors.Is" || fn.FullName() == "errors.As")
}
