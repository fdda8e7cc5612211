package find

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/member"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about helpers that fill several children in a field, one after the other, and fail at one of
// them. Who frees the children where such a helper does not fail has to do so where it fails, unless the
// helper itself frees what it had by then.

// halves lists where a function leaves what a helper had filled.
func halves(f *own.Func) (out []Finding) {
	if len(f.SSA.Params) == 0 || !effect.HasError(f.SSA.Signature) {
		return nil
	}
	recv := f.SSA.Params[0]
	freed := freedIn(f, f.SSA, recv)
	if len(freed) == 0 {
		return nil
	}
	member.Each(f.SSA, func(i ssa.Instruction) {
		c, ok := i.(*ssa.Call)
		if !ok || f.Marks(i) || !effect.HasError(c.Call.Signature()) {
			return
		}
		if len(c.Call.Args) == 0 || !is(c.Call.Args[0], recv) {
			return
		}
		fn := calls.Called(&c.Call)
		if fn == nil || fn.Pkg() != f.SSA.Pkg.Pkg {
			return
		}
		helper := f.SSA.Prog.FuncValue(fn)
		for field, at := range freed {
			if r := leftBy(f, c, at); r != nil && helper != nil && fillsInTurn(f, helper, field) {
				fd := Finding{Kind: Leak, On: Half, State: own.Owned, Pos: r.Pos(), Other: at[0].Pos()}
				fd.Site = &pointsto.Site{Value: recv, Param: -1, Begun: true}
				fd.Field.Name = member.FieldAt(recv, field).Name()
				out = append(out, fd)
			}
		}
	})
	return out
}

// leftBy returns a return that a function comes to only if a call failed, if some instructions run only where
// it did not, and none of them in front of the return; else nil.
func leftBy(f *own.Func, c *ssa.Call, frees []ssa.Instruction) *ssa.Return {
	for _, i := range frees {
		if failed, known := f.Failed(c, i.Block()); failed || !known {
			return nil
		}
	}
	for _, r := range ir.Returns(f.SSA) {
		if failed, known := f.Failed(c, r.Block()); failed && known && r.Block() != f.SSA.Recover {
			return r
		}
	}
	return nil
}

// freedIn lists, by the field of a struct, the calls that free parts of what is in there. It has nothing if a
// literal may free such.
func freedIn(f *own.Func, fn *ssa.Function, of *ssa.Parameter) map[int][]ssa.Instruction {
	if of.Type() == memory.Pointee(of.Type()) || !member.IsStruct(memory.Pointee(of.Type())) {
		return nil
	}
	out := map[int][]ssa.Instruction{}
	member.Each(fn, func(i ssa.Instruction) {
		c, ok := i.(ssa.CallInstruction)
		if !ok || f.Marks(i) {
			return
		}
		for _, v := range freedBy(f, c) {
			if field, ok := within(v, of); ok {
				out[field] = append(out[field], i)
			}
		}
	})
	for _, l := range fn.AnonFuncs {
		member.Each(l, func(i ssa.Instruction) {
			if c, ok := i.(ssa.CallInstruction); ok {
				for _, v := range freedBy(f, c) {
					delete(out, fieldOfType(f, out, v))
				}
			}
		})
	}
	return out
}

// fieldOfType returns the field in which some calls free what is of a value's type; -1 if there is none.
func fieldOfType(f *own.Func, freed map[int][]ssa.Instruction, v ssa.Value) int {
	for field, at := range freed {
		for _, w := range freedBy(f, at[0].(ssa.CallInstruction)) {
			if types.Identical(v.Type(), w.Type()) {
				return field
			}
		}
	}
	return -1
}

// is reports whether a value is a parameter, or read from the variable that it lies in.
func is(v ssa.Value, p *ssa.Parameter) bool {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return v == ssa.Value(p)
	}
	a, ok := load.X.(*ssa.Alloc)
	all := []*ssa.Store{}
	if ok {
		all = ir.Stores(a)
	}
	return len(all) == 1 && all[0].Val == ssa.Value(p)
}

// within returns the field of a struct in which a value is, or a part of which it is; false if it is in none.
func within(v ssa.Value, of *ssa.Parameter) (field int, ok bool) {
	for range 20 {
		switch x := v.(type) {
		case *ssa.UnOp:
			v = x.X
		case *ssa.IndexAddr:
			v = x.X
		case *ssa.FieldAddr:
			if is(x.X, of) {
				return x.Field, true
			}
			v = x.X
		case *ssa.Alloc: // that has a copy
			all := ir.Stores(x)
			if len(all) != 1 {
				return 0, false
			}
			v = all[0].Val
		default:
			return 0, false
		}
	}
	return 0, false
}

// fillsInTurn reports whether a function calls others with parts of what is in a field of its receiver, may
// fail behind one of them, at another one, and frees nothing there.
func fillsInTurn(f *own.Func, fn *ssa.Function, field int) bool {
	if len(fn.Blocks) == 0 || len(freedIn(f, fn, fn.Params[0])) > 0 {
		return false
	}
	var all []*ssa.Call
	member.Each(fn, func(i ssa.Instruction) {
		c, ok := i.(*ssa.Call)
		if !ok || !effect.HasError(c.Call.Signature()) || len(c.Call.Args) == 0 {
			return
		}
		at, in := within(c.Call.Args[0], fn.Params[0])
		if _, part := c.Call.Args[0].(*ssa.IndexAddr); in && part && at == field {
			all = append(all, c)
		}
	})
	return slices.ContainsFunc(all, func(c *ssa.Call) bool {
		return slices.ContainsFunc(all, func(d *ssa.Call) bool { return ir.Leads(c, d) && returned(d) })
	})
}

// returned reports whether a function returns the error of a call.
func returned(c *ssa.Call) bool {
	err := memory.ErrorOf(c)
	return err != nil && slices.ContainsFunc(*err.Referrers(), func(i ssa.Instruction) bool {
		_, back := i.(*ssa.Return)
		return back
	})
}
