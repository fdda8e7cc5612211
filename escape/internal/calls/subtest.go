package calls

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// This file is about subtests. What runs one has a line that lends it the function, and returns when that
// has: unless the function calls Parallel on its test, or somebody may who is given it.

// goesOn reports whether a call runs a subtest that may go on when it has returned.
func (t *Table) goesOn(fn *types.Func, c *ssa.CallCommon) bool {
	if fn.Name() != "Run" || fn.FullName() != "(*testing.T).Run" { // few names have to be spelled out
		return false
	}
	v := Operands(c)[2]
	if m, ok := v.(*ssa.MakeClosure); ok {
		v = m.Fn
	}
	f, ok := v.(*ssa.Function)
	return !ok || len(f.Blocks) == 0 || !t.inTurn(f.Params[0], map[ssa.Value]bool{})
}

// inTurn reports whether nobody calls Parallel who has a test: what is done with it is to call its other
// methods, and to hand it to assertions, or to functions of the package of which the same is true.
func (t *Table) inTurn(test ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[test] {
		return true
	}
	seen[test] = true
	return !slices.ContainsFunc(*test.Referrers(), func(i ssa.Instruction) bool {
		switch i := i.(type) {
		case *ssa.DebugRef:
			return false
		case *ssa.MakeInterface, *ssa.ChangeInterface, *ssa.FieldAddr:
			return !t.inTurn(i.(ssa.Value), seen)
		case *ssa.Call:
			return !t.lends(&i.Call, test, seen)
		}
		return true
	})
}

// lends reports whether a call hands a test to nobody who calls Parallel.
func (t *Table) lends(c *ssa.CallCommon, test ssa.Value, seen map[ssa.Value]bool) bool {
	fn, body := Called(c), c.StaticCallee()
	if fn == nil || fn.Name() == "Parallel" {
		return false
	}
	for k, v := range Operands(c) {
		switch {
		case v != test, k == 0 && (c.IsInvoke() || fn.Pkg().Path() == "testing"): // its own method
		case t.line(fn) != nil && t.Func(fn).Params[k].Borrows():
		case body == nil || len(body.Blocks) == 0 || !t.inTurn(body.Params[k], seen):
			return false
		}
	}
	return true
}
