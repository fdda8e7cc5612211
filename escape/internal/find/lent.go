package find

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/member"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
	"github.com/lastuse/lastuse/escape/internal/taken"
)

// This file is about what a function makes, gives to calls of which nothing is known, and then puts away,
// frees or returns as its own: those calls did not take it. So it is lost where the function fails between
// these. A call that fails takes nothing. Another one may be given what leads to it, not itself: somebody may
// well register it there.

// lent lists what a function gives up so.
func lent(f *own.Func, found []Finding) (out []Finding) {
	if !effect.HasError(f.SSA.Signature) {
		return nil
	}
	frees := freers(f)
	for _, g := range f.Groups {
		for _, s := range g.Sites {
			known := slices.ContainsFunc(found, func(fd Finding) bool { return fd.Site == s })
			made := s.Param < 0 && !s.Begun && !s.Joint() && s.Part == "" && memory.CallOf(s.Value) != nil
			if g.Why() != "" || known || !made {
				continue
			}
			if r := givenUp(f, s, frees[s]); r != nil {
				at := r.Pos()
				out = append(out, Finding{Kind: Leak, On: Dead, State: own.Owned, Site: s, Pos: s.Pos(), Other: at})
			}
		}
	}
	return out
}

// givenUp returns a return with an error at which a function gives up what a site makes behind calls that do
// not take it; nil if there is none.
func givenUp(f *own.Func, s *pointsto.Site, frees []ssa.Instruction) *ssa.Return {
	var calls, ends []ssa.Instruction
	direct := map[ssa.Instruction]bool{}
	for _, a := range s.Moves {
		switch i := a.Instr.(type) {
		case *ssa.Call:
			if !unseen(f, i) {
				return nil
			}
			calls = append(calls, i)
			direct[i] = direct[i] || slices.Contains(f.Holds(a.Of), pointsto.Hold{Site: s, As: pointsto.Whole})
		case *ssa.Store:
			to, only := givenIn(f, i)
			if to == nil {
				ends = append(ends, i)
			} else if !only {
				return nil
			}
			calls = append(calls, to...)
		case *ssa.Return, *ssa.MapUpdate:
			ends = append(ends, i)
		default:
			return nil
		}
	}
	later := func(i ssa.Instruction) bool { _, now := i.(*ssa.Call); return !now }
	if len(calls) == 0 || slices.ContainsFunc(frees, later) {
		return nil
	}
	ends = append(ends, frees...)
	puts := slices.DeleteFunc(slices.Clone(ends), func(i ssa.Instruction) bool {
		r, back := i.(*ssa.Return)
		return back && f.Fails(r)
	})
	for _, r := range ir.Returns(f.SSA) {
		if r.Block() == f.SSA.Recover || !f.Fails(r) || slices.Contains(ends, ssa.Instruction(r)) {
			continue
		}
		if len(puts) > 0 && !slices.ContainsFunc(calls, func(c ssa.Instruction) bool {
			failed, _ := f.Failed(c, r.Block())
			failed = failed && effect.HasError(c.(*ssa.Call).Call.Signature())
			behind := !slices.ContainsFunc(puts, func(p ssa.Instruction) bool { return !ir.Before(c, p) })
			return !ir.Leads(c, r, ends...) || !behind && !failed || direct[c] && !failed
		}) {
			return r
		}
	}
	return nil
}

// givenIn lists the calls of which nothing is known that are given a struct of the function's own, in a field
// of which a store puts something, and reports whether nobody else gets it.
func givenIn(f *own.Func, put *ssa.Store) (to []ssa.Instruction, only bool) {
	field, ok := put.Addr.(*ssa.FieldAddr)
	if !ok {
		return nil, false
	}
	a, ok := field.X.(*ssa.Alloc)
	if !ok {
		return nil, false
	}
	only = true
	same := []ssa.Value{a}
	for k := 0; k < len(same); k++ {
		for _, i := range *same[k].Referrers() {
			switch i := i.(type) {
			case *ssa.DebugRef, *ssa.FieldAddr:
			case *ssa.MakeInterface:
				same = append(same, i)
			case *ssa.Call:
				switch {
				case f.Marks(i):
				case unseen(f, i):
					to = append(to, i)
				default:
					only = false
				}
			default:
				only = false
			}
		}
	}
	return to, only
}

// unseen reports whether a call is one through an interface or a variable of which nothing is known.
func unseen(f *own.Func, c *ssa.Call) bool {
	_, declared := c.Call.Value.(*ssa.Function)
	_, builtin := c.Call.Value.(*ssa.Builtin)
	_, literal := c.Call.Value.(*ssa.MakeClosure)
	return !declared && !builtin && !literal && f.Summary(&c.Call).Unknown
}

// freers lists what frees what each site makes.
func freers(f *own.Func) map[*pointsto.Site][]ssa.Instruction {
	out := map[*pointsto.Site][]ssa.Instruction{}
	member.Each(f.SSA, func(i ssa.Instruction) {
		c, ok := i.(ssa.CallInstruction)
		if !ok || f.Marks(i) {
			return
		}
		for _, v := range i.Operands(nil) {
			if !taken.Frees(f, c, *v) {
				continue
			}
			for _, h := range f.Holds(*v) {
				out[h.Site] = append(out[h.Site], i)
			}
		}
	})
	return out
}
