package member

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about who frees what is in a field beside the methods of its type: a function that lends a
// field what it has, and literals that somebody else calls.

// takesBack reports whether a function frees what it has put into a field, which sites make, on all ways
// behind that, or lets others do so.
func takesBack(f *own.Func, s *ssa.Store, holds []pointsto.Hold) bool {
	var frees []ssa.Instruction
	before := false // they are there on all ways to it
	uses(f, holds, func(i ssa.Instruction, v ssa.Value) {
		_, call := i.(ssa.CallInstruction)
		_, deferred := i.(*ssa.Defer)
		free, _ := FreedIn(f.Func, i, v)
		lets := free != nil || bound(f, i)
		if lets || call && slices.ContainsFunc(f.Acts(i, v), func(a pointsto.Act) bool {
			return (a.Op == pointsto.Free || a.Op == pointsto.Later || a.Op == pointsto.Last) && a.When.Cond == effect.Always
		}) {
			before = before || (lets || deferred) && ir.Before(i, s)
			frees = append(frees, i)
		}
	})
	return before || len(frees) > 0 && misses(f, s, frees) == nil
}

// misses returns a return to which a way leads from an instruction past some others; nil if there is none.
func misses(f *own.Func, from ssa.Instruction, past []ssa.Instruction) *ssa.Return {
	for _, r := range ir.Returns(f.SSA) {
		if ir.Leads(from, r, past...) {
			return r
		}
	}
	return nil
}

// besides notes that a call frees what is in a field of a struct that somebody else has made, on all ways
// through a function that is no method of the type.
func besides(put map[*types.Var]*stores, f *own.Func, i ssa.Instruction) {
	for _, a := range freedBy(f, i) {
		load, ok := a.X.(*ssa.UnOp)
		always := misses(f, f.SSA.Blocks[0].Instrs[0], []ssa.Instruction{i}) == nil
		if always && !setBy(f, a) && !methodOn(f.SSA, Named(a.X.Type())) && !(ok && captured(load.X)) {
			p := at(put, fieldOf(a), i)
			p.free = append(p.free, f.SSA)
		}
	}
}

// methodOn reports whether a function is a method of a type.
func methodOn(fn *ssa.Function, n *types.Named) bool {
	d := calls.Declared(fn)
	return d != nil && d.Signature().Recv() != nil && Named(d.Signature().Recv().Type()) == n
}

func captured(v ssa.Value) bool { _, yes := v.(*ssa.FreeVar); return yes }

// uses calls do with what uses a value that may hold what sites make.
func uses(f *own.Func, holds []pointsto.Hold, do func(i ssa.Instruction, v ssa.Value)) {
	for _, g := range f.Groups {
		for _, v := range g.Values {
			if slices.ContainsFunc(holds, func(h pointsto.Hold) bool { return f.May(v, h.Site) }) {
				for _, i := range f.Users(v) {
					do(i, v)
				}
			}
		}
	}
}

// bound reports whether an instruction makes a function of a value of the method that frees its type.
func bound(f *own.Func, i ssa.Instruction) bool {
	m, ok := i.(*ssa.MakeClosure)
	if !ok {
		return false
	}
	fn := calls.Method(m.Fn.(*ssa.Function))
	if fn == nil {
		return false
	}
	free := f.In.Frees.Of(m.Bindings[0].Type())
	return free != nil && free.Func == fn
}

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
			if free, again = FreedBy(f, m.Fn.(*ssa.Function).FreeVars[n]); free != nil {
				return free, again
			}
		}
	}
	return nil, false
}

// FreedBy returns the first call that frees what is in a captured variable, or in one of a literal there.
func FreedBy(f *pointsto.Func, v ssa.Value) (free ssa.CallInstruction, again bool) {
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.UnOp:
			free, again = FreedBy(f, i)
		case *ssa.MakeClosure:
			if fn := i.Fn.(*ssa.Function); fn.Synthetic == "" {
				free, again = FreedBy(f, fn.FreeVars[slices.Index(i.Bindings, v)])
			}
		case ssa.CallInstruction:
			for k, a := range calls.Operands(i.Common()) {
				if p := f.Summary(i.Common()).Param(k); a == v && p.Freed.Cond != effect.Never {
					return i, p.Repeatable
				}
			}
		}
		if free != nil {
			return free, again
		}
	}
	return nil, false
}
