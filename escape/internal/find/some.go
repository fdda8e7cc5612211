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
)

// This file is about calls through interfaces of the package of which some types make a result for the caller,
// and others lend theirs. Who only looks at such a result leaks what the first make.

// some lists the results of such calls that a function only looks at.
func some(f *own.Func) (out []Finding) {
	member.Each(f.SSA, func(i ssa.Instruction) {
		c, ok := i.(*ssa.Call)
		if !ok || f.Marks(i) {
			return
		}
		if _, builtin := c.Call.Value.(*ssa.Builtin); builtin {
			return
		}
		for k, r := range f.Summary(&c.Call).Results {
			v := memory.Result(c, k)
			if !r.Some.IsValid() || v != nil && (f.In.Frees.Of(v.Type()) == nil || !onlyLooks(f, v, nil)) {
				continue
			}
			if v == nil {
				v = &memory.Dropped{Call: c, N: k}
			}
			s := &pointsto.Site{Value: v, Param: -1}
			out = append(out, Finding{Kind: Unfreed, On: Some, State: own.Owned, Site: s, Pos: c.Pos(), Other: r.Some})
		}
	})
	return out
}

// onlyLooks reports whether all that is done with a value, or with what is the same under another type, is to
// look at it, besides what an instruction does.
func onlyLooks(f *own.Func, v ssa.Value, besides ssa.Instruction) bool {
	return !slices.ContainsFunc(*v.Referrers(), func(i ssa.Instruction) bool {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.BinOp:
			return false
		case *ssa.ChangeType, *ssa.ChangeInterface, *ssa.MakeInterface:
			return !onlyLooks(f, i.(ssa.Value), besides)
		case *ssa.Call:
			if f.Marks(i) {
				return false
			}
			if _, builtin := i.Call.Value.(*ssa.Builtin); builtin {
				return true
			}
			s := f.Summary(&i.Call)
			for k, a := range calls.Operands(&i.Call) {
				is := func(r effect.Result) bool { return r.Is>>min(k, 63)&1 == 1 }
				if a == v && (!s.Param(k).Borrows() || slices.ContainsFunc(s.Results, is)) {
					return i != besides
				}
			}
			return false
		}
		return i != besides
	})
}
