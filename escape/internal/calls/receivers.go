package calls

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// chosen lists the methods that a call through an interface may run whose value was made in the function, of
// types that are seen. It is false if that is not so, or one has the method of what it embeds.
func chosen(c *ssa.CallCommon) (ts []Target, ok bool) {
	seen := map[ssa.Value]bool{}
	var add func(v ssa.Value) bool
	add = func(v ssa.Value) bool {
		if seen[v] {
			return true
		}
		seen[v] = true
		switch v := v.(type) {
		case *ssa.Const:
			return v.IsNil() // which has no methods
		case *ssa.ChangeInterface:
			return add(v.X)
		case *ssa.Phi:
			return !slices.ContainsFunc(v.Edges, func(e ssa.Value) bool { return !add(e) })
		case *ssa.MakeInterface:
			t := v.X.Type()
			if _, param := types.Unalias(t).(*types.TypeParam); param {
				return false
			}
			m := types.NewMethodSet(t).Lookup(c.Method.Pkg(), c.Method.Name())
			if m == nil || len(m.Index()) != 1 {
				return false
			}
			if fn := m.Obj().(*types.Func).Origin(); !slices.Contains(ts, Target{Func: fn}) {
				ts = append(ts, Target{Func: fn})
			}
			return len(ts) <= mostTargets
		}
		return false
	}
	ok = add(c.Value) && len(ts) > 0
	return ts, ok
}
