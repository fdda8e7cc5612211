package find

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/member"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
	"github.com/lastuse/lastuse/escape/internal/taken"
)

// This file is about calls through interfaces of the package of which some types make a result for the
// caller, and others lend theirs. Who only looks at such a result leaks what the first make.

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
			if !r.Some.IsValid() || v != nil && (f.In.Frees.Of(v.Type()) == nil || !taken.OnlyLooks(f, v, nil)) {
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
