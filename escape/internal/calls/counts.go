package calls

import (
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// This file is about numbers in a receiver that methods add to, atomically.

// CountsDown reports whether a function takes one from a number in its first operand, atomically, and looks
// whether anything is left.
func CountsDown(f *ssa.Function) bool {
	_, last := LastOne(f)
	return last != nil
}

// LastOne returns the field from which a function takes one, and the block where nothing is left.
func LastOne(f *ssa.Function) (field *types.Var, last *ssa.BasicBlock) {
	for _, b := range f.Blocks {
		branch, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		test, ok := branch.Cond.(*ssa.BinOp)
		if !ok || test.Op != token.EQL && test.Op != token.NEQ || !IsInt(test.Y, 0) {
			continue
		}
		c, ok := test.X.(*ssa.Call)
		if !ok {
			continue
		}
		at := 0
		if test.Op == token.NEQ {
			at = 1
		}
		if field := Adds(f, c, -1); field != nil && len(b.Succs[at].Preds) == 1 {
			return field, b.Succs[at]
		}
	}
	return nil, nil
}

// Adds returns the field of the receiver to which a call adds a number, atomically; nil if it does not.
func Adds(f *ssa.Function, c *ssa.Call, n int64) *types.Var {
	fn := Called(&c.Call)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "sync/atomic" || !strings.HasPrefix(fn.Name(), "Add") {
		return nil
	}
	args := Operands(&c.Call)
	at := args[0]
	if load, ok := at.(*ssa.UnOp); ok && load.Op == token.MUL { // the number may stand elsewhere
		at = load.X
	}
	a, ok := at.(*ssa.FieldAddr)
	if !ok || a.X != f.Params[0] || len(args) != 2 || !IsInt(args[1], n) {
		return nil
	}
	s, ok := f.Params[0].Type().Underlying().(*types.Pointer)
	if !ok {
		return nil
	}
	return s.Elem().Underlying().(*types.Struct).Field(a.Field)
}

// IsInt reports whether a value is a number that is known.
func IsInt(v ssa.Value, n int64) bool {
	c, ok := v.(*ssa.Const)
	if !ok || c.Value == nil || c.Value.Kind() != constant.Int {
		return false
	}
	x, exact := constant.Int64Val(c.Value)
	return exact && x == n
}
