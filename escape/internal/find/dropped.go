package find

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// dropped finds what a map that is made here loses: what is there under a key that is deleted or given
// something else, or all, if it is cleared. That is so if nothing was done with what is in there.
func (r *finder) dropped(c *pointsto.Site) {
	all := c.Owning()
	if all == nil || len(all.Members) != 1 {
		return
	}
	m, ok := all.Members[0].(*ssa.MakeMap)
	if !ok || slices.ContainsFunc(c.Moves, func(a pointsto.Act) bool { return a.Of != ssa.Value(m) && a.Op != pointsto.Put }) {
		return
	}
	for _, i := range *m.Referrers() {
		put, ok := i.(*ssa.MapUpdate)
		if !ok {
			continue
		}
		s := r.only(put.Value)
		if s == nil || s.Param >= 0 || len(s.Moves) > 0 {
			continue
		}
		for _, j := range *m.Referrers() {
			if ir.Before(put, j) && drops(j, put) {
				r.lose(s, j)
			}
		}
	}
}

// only returns the site of all that a value may be; nil if there are several.
func (r *finder) only(v ssa.Value) *pointsto.Site {
	holds := slices.DeleteFunc(slices.Clone(r.f.Holds(v)), func(h pointsto.Hold) bool { return h.Site.Joint() })
	if len(holds) == 1 && holds[0].As == pointsto.Whole {
		return holds[0].Site
	}
	return nil
}

// drops reports whether an instruction drops from a map what another one has put there.
func drops(i ssa.Instruction, put *ssa.MapUpdate) bool {
	switch i := i.(type) {
	case *ssa.Call:
		b, ok := i.Call.Value.(*ssa.Builtin)
		return ok && (b.Name() == "clear" || b.Name() == "delete" && sameKey(i.Call.Args[1], put.Key))
	case *ssa.MapUpdate: // with nothing between that might look at the map
		if i.Map != put.Map || i.Block() != put.Block() || !sameKey(i.Key, put.Key) {
			return false
		}
		all := i.Block().Instrs
		between := all[slices.Index(all, ssa.Instruction(put))+1 : slices.Index(all, ssa.Instruction(i))]
		return !slices.ContainsFunc(*put.Map.Referrers(), func(j ssa.Instruction) bool { return slices.Contains(between, j) })
	}
	return false
}

// sameKey reports whether two keys are one.
func sameKey(x, y ssa.Value) bool {
	a, ok := x.(*ssa.Const)
	b, both := y.(*ssa.Const)
	if ok && both {
		return types.Identical(a.Type(), b.Type()) && a.String() == b.String()
	}
	return x == y
}

// lose finds that what a site makes is lost at an instruction.
func (r *finder) lose(s *pointsto.Site, at ssa.Instruction) {
	r.add(Finding{Kind: Leak, On: Dropped, State: own.Given, Must: true, Site: s, Pos: s.Pos(), Other: at.Pos()})
}
