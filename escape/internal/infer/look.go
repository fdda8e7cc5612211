package infer

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// This file is about functions that look at a handle alone, as those do that tell whether it is closed.

// looksOnly reports whether a function does nothing with a handle but compare it, or what is in it, which it
// does.
func looksOnly(f *own.Func, v ssa.Value) bool {
	some := false
	return all(f, v, func(i ssa.Instruction) bool {
		some = true
		switch i := i.(type) {
		case *ssa.FieldAddr:
			return all(f, i, func(u ssa.Instruction) bool {
				load, ok := u.(*ssa.UnOp)
				return ok && load.Op == token.MUL && all(f, load, compares)
			})
		case *ssa.Field:
			return all(f, i, compares)
		case *ssa.Call:
			for k, a := range calls.Operands(&i.Call) {
				if a == v && f.Summary(&i.Call).Param(k).Reads != effect.Handle {
					return false
				}
			}
			return i.Call.Value != v
		}
		return compares(i)
	}) && some
}

func compares(i ssa.Instruction) bool {
	c, ok := i.(*ssa.BinOp)
	return ok && slices.Contains([]token.Token{token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ}, c.Op)
}

// all reports whether something is so of all instructions that use a value.
func all(f *own.Func, v ssa.Value, so func(ssa.Instruction) bool) bool {
	return !slices.ContainsFunc(*v.Referrers(), func(i ssa.Instruction) bool {
		_, debug := i.(*ssa.DebugRef)
		return !debug && !f.In.IR.Marks(i) && !so(i)
	})
}
