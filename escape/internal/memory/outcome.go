package memory

import (
	"go/token"
	"go/types"

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

// AsksSome returns the slice of which a comparison asks whether there is something in it, and whether it is
// true where there is nothing; nil for any other comparison.
func AsksSome(b *ssa.BinOp) (of ssa.Value, not bool) {
	x, y, op := b.X, b.Y, b.Op
	if _, turned := x.(*ssa.Const); turned {
		x, y = y, x
		op = map[token.Token]token.Token{token.LSS: token.GTR, token.LEQ: token.GEQ, token.GTR: token.LSS, token.GEQ: token.LEQ,
			token.EQL: token.EQL, token.NEQ: token.NEQ}[op]
	}
	c, ok := x.(*ssa.Call)
	n, number := y.(*ssa.Const)
	if !ok || !number || n.Value == nil {
		return nil, false
	}
	if l, builtin := c.Call.Value.(*ssa.Builtin); !builtin || l.Name() != "len" {
		return nil, false
	}
	if _, slice := c.Call.Args[0].Type().Underlying().(*types.Slice); !slice {
		return nil, false
	}
	switch n, op := n.Int64(), op; {
	case n == 0 && (op == token.GTR || op == token.NEQ), n == 1 && op == token.GEQ:
		return c.Call.Args[0], false
	case n == 0 && (op == token.EQL || op == token.LEQ), n == 1 && op == token.LSS:
		return c.Call.Args[0], true
	}
	return nil, false
}
