package find

import (
	"go/token"
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

// retained finds that a value which the caller has is retained more often than it is kept. That is known
// where one block does both, and nothing else is done with the value but to read it. What is read again in a
// field that it was just put into is it as well.
func (r *finder) retained(s *pointsto.Site) {
	if s.Param < 0 || s.Part != "" || !r.f.In.Counted(s.Value.Type()) {
		return
	}
	var at ssa.Instruction // which retains it last
	owed, kept := 0, 0
	count := func(c *ssa.Call, by int) bool {
		if by > 0 && (at == nil || at.Block() == c.Block()) {
			at = c
		}
		owed += by
		return at != nil && at.Block() == c.Block()
	}
	for _, v := range r.g.Values {
		whole := slices.Equal(r.f.Holds(v), []pointsto.Hold{{Site: s, As: pointsto.Whole}})
		for _, i := range r.f.Users(v) {
			for _, a := range r.f.Acts(i, v) {
				put, store := i.(*ssa.Store)
				switch by := r.counts(a); {
				case a.Op == pointsto.Read:
				case whole && by != 0:
					if !count(i.(*ssa.Call), by) {
						return
					}
				case whole && a.Op == pointsto.Keep && store && put.Val == v:
					kept++
					for _, c := range r.readAgain(put) {
						if by := r.countsOf(c); by != 0 && !count(c, by) {
							return
						}
					}
				default:
					return
				}
			}
		}
	}
	if owed > kept && kept > 0 {
		r.add(Finding{Kind: Leak, On: Counted, State: own.Owned, Must: true, Site: s, Pos: at.Pos(), Owed: owed - kept})
	}
}

// readAgain lists the calls that get as their only operand what a store has just put into a field.
func (r *finder) readAgain(put *ssa.Store) (out []*ssa.Call) {
	to, ok := put.Addr.(*ssa.FieldAddr)
	if !ok {
		return nil
	}
	same := func(v ssa.Value) bool {
		a, ok := v.(*ssa.FieldAddr)
		return ok && a.X == to.X && a.Field == to.Field
	}
	all := put.Block().Instrs
	for _, i := range all[slices.Index(all, ssa.Instruction(put))+1:] {
		if s, ok := i.(*ssa.Store); ok && same(s.Addr) {
			break
		}
		load, ok := i.(*ssa.UnOp)
		if !ok || load.Op != token.MUL || !same(load.X) {
			continue
		}
		for _, u := range *load.Referrers() {
			if c, ok := u.(*ssa.Call); ok && len(calls.Operands(&c.Call)) == 1 {
				out = append(out, c)
			}
		}
	}
	return out
}

// counts returns by how much an act of a call changes how often its operand must be released.
func (r *finder) counts(a pointsto.Act) int {
	c, ok := a.Instr.(*ssa.Call)
	if !ok {
		return 0
	}
	if k, _ := r.f.Operand(&c.Call, a.Of); k < 0 || len(calls.Operands(&c.Call)) > 1 {
		return 0
	}
	return r.countsOf(c)
}

// countsOf returns by how much a call of one operand changes how often that must be released.
func (r *finder) countsOf(c *ssa.Call) int {
	switch p := r.f.Summary(&c.Call).Param(0); {
	case p.Retained:
		return 1
	case p.Freed.Cond == effect.Always && p.Escapes.Cond == effect.Never:
		return -1
	}
	return 0
}
