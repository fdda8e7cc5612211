package find

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
	"github.com/lastuse/lastuse/escape/internal/taken"
)

// FreedIn returns the first call in a literal that an instruction makes, or hands on, which frees what the
// literal captures in v, and whether it may be repeated; nil if there is none.
func FreedIn(f *pointsto.Func, i ssa.Instruction, v ssa.Value) (free ssa.CallInstruction, again bool) {
	of := []ssa.Value{}
	if m, ok := i.(*ssa.MakeClosure); ok {
		of = append(of, m)
	}
	for _, op := range i.Operands(nil) {
		of = append(of, *op)
	}
	for _, op := range of {
		m, ok := op.(*ssa.MakeClosure)
		goes := func(i ssa.Instruction) bool { return ir.Callee(i) != op }
		if !ok || m.Fn.(*ssa.Function).Synthetic != "" || !slices.ContainsFunc(*m.Referrers(), goes) {
			continue
		}
		for n, b := range m.Bindings {
			if f.Reaches(b, v) == memory.None {
				continue
			}
			if free, again = taken.FreedBy(f, m.Fn.(*ssa.Function).FreeVars[n]); free != nil {
				return free, again
			}
		}
	}
	return nil, false
}
