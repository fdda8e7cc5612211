package calls

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Load reads a field of what an address leads to, by a path of fields, or all of that.
type Load struct {
	Value *ssa.UnOp
	Path  []int
}

// Loads returns what a function, and the literals in it, read of what address v leads to, and whether they do
// nothing else with v; marks are the instructions that are there for places only.
func Loads(v ssa.Value, marks func(ssa.Instruction) bool) (loads []Load, only bool) {
	only = true
	add := func(v ssa.Value, path ...int) {
		more, ok := Loads(v, marks)
		only = only && ok
		for _, l := range more {
			loads = append(loads, Load{l.Value, slices.Concat(path, l.Path)})
		}
	}
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.UnOp:
			if !marks(i) {
				loads = append(loads, Load{i, nil})
			}
		case *ssa.FieldAddr:
			add(i, i.Field)
		case *ssa.MakeClosure:
			if fn := i.Fn.(*ssa.Function); Method(fn) == nil {
				add(fn.FreeVars[slices.Index(i.Bindings, v)])
			} else {
				only = false
			}
		default:
			only = only && marks(i)
		}
	}
	return loads, only
}
