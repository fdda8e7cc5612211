package find

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// deferredInLoop finds that a free is deferred in the loop in which a site makes what it frees: it runs once
// all turns have made theirs. Where another turn, or what comes behind the loop, needs what a turn made, that
// is right.
func (r *finder) deferredInLoop(t own.Token, s *pointsto.Site) {
	made, _, ok := r.f.Where(s.Value)
	if s.Param >= 0 || !ok || r.explicit[s] {
		return
	}
	var late ssa.Instruction
	for _, d := range r.defers[s] {
		if n, _, ok := r.f.Graph.Where(d); ok && r.f.InLoop(made, n) && (late == nil || d.Pos() < late.Pos()) {
			late = d
		}
	}
	if late == nil {
		return
	}
	for _, n := range r.g.Nodes() {
		for _, p := range r.g.Points(n) {
			if p.Reads(t|1) || !r.f.InLoop(made, n) && p.Reads(t) {
				return
			}
		}
	}
	r.add(Finding{Kind: Late, On: Deferred, State: own.Pending, Must: true, Site: s, Pos: s.Pos(), Other: late.Pos()})
}
