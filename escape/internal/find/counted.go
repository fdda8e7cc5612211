package find

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/fill"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// counted finds that what a site makes, or the caller has, is made and retained more often than it is kept
// and released. That is known where one block does all that, and nothing else is done with it but to read it.
// What is read again in a field that it was just put into is it as well.
func (r *finder) counted(s *pointsto.Site) {
	if s.Part != "" || s.Begun || !r.f.In.Counted(s.Value.Type()) {
		return
	}
	made, here := s.Value.(ssa.Instruction)
	owed, kept := 0, 0
	if here {
		owed = 1
	}
	var at ssa.Instruction // which retains it last
	count := func(c *ssa.Call, by int) bool {
		if by > 0 && (at == nil || at.Block() == c.Block()) {
			at = c
		}
		owed += by
		return at != nil && at.Block() == c.Block()
	}
	for _, v := range r.g.Values {
		whole := r.only(v) == s
		if !whole && fill.IsContainer(kindOf(v)) {
			continue // it is in there, and what is done with that is not done to it
		}
		for _, i := range r.f.Users(v) {
			for _, a := range r.f.Acts(i, v) {
				put, store := i.(*ssa.Store)
				switch by := r.counts(a); {
				case a.Op == pointsto.Read:
				case whole && by != 0:
					if !count(i.(*ssa.Call), by) {
						return
					}
				case whole && a.Op == pointsto.Put: // into a slice
					kept++
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
	if at == nil || owed <= kept || kept == 0 && (!here || at.Block() != made.Block() || r.f.Shared(s)) {
		return
	}
	fd := Finding{Kind: Leak, On: Counted, State: own.Owned, Must: true, Site: s, Pos: at.Pos(), Owed: owed - kept}
	if kept == 0 {
		fd.Pos = s.Pos()
	}
	r.add(fd)
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
