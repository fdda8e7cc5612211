package find

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/fill"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/member"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about variables of a struct type that own what calls put into them, which are given the
// address. What such a call has put there although it failed, or before another one does, is the function's
// to free as long as it does not return the variable. And who frees what a call puts into a field of a
// parameter where that does not fail has to do so where it does, if nobody else ends values of the type.

// fillings lists the variables that a function fills and forgets where it fails.
func fillings(f *own.Func) (out []Finding) {
	member.Each(f.SSA, func(i ssa.Instruction) {
		a, ok := i.(*ssa.Alloc)
		if !ok || f.Begins(a) || f.In.Frees.Of(a.Type()) == nil || !member.IsStruct(memory.Pointee(a.Type())) || !lendsOnly(f, a) {
			return
		}
		s := &pointsto.Site{Value: a, Param: -1, Begun: true}
		for _, g := range fill.Gifts(f, a) {
			if _, call := g.At.(*ssa.Call); !call || !owns(f, s, g) {
				continue
			}
			if r := forgets(f, a, g); r != nil {
				name := member.FieldAt(a, g.Field).Name()
				out = append(out, Finding{Kind: Leak, On: Begun, State: own.Owned, Site: s, Pos: r.Pos(), Other: g.Pos, Field: Given{name, true}})
				return
			}
		}
	})
	return out
}

// halves lists the fields of parameters that a function leaves half filled.
func halves(f *own.Func) (out []Finding) {
	if !effect.HasError(f.SSA.Signature) {
		return nil
	}
	for _, p := range f.SSA.Params {
		if p.Type() == memory.Pointee(p.Type()) || !member.IsStruct(memory.Pointee(p.Type())) {
			continue
		}
		s := &pointsto.Site{Value: p, Param: -1, Begun: true}
		for _, g := range fill.Gifts(f, p) {
			if !g.Fails || !g.Freed.IsValid() || frees(f, s, g.Field) || ends(f, s, g.Field) {
				continue
			}
			for _, r := range ir.Returns(f.SSA) {
				failed, known := f.Failed(g.At, r.Block())
				if failed && known && r.Block() != f.SSA.Recover && g.Reaches(r) {
					name := member.FieldAt(p, g.Field).Name()
					out = append(out, Finding{Kind: Leak, On: Half, State: own.Owned, Site: s, Pos: r.Pos(), Other: g.Freed, Field: Given{name, true}})
					break
				}
			}
		}
	}
	return out
}

// lendsOnly reports whether a variable is handed to calls that borrow or fill it, or free it, and is read and
// returned: nobody else has its address.
func lendsOnly(f *own.Func, a *ssa.Alloc) bool {
	for _, i := range *a.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.FieldAddr, *ssa.UnOp, *ssa.Return:
		case *ssa.Store:
			if i.Addr != ssa.Value(a) {
				return false
			}
		case ssa.CallInstruction:
			if f.Marks(i) {
				continue
			}
			for k, v := range calls.Operands(i.Common()) {
				p := f.Summary(i.Common()).Param(k)
				if v == ssa.Value(a) && p.Escapes.Cond != effect.Never && !p.Filled && len(p.Made) == 0 {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

// forgets returns a return with an error behind a gift, with which the function gives up what it has then.
func forgets(f *own.Func, a *ssa.Alloc, g fill.Gift) *ssa.Return {
	for _, r := range ir.Returns(f.SSA) {
		if r.Block() == f.SSA.Recover || !f.Fails(r) {
			continue
		}
		failed, known := f.Failed(g.At, r.Block())
		has := known && (failed && g.Fails || !failed && g.Success) || g.Success && g.Again(f)
		if has && g.Reaches(r) && !takes(f, a, r) {
			return r
		}
	}
	return nil
}

// takes reports whether a return returns a variable, or it is read as a whole on the way there: somebody may
// have all then.
func takes(f *own.Func, a *ssa.Alloc, r *ssa.Return) bool {
	if slices.Contains(r.Results, ssa.Value(a)) {
		return true
	}
	for _, i := range *a.Referrers() {
		load, ok := i.(*ssa.UnOp)
		if !ok {
			continue
		}
		for _, u := range *load.Referrers() {
			if !f.Marks(u) && (u == ssa.Instruction(r) || u.Block().Dominates(r.Block())) {
				return true
			}
		}
	}
	return false
}
