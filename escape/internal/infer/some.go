package infer

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/memory"
)

// some returns a function that makes result n for the caller, if all that is ever returned there besides
// nothing is what another call returns, of which that is so, and which is done nothing else with.
func (e *exits) some(n int) (at token.Pos) {
	for _, r := range e.returns {
		v := e.f.Results(r)[n]
		if c, ok := v.(*ssa.Const); ok && c.Value == nil {
			continue
		}
		c, k := memory.CallOf(v), 0
		if x, ok := v.(*ssa.Extract); ok {
			k = x.Index
		}
		if c == nil {
			return token.NoPos
		}
		if _, builtin := c.Call.Value.(*ssa.Builtin); builtin {
			return token.NoPos
		}
		s := e.f.Summary(&c.Call)
		if k >= len(s.Results) || !s.Results[k].Some.IsValid() {
			return token.NoPos
		}
		for _, i := range *v.Referrers() {
			_, debug := i.(*ssa.DebugRef)
			if _, back := i.(*ssa.Return); !debug && !back && !e.f.Marks(i) {
				return token.NoPos
			}
		}
		at = max(at, s.Results[k].Some)
	}
	return at
}
