package ir

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// This file is about how slices and arrays are written.

// InArray lists what is stored in a new array, each element once, before it is sliced, in the same block. It
// is false if anything else is done with the array.
func InArray(a *ssa.Alloc, s *ssa.Slice) (vals []ssa.Value, stores []ssa.Instruction, ok bool) {
	indexes := map[string]bool{}
	for _, i := range *a.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.Slice:
			if i != s {
				return nil, nil, false
			}
		case *ssa.IndexAddr:
			refs := slices.DeleteFunc(slices.Clone(*i.Referrers()), func(r ssa.Instruction) bool {
				_, debug := r.(*ssa.DebugRef)
				return debug
			})
			if len(refs) != 1 || indexes[i.Index.Name()] {
				return nil, nil, false
			}
			indexes[i.Index.Name()] = true
			st, store := refs[0].(*ssa.Store)
			if _, constant := i.Index.(*ssa.Const); !constant || !store || st.Addr != i || st.Block() != s.Block() ||
				!Before(st, s) {
				return nil, nil, false
			}
			vals, stores = append(vals, st.Val), append(stores, st)
		default:
			return nil, nil, false
		}
	}
	return vals, stores, true
}

// IsCut reports whether a slice is a part of another one.
func IsCut(v ssa.Value) bool {
	s, ok := v.(*ssa.Slice)
	return ok && types.Identical(s.X.Type(), s.Type())
}

// Zero reports whether a value is the constant 0.
func Zero(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value != nil && c.Int64() == 0
}
