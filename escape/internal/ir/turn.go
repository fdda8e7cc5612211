package ir

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// This file is about variables that change places around a loop, as in a, b = b, a.

// Turning returns those of the phis of one block that become one another, and nothing else than what was made
// for them or is nothing; none if one may become several of them, or two the same.
func Turning(phis []*ssa.Phi, made func(ssa.Value) bool) []*ssa.Phi {
	if len(phis) < 2 {
		return nil
	}
	of := map[*ssa.Phi][][]*ssa.Phi{} // by edge: which of them come back
	others := map[*ssa.Phi]bool{}     // something else comes as well
	for _, p := range phis {
		for _, e := range p.Edges {
			back, all := comesOf(e, phis, made)
			of[p], others[p] = append(of[p], back), others[p] || !all
		}
	}
	phis = slices.DeleteFunc(phis, func(p *ssa.Phi) bool { return !turns(p, of) })
	if len(phis) < 2 || mixed(phis, of) || slices.ContainsFunc(phis, func(p *ssa.Phi) bool { return others[p] }) {
		return nil
	}
	return phis
}

// comesOf lists those of some phis that a value may be, and reports whether all else that it may be was made
// here, or is nothing.
func comesOf(v ssa.Value, phis []*ssa.Phi, made func(ssa.Value) bool) (out []*ssa.Phi, all bool) {
	all = true
	seen := map[ssa.Value]bool{}
	for open := []ssa.Value{v}; len(open) > 0; open = open[1:] {
		p, ok := open[0].(*ssa.Phi)
		if !ok && !made(open[0]) {
			c, nothing := open[0].(*ssa.Const)
			all = all && nothing && c.Value == nil
		}
		if !ok || seen[p] {
			continue
		}
		seen[p] = true
		if slices.Contains(phis, p) {
			out = append(out, p)
		} else {
			open = append(open, p.Edges...)
		}
	}
	return out, all
}

// turns reports whether a phi becomes others, and one of these becomes it.
func turns(p *ssa.Phi, of map[*ssa.Phi][][]*ssa.Phi) bool {
	seen := map[*ssa.Phi]bool{}
	for open := []*ssa.Phi{p}; len(open) > 0; open = open[1:] {
		for _, q := range slices.Concat(of[open[0]]...) {
			if q == p && open[0] != p {
				return true
			}
			if q != p && !seen[q] {
				seen[q] = true
				open = append(open, q)
			}
		}
	}
	return false
}

// mixed reports whether one of some phis may be several of them in the next turn, or two of them one.
func mixed(phis []*ssa.Phi, of map[*ssa.Phi][][]*ssa.Phi) bool {
	for e := range of[phis[0]] {
		seen := map[*ssa.Phi]bool{}
		for _, p := range phis {
			for _, q := range of[p][e] {
				if len(of[p][e]) > 1 || seen[q] || !slices.Contains(phis, q) {
					return true
				}
				seen[q] = true
			}
		}
	}
	return false
}
