package find

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/member"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
	"github.com/lastuse/lastuse/escape/internal/taken"
)

// This file is about what a call makes that is counted, and that is retained and put away in one go: whoever
// has it then has the reference that was made, and nobody the one that was taken.

// keptTwice lists what is made, retained and put away once.
func keptTwice(f *own.Func, found []Finding) (out []Finding) {
	member.Each(f.SSA, func(i ssa.Instruction) {
		v, ok := i.(ssa.Value)
		c := memory.CallOf(v)
		known := func(fd Finding) bool { return fd.Site.Value == v }
		if !ok || c == nil || f.Marks(c) || !f.In.Counted(v.Type()) || slices.ContainsFunc(found, known) {
			return
		}
		if _, builtin := c.Call.Value.(*ssa.Builtin); builtin {
			return
		}
		if retain := retainedToKeep(f, v); retain != nil && taken.Makes(f, v) {
			s := &pointsto.Site{Value: v, Param: -1}
			out = append(out, Finding{Kind: Leak, On: Counted, State: own.Owned, Must: true, Site: s, Pos: retain.Pos(), Owed: 1})
		}
	})
	return out
}

// retainedToKeep returns the call that takes a reference to a value, if a store in the same block puts that
// away, and all else that is done with it is to look at it.
func retainedToKeep(f *own.Func, v ssa.Value) (retain *ssa.Call) {
	var put *ssa.Store
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.BinOp:
		case *ssa.Store:
			_, local := i.Addr.(*ssa.Alloc)
			if put != nil || i.Val != v || local {
				return nil
			}
			put = i
		case *ssa.Call:
			all := calls.Operands(&i.Call)
			_, builtin := i.Call.Value.(*ssa.Builtin)
			switch {
			case f.Marks(i):
			case builtin:
				return nil
			case len(all) == 1 && f.Summary(&i.Call).Param(0).Retained:
				if retain != nil {
					return nil
				}
				retain = i
			case slices.ContainsFunc(operandsOf(f, i, v), func(p effect.Param) bool { return !p.Borrows() }):
				return nil
			}
		default:
			return nil
		}
	}
	if put == nil || retain == nil || put.Block() != retain.Block() {
		return nil
	}
	return retain
}

// operandsOf lists what a call does to a value, wherever it is an operand.
func operandsOf(f *own.Func, c *ssa.Call, v ssa.Value) (out []effect.Param) {
	for k, a := range calls.Operands(&c.Call) {
		if a == v {
			out = append(out, f.Summary(&c.Call).Param(k))
		}
	}
	return out
}
