package find

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// owed finds that what a site makes is counted, and is not released as often as it is made and retained. That
// is known where the block in which it is made does both, and nothing else is done with it but to read it.
func (r *finder) owed(s *pointsto.Site) {
	made, ok := s.Value.(ssa.Instruction)
	if !ok || len(s.Moves) == 0 || !r.f.In.Counted(s.Value.Type()) || r.f.Shared(s) {
		return
	}
	owed := 1
	for _, v := range r.g.Values {
		for _, i := range r.f.Users(v) {
			for _, a := range r.f.Acts(i, v) {
				count := r.counts(a)
				here := v == s.Value && i.Block() == made.Block()
				if a.Op != pointsto.Read && (count == 0 || !here || !slices.Equal(r.f.Holds(v), []pointsto.Hold{{Site: s, As: pointsto.Whole}})) {
					return
				}
				owed += count
			}
		}
	}
	if owed > 0 {
		r.add(Finding{Kind: Leak, On: Counted, State: own.Owned, Must: true, Site: s, Pos: s.Pos(), Owed: owed})
	}
}

// counts returns by how much an act of a call changes how often its operand must be released.
func (r *finder) counts(a pointsto.Act) int {
	c, ok := a.Instr.(*ssa.Call)
	if !ok {
		return 0
	}
	k, _ := r.f.Operand(&c.Call, a.Of)
	if k < 0 || len(calls.Operands(&c.Call)) > 1 {
		return 0
	}
	switch p := r.f.Summary(&c.Call).Param(k); {
	case p.Retained:
		return 1
	case p.Freed.Cond == effect.Always && p.Escapes.Cond == effect.Never:
		return -1
	}
	return 0
}
