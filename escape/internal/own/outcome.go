package own

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
)

// Outcome returns whether a return may be one without an error, and one with an error, where conditions are
// as in a combination. A function whose last result is none returns no errors.
func Outcome(r *ssa.Return, c Combination) (success, failure bool) {
	if !effect.HasError(r.Parent().Signature) {
		return true, false
	}
	v := r.Results[len(r.Results)-1]
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
	on, known := c.NonNil(v)
	if !known {
		on, known = tested(v, r.Block())
	}
	return !known || !on, !known || on
}

// tested returns whether v is not nil in a block, where a branch that leads there says so.
func tested(v ssa.Value, b *ssa.BasicBlock) (on, known bool) {
	def, _ := v.(ssa.Instruction)
	for ; b.Idom() != nil && (def == nil || b != def.Block()); b = b.Idom() {
		if len(b.Preds) != 1 {
			continue
		}
		from := b.Preds[0]
		i, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		c, ok := i.Cond.(*ssa.BinOp)
		if !ok || c.Op != token.NEQ && c.Op != token.EQL {
			continue
		}
		x, y := c.X, c.Y
		if x != v {
			x, y = y, x
		}
		if k, ok := y.(*ssa.Const); ok && x == v && k.IsNil() {
			return (c.Op == token.NEQ) == (from.Succs[0] == b), true
		}
	}
	return false, false
}
