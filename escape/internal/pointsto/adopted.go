package pointsto

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
)

// adopted lists what goes with a buffer when it is freed. A call that makes one and keeps a function has it
// called then: what it was given by its address is given back, and what the function captures is used, or
// freed.
func (f *Func) adopted(c *ssa.CallCommon, s *effect.Summary) []ssa.Value {
	var out []ssa.Value
	keeps := false
	operands := calls.Operands(c)
	for k, a := range operands {
		if _, ok := a.Type().Underlying().(*types.Signature); !ok || s.Param(k).Escapes.Cond == effect.Never {
			continue
		}
		keeps = true
		if m, ok := a.(*ssa.MakeClosure); ok {
			for _, b := range m.Bindings {
				out = append(out, f.Origin(b))
			}
		}
	}
	if !keeps {
		return nil
	}
	seen := map[ssa.Value]bool{}
	for open := operands; len(open) > 0; { // and what addresses were made of
		a := open[len(open)-1]
		open = open[:len(open)-1]
		if _, known := a.(*ssa.Const); known || seen[a] || !raw(a.Type()) {
			continue
		}
		seen[a] = true
		out = append(out, a)
		switch i := a.(type) {
		case *ssa.BinOp:
			open = append(slices.Clone(open), i.X, i.Y)
		case *ssa.Convert:
			open = append(slices.Clone(open), i.X)
		case *ssa.ChangeType:
			open = append(slices.Clone(open), i.X)
		case *ssa.Phi:
			open = append(slices.Clone(open), i.Edges...)
		}
	}
	return out
}

// raw reports whether a value of type t is an address that nobody checks.
func raw(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && !effect.Plain(t) && b.Info()&types.IsString == 0
}
