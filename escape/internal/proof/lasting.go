package proof

// Literals that others call when they like, also while one of them runs: a run may find what another left in
// what they capture, so what one stores there has been handed on.

import "golang.org/x/tools/go/ssa"

// findLasting collects the literals that the root returns, or that these do, or ones that capture nothing: no
// object stands for such a literal, and anybody may have it.
func (g *graph) findLasting() {
	f := g.f
	g.lasting = map[*ssa.Function]map[*ssa.Function]bool{}
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
	for fn := range reachable(returned, first...) {
		g.lasting[fn] = reachable(g.runs, fn)
	}
}

// outlasts reports whether fn, where it runs for a literal that others call when they like, and within
// itself, finds what another run of that left in o.
func (g *graph) outlasts(o *object, fn *ssa.Function) bool {
	for _, runs := range g.lasting {
		if runs[fn] && (o.at == nil || !runs[o.at.Parent()]) {
			return true
		}
	}
	return false
}
