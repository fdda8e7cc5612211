package calls

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// OnlyCalled reports whether a method value is called, at once or deferred, and no more, but for marks: each
// such call has the receiver as an operand.
func OnlyCalled(m *ssa.MakeClosure, marks func(ssa.Instruction) bool) bool {
	if Method(m.Fn.(*ssa.Function)) == nil {
		return false
	}
	for _, i := range *m.Referrers() {
		switch c := i.(type) {
		case *ssa.DebugRef:
			continue
		case *ssa.Call, *ssa.Defer:
			common := c.(ssa.CallInstruction).Common()
			if common.Value == m && !slices.Contains(common.Args, ssa.Value(m)) {
				continue
			}
			if marks(i) {
				continue
			}
		}
		return false
	}
	return true
}
