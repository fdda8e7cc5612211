package memory

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// This file is about variables that change places around a loop, as in a, b = b, a, or in a, b = b, c.

// Turning returns those of the phis of one block that become one another, in a circle or in a row: as far as
// those that have to do with one another become nothing else than what was made for them or is nothing, none
// of them may be several, and no two the same.
func Turning(phis []*ssa.Phi, made func(ssa.Value) bool) (out []*ssa.Phi) {
	if len(phis) < 2 {
		return nil
	}
	of := map[ssa.Value][][]ssa.Value{} // by edge
	for _, p := range phis {
		for _, e := range p.Edges {
			of[p] = append(of[p], comesOf(e, phis, made))
		}
	}
	become := func(q ssa.Value) []*ssa.Phi { // others that it becomes
		return slices.DeleteFunc(slices.Clone(phis), func(p *ssa.Phi) bool {
			return ssa.Value(p) == q || !slices.Contains(slices.Concat(of[p]...), q)
		})
	}
	seen := map[ssa.Value]bool{}
	for _, p := range phis {
		var part []*ssa.Phi
		for open := []ssa.Value{p}; len(open) > 0; open = open[1:] {
			q, ok := open[0].(*ssa.Phi)
			if !ok || seen[q] {
				continue
			}
			seen[q] = true
			from, to := slices.Concat(of[q]...), become(q)
			open = append(open, from...)
			for _, r := range to {
				open = append(open, r)
			}
			// Else it is what another one is, too, and nobody becomes that.
			if len(to) > 0 || slices.ContainsFunc(from, func(r ssa.Value) bool {
				_, phi := r.(*ssa.Phi)
				return phi && r != ssa.Value(q) && len(become(r)) == 1
			}) {
				part = append(part, q)
			}
		}
		if len(part) > 1 && !mixed(part, of) {
			out = append(out, part...)
		}
	}
	return out
}

// comesOf lists what a value may be of some phis and of what was made; nil among it for anything else.
func comesOf(v ssa.Value, phis []*ssa.Phi, made func(ssa.Value) bool) (out []ssa.Value) {
	seen := map[ssa.Value]bool{}
	for open := []ssa.Value{v}; len(open) > 0; open = open[1:] {
		v := open[0]
		p, phi := v.(*ssa.Phi)
		c, nothing := v.(*ssa.Const)
		switch {
		case seen[v]:
		case phi && !slices.Contains(phis, p):
			open = append(open, p.Edges...)
		case phi || made(v):
			out = append(out, v)
		case !nothing || c.Value != nil:
			out = append(out, nil)
		}
		seen[v] = true
	}
	return out
}

// mixed reports whether one of some phis may be several of them next, or anything else, or two the same.
func mixed(phis []*ssa.Phi, of map[ssa.Value][][]ssa.Value) bool {
	for e := range of[phis[0]] {
		seen := map[ssa.Value]bool{}
		for _, p := range phis {
			back := 0
			for _, q := range of[p][e] {
				if _, phi := q.(*ssa.Phi); phi {
					back++
				}
				if back > 1 || seen[q] || q == nil {
					return true
				}
				seen[q] = true
			}
		}
	}
	return false
}
