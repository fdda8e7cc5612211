package taken

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// This file is about what is done with one value: whether it is only looked at, freed, or put back.

// OnlyLooks reports whether all that is done with a value, or with what is the same under another type, is to
// look at it, besides what an instruction does.
func OnlyLooks(f *own.Func, v ssa.Value, besides ssa.Instruction) bool {
	return !slices.ContainsFunc(*v.Referrers(), func(i ssa.Instruction) bool {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.BinOp:
			return false
		case *ssa.ChangeType, *ssa.ChangeInterface, *ssa.MakeInterface:
			return !OnlyLooks(f, i.(ssa.Value), besides)
		case *ssa.Call:
			if f.Marks(i) {
				return false
			}
			if _, builtin := i.Call.Value.(*ssa.Builtin); builtin {
				return true
			}
			s := f.Summary(&i.Call)
			for k, a := range calls.Operands(&i.Call) {
				is := func(r effect.Result) bool { return r.Is>>min(k, 63)&1 == 1 }
				if a == v && (!s.Param(k).Borrows() || slices.ContainsFunc(s.Results, is)) {
					return i != besides
				}
			}
			return false
		}
		return i != besides
	})
}

// MadeFor reports whether a call made a value, of which nothing else is done than to look at it, besides what
// an instruction does.
func MadeFor(f *own.Func, v ssa.Value, put ssa.Instruction) bool {
	return Makes(f, v) && OnlyLooks(f, v, put)
}

// Makes reports whether a value is what a call made for the function.
func Makes(f *own.Func, v ssa.Value) bool {
	c := memory.CallOf(v)
	if c == nil {
		return false
	}
	if _, builtin := c.Call.Value.(*ssa.Builtin); builtin {
		return false
	}
	k := 0
	if e, ok := v.(*ssa.Extract); ok {
		k = e.Index
	}
	return f.Summary(&c.Call).Results[k].Owned.Cond == effect.Always
}

// Frees reports whether a call may free an operand, wherever it is that.
func Frees(f *own.Func, c ssa.CallInstruction, v ssa.Value) bool {
	if _, builtin := c.Common().Value.(*ssa.Builtin); builtin || f.Marks(c) {
		return false
	}
	for n, a := range calls.Operands(c.Common()) {
		if a == v && f.Summary(c.Common()).Param(n).Freed.Cond != effect.Never {
			return true
		}
	}
	return false
}

// PutBack reports whether what is appended to the value of a variable is put into that again alone.
func PutBack(c *ssa.Call, v ssa.Value) bool {
	load, ok := v.(*ssa.UnOp)
	return ok && !slices.ContainsFunc(*c.Referrers(), func(i ssa.Instruction) bool {
		s, ok := i.(*ssa.Store)
		_, debug := i.(*ssa.DebugRef)
		return !debug && (!ok || s.Addr != load.X)
	})
}
