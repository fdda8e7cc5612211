package proof

// Literals that others call when they like, also while one of them runs: a run may find what another left in
// what they capture, so what one stores there has been handed on. What they are called with others have.

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// lasting returns the literals that the root returns, or that these do, or ones that capture nothing: no
// object stands for such a literal, and anybody may have it.
func (f *family) lasting() map[*ssa.Function]bool {
	returned := func(fn *ssa.Function) (out []*ssa.Function) {
		for _, r := range f.rets[fn] {
			fns, _ := f.bodies(f.reach(r))
			out = append(out, fns...)
		}
		return out
	}
	var first []*ssa.Function
	for _, fn := range f.fns {
		if fn == f.root || len(fn.FreeVars) == 0 {
			first = append(first, returned(fn)...)
		}
	}
	return reachable(returned, first...)
}

// isValue reports whether a literal that captures nothing is more than called where it stands.
func isValue(fn *ssa.Function) bool {
	return fn.Parent() != nil && len(fn.FreeVars) == 0 &&
		slices.ContainsFunc(*fn.Referrers(), func(r ssa.Instruction) bool {
			c := callOf(r)
			return c == nil || c.Common().StaticCallee() != fn || slices.Contains(c.Common().Args, ssa.Value(fn))
		})
}

// lendsMemory lets the operands of literals that others call lead to memory that these have, or to nothing.
func (f *family) lendsMemory() {
	last := f.lasting()
	for _, fn := range f.fns {
		if !last[fn] && !isValue(fn) {
			continue
		}
		for _, p := range fn.Params {
			if _, handed := f.owns[p]; handed {
				f.flow(p, 0, set{1 << unknownElem})
				continue
			}
			switch p.Type().Underlying().(type) {
			case *types.Basic, *types.Signature:
			default:
				id := f.memory(p)
				f.put(id, set{1 << unknownElem})
				f.flow(p, 0, single(zeroElem))
			}
		}
	}
}

// findLasting notes of each literal that others call when they like what it runs.
func (g *graph) findLasting() {
	g.lasting = map[*ssa.Function]map[*ssa.Function]bool{}
	for fn := range g.f.lasting() {
		g.lasting[fn] = reachable(g.runs, fn)
	}
}

// outlasts reports whether others have o, where fn runs for a literal that they call when they like: it is
// lent to that, or was made outside of it.
func (g *graph) outlasts(o *object, fn *ssa.Function) bool {
	if _, lent := o.at.(*ssa.Parameter); lent {
		return true
	}
	for _, runs := range g.lasting {
		if runs[fn] && (o.at == nil || !runs[o.at.Parent()]) {
			return true
		}
	}
	return false
}
