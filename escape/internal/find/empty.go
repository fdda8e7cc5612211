package find

import (
	"go/token"
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
	"github.com/lastuse/lastuse/escape/internal/taken"
)

// This file is about deferred calls that free nothing, since their operand is still empty where they are
// deferred: a slice without items, or a variable that a call fills later, by its address. What is put there
// behind is freed by nobody, unless the function hands it on or frees it by another call.

// empties lists the variables that are filled behind such calls.
func empties(f *own.Func) (out []Finding) {
	member.Each(f.SSA, func(i ssa.Instruction) {
		d, ok := i.(*ssa.Defer)
		if !ok || f.Marks(i) {
			return
		}
		for k, v := range calls.Operands(&d.Call) {
			if f.Summary(&d.Call).Param(k).Freed.Cond == effect.Never {
				continue
			}
			var is ssa.Value
			var by ssa.Instruction
			if isEmpty(v) {
				if c := grownBehind(f, v, d); c != nil {
					is, by = c, c
				}
			} else if a := unset(v); a != nil {
				is, by = a, filledBehind(f, a, d)
			}
			if by != nil {
				s := &pointsto.Site{Value: is, Param: -1, Begun: true}
				out = append(out, Finding{Kind: Leak, On: Empty, State: own.Owned, Must: true, Site: s, Pos: d.Pos(), Other: by.Pos()})
			}
		}
	})
	return out
}

// isEmpty reports whether a value is a slice without items.
func isEmpty(v ssa.Value) bool {
	if _, slice := v.Type().Underlying().(*types.Slice); !slice {
		return false
	}
	switch v := v.(type) {
	case *ssa.Const:
		return v.Value == nil
	case *ssa.MakeSlice:
		return memory.Zero(v.Len)
	case *ssa.Slice:
		_, made := v.X.(*ssa.Alloc)
		return made && v.High != nil && memory.Zero(v.High)
	}
	return false
}

// grownBehind returns a call that appends to an empty slice behind another call, if all that is done with
// what comes of it is to look at it, and to give it to calls that free nothing of it; else nil.
func grownBehind(f *own.Func, v ssa.Value, behind ssa.Instruction) *ssa.Call {
	var first *ssa.Call
	var same []ssa.Value
	add := func(x ssa.Value) {
		if !slices.Contains(same, x) {
			same = append(same, x)
		}
	}
	member.Each(f.SSA, func(i ssa.Instruction) {
		if c, ok := i.(*ssa.Call); ok && memory.Appended(c) != nil && ir.Leads(behind, c) && comesFrom(c.Call.Args[0], v, nil) {
			if first == nil {
				first = c
			}
			add(c)
		}
	})
	for k := 0; k < len(same); k++ {
		for _, i := range *same[k].Referrers() {
			switch i := i.(type) {
			case *ssa.Phi:
				add(i)
			case *ssa.DebugRef, *ssa.IndexAddr, *ssa.BinOp:
			case *ssa.Call:
				if taken.Frees(f, i, same[k]) {
					return nil
				}
			default:
				return nil
			}
		}
	}
	return first
}

// comesFrom reports whether a value may be another one, or that with something appended.
func comesFrom(v, from ssa.Value, seen []ssa.Value) bool {
	if slices.Contains(seen, v) {
		return false
	}
	a, nothing := v.(*ssa.Const)
	b, empty := from.(*ssa.Const)
	if v == from || nothing && empty && a.Value == b.Value {
		return true
	}
	seen = append(seen, v)
	switch v := v.(type) {
	case *ssa.Phi:
		return slices.ContainsFunc(v.Edges, func(e ssa.Value) bool { return comesFrom(e, from, seen) })
	case *ssa.Call:
		return memory.Appended(v) != nil && comesFrom(v.Call.Args[0], from, seen)
	}
	return false
}

// unset returns the variable that a value is read from before anything gives it one; nil if there is none.
func unset(v ssa.Value) *ssa.Alloc {
	for {
		c, ok := v.(*ssa.Convert)
		if !ok {
			break
		}
		v = c.X
	}
	load, ok := v.(*ssa.UnOp)
	if !ok || load.Op != token.MUL {
		return nil
	}
	a, ok := load.X.(*ssa.Alloc)
	if !ok || member.IsStruct(memory.Pointee(a.Type())) {
		return nil
	}
	for _, i := range *a.Referrers() {
		if i != ssa.Instruction(load) && ir.Leads(i, load) {
			if u, ok := i.(*ssa.UnOp); !ok || u.Op != token.MUL {
				return nil
			}
		}
	}
	return a
}

// filledBehind returns the call that is given the address of a variable behind another call, if nothing else
// gives it a value, and nothing frees what it has then; else nil.
func filledBehind(f *own.Func, a *ssa.Alloc, behind ssa.Instruction) (by ssa.Instruction) {
	for _, i := range *a.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.UnOp:
			if ir.Leads(behind, i) && slices.ContainsFunc(*i.Referrers(), func(u ssa.Instruction) bool { return takesIt(f, u, i) }) {
				return nil
			}
		case *ssa.Call:
			if !f.Marks(i) && ir.Leads(behind, i) {
				by = i
			}
		default:
			return nil
		}
	}
	return by
}

// takesIt reports whether an instruction frees a value, puts it somewhere, or returns it.
func takesIt(f *own.Func, i ssa.Instruction, v ssa.Value) bool {
	switch i := i.(type) {
	case *ssa.DebugRef, *ssa.BinOp:
		return false
	case *ssa.Convert:
		return slices.ContainsFunc(*i.Referrers(), func(u ssa.Instruction) bool { return takesIt(f, u, i) })
	case ssa.CallInstruction:
		return taken.Frees(f, i, v)
	}
	return true
}
