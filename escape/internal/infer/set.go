package infer

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about literals that assign what they capture: what is in there at an exit is what was there
// before, or it is the caller's from then on. If it is anything else, what was there before escapes.

// sets fills in what a literal does with a variable that it captures, which held t before.
func (e *exits) sets(does *effect.Param, g *own.Group, t own.Token, v ssa.Value) {
	set := e.tally()
	bad := e.f.Foreign(v)
	does.Sets.Frees, does.Sets.Nothing = true, true
	for _, r := range e.returns {
		p := e.before(g, r)
		if p == nil {
			continue
		}
		was, other := false, false
		ts, whole := p.Held(v)
		for _, u := range ts {
			if u == t {
				was = true
				continue
			}
			other = true
			st := p.Status(u)
			bad = bad || g.Sites[u/2].Param >= 0 || st&^(own.Owned|own.Absent|own.Passed|own.Freed) != 0 ||
				st&own.Owned != 0 && !p.Is(v, u) || e.elsewhere(g, u, v, r)
			does.Sets.Nothing = does.Sets.Nothing && st&own.Owned == 0
			does.Sets.Nil = does.Sets.Nil || st&own.Absent != 0 && e.f.MayBeNil(v)
		}
		bad = bad || !whole
		// What is needed holds nothing that was freed: where t is owned still, it is in there, and else not.
		st := p.Status(t)
		does.Sets.Frees = does.Sets.Frees && st&^(own.Owned|own.Freed|own.Absent) == 0 &&
			(!was && st&own.Owned == 0 || was && p.Is(v, t) && slices.Contains(p.NeededBy(t), v))
		if !other && !was { // it is nil
			other, does.Sets.Nil = true, true
		}
		set.add(other, was, e.kinds(r, own.Combination{}), own.Combination{})
	}
	does.Sets.When = set.when(e.error)
	if bad || len(e.returns) == 0 {
		*does = effect.Param{Escapes: effect.When{Cond: effect.Always}, Freed: does.Freed}
	}
}

// inOther reports whether what leads to a parameter may be in a variable that is captured, and assigned.
func (e *exits) inOther(site *pointsto.Site) bool {
	return slices.ContainsFunc(e.f.SSA.FreeVars, func(w *ssa.FreeVar) bool {
		return w != site.Value && e.f.Assigns(w) && e.f.May(w, site)
	})
}

// elsewhere reports whether what is in a variable at an exit is also in a result, or in another variable
// that is captured.
func (e *exits) elsewhere(g *own.Group, u own.Token, v ssa.Value, r *ssa.Return) bool {
	site := g.Sites[u/2]
	if slices.ContainsFunc(e.f.Results(r), func(w ssa.Value) bool { return e.f.May(w, site) }) {
		return true
	}
	return slices.ContainsFunc(e.f.SSA.FreeVars, func(w *ssa.FreeVar) bool { return w != v && e.f.May(w, site) })
}
