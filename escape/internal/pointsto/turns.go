package pointsto

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/memory"
)

// This file is about variables that change places around a loop, as in a, b = b, a. Which of the buffers
// each has in a turn nobody can say, but that each has one, and no two the same: so each is a site, which
// has what it is given where the loop begins, and what another one of them had where it comes round.

// findTurns adds a site for each phi that changes places with others.
func (f *Func) findTurns() {
	made := func(v ssa.Value) bool { return f.made[v] != nil && f.made[v].Param < 0 }
	for _, b := range f.SSA.Blocks {
		var phis []*ssa.Phi
		for _, i := range b.Instrs {
			p, ok := i.(*ssa.Phi)
			if !ok {
				break
			}
			if f.In.Owns(p.Type()) && !f.In.Frees.Collects(p.Type()) && f.In.Frees.Parts(p.Type()) == nil {
				phis = append(phis, p)
			}
		}
		for _, p := range memory.Turning(phis, made) {
			f.site(&Site{Value: p, Param: -1})
		}
	}
}

// outlasts reports whether a value is used behind the block of a phi that changes places with others, as far
// as it was made before.
func (f *Func) outlasts(v ssa.Value, p *ssa.Phi) bool {
	i, ok := memory.RootOf(v).(ssa.Instruction)
	if !ok || f.InMemory(memory.RootOf(v)) {
		return true
	}
	if i.Block() == p.Block() {
		_, phi := i.(*ssa.Phi)
		return phi && f.made[v] == nil
	}
	used := map[*ssa.BasicBlock]bool{}
	for _, u := range f.Users(v) {
		q, phi := u.(*ssa.Phi)
		if !phi {
			used[u.Block()] = true
			continue
		}
		for k, e := range q.Edges {
			if f.Reaches(e, v) != memory.None {
				used[q.Block().Preds[k]] = true
			}
		}
	}
	seen := map[*ssa.BasicBlock]bool{i.Block(): true}
	for open := []*ssa.BasicBlock{p.Block()}; len(open) > 0; open = open[1:] {
		b := open[0]
		if seen[b] {
			continue
		}
		if seen[b] = true; used[b] {
			return true
		}
		open = append(open, b.Succs...)
	}
	return false
}

// Turns reports whether a site is a variable that changes places with others.
func (s *Site) Turns() bool {
	_, ok := s.Value.(*ssa.Phi)
	return ok
}

// Joint reports whether a site has what others make.
func (s *Site) Joint() bool { return s.Turns() || s.Owning() != nil }

// Makers lists what makes what a site has.
func (s *Site) Makers(all []*Site) []*Site {
	if !s.Joint() {
		return []*Site{s}
	}
	var out []*Site
	seen := map[*Site]bool{s: true}
	for open := []*Site{s}; len(open) > 0; open = open[1:] {
		for _, m := range all {
			if seen[m] || !slices.Contains(m.Given, open[0]) {
				continue
			}
			seen[m] = true
			if m.Joint() {
				open = append(open, m)
			} else {
				out = append(out, m)
			}
		}
	}
	return out
}
