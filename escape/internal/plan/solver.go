package plan

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/infer"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
	"github.com/lastuse/lastuse/escape/spec"
)

// A solver looks at the functions of a package, those that are called first.
type solver struct {
	in       *Input
	to       *memory.Input
	frees    *effect.Frees
	owns     func(types.Type) bool // see owners
	promises []*promise
	world    *calls.World
	table    *calls.Table
	of       map[*ssa.Function]*Func
	*failures
}

// begin forgets what was inferred of functions.
func (s *solver) begin() {
	s.table = calls.NewTable(s.in.Set, s.in.Facts, s.world, s.frees)
	s.to.Effect, s.to.Func, s.of = s.table.Of, s.table.Func, map[*ssa.Function]*Func{}
}

// findFrees looks for methods that free what they are called on, and at no other functions than
// those that they lead to. What a value of such a type is made of is known by then, and all
// else is looked at when all such types are known.
func (s *solver) findFrees(order []calls.Round) {
	needed := map[*types.Func]bool{}
	may := func(f *ssa.Function) bool {
		if !infer.IsFree(f) {
			return false
		}
		if line, said := s.in.Set.Lookup(spec.FullName(calls.Declared(f))); said && line.Torn != "" {
			return false
		}
		recv := f.Signature.Recv().Type()
		return s.owns(recv) && !s.to.Owns(recv)
	}
	promised := map[*types.Func][]*promise{}
	for _, p := range s.promises {
		for _, o := range p.by {
			if s.owns(p.of.Type()) {
				promised[o.By], needed[o.By] = append(promised[o.By], p), true
			}
		}
	}
	looked := make([]bool, len(order))
	for k, round := range slices.Backward(order) {
		looked[k] = slices.ContainsFunc(round.Funcs, func(f *ssa.Function) bool { return may(f) || needed[calls.Declared(f)] })
		for _, f := range round.Funcs {
			for _, b := range f.Blocks {
				for _, i := range b.Instrs {
					if c, ok := i.(ssa.CallInstruction); ok && looked[k] {
						for _, fn := range s.table.Callees(c.Common()) {
							needed[fn] = true
						}
					}
				}
			}
		}
	}
	for k, round := range order {
		if !looked[k] {
			continue
		}
		s.round(round)
		some := false
		for _, f := range round.Funcs {
			sf := s.of[f]
			if sf.Own == nil || !may(f) {
				continue
			}
			s.skip(f, Contained(func() {
				found := infer.Counted(sf.Own)
				if found == nil {
					found = infer.Free(sf.Own, sf.Summary, s.frees)
				}
				if found != nil {
					s.frees.Infer(found)
					some = true
				}
			}))
		}
		for _, f := range round.Funcs {
			for _, p := range promised[calls.Declared(f)] {
				some = s.keeps(p) || some
			}
		}
		if some { // others are told what it is now
			s.round(round)
		}
	}
}

// round looks at functions that call one another until nothing gets worse.
func (s *solver) round(round calls.Round) {
	for _, f := range round.Funcs {
		s.table.Begin(f)
	}
	for first, again := true, true; again; first = false {
		again = false
		for _, f := range slices.Backward(round.Funcs) { // literals before what they stand in
			sf := s.solve(f)
			s.of[f] = sf
			again = s.table.Infer(f, sf.Summary, first) && round.Circle || again
		}
	}
}

// solve looks at a function. One that is not decided may do anything, and has no state.
func (s *solver) solve(f *ssa.Function) *Func {
	sf := &Func{SSA: f}
	if s.in.oversized(f) {
		s.skip(f, tooLarge)
	}
	if s.skipped[f] != "" || s.skip(f, Contained(func() {
		sf.Own = own.Solve(pointsto.Solve(s.to, f))
		sf.Summary = infer.Summary(sf.Own, s.frees)
	})) {
		sf.Own, sf.Summary = nil, effect.Worst(f.Signature).With(len(f.FreeVars))
	}
	return sf
}

// told says why a function lets an operand go that nobody looks into; "" if it is looked into, or that is not
// known.
func (s *solver) told(fn *types.Func, operand int) string {
	for f, why := range s.skipped {
		if calls.Declared(f) == fn {
			return "not decided: " + why
		}
	}
	return s.table.Told(fn, operand)
}
