package memory

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about how slices are written: what is appended to one, and cut off one.

// Appended returns the stores of what a call appends to a slice, one by one; nil if it does not do that.
func Appended(i *ssa.Call) []ssa.Instruction {
	if b, ok := i.Call.Value.(*ssa.Builtin); !ok || b.Name() != "append" {
		return nil
	}
	if s, ok := i.Call.Args[1].(*ssa.Slice); ok {
		if a, ok := s.X.(*ssa.Alloc); ok && a.Comment == "varargs" {
			_, stores, _ := ir.InArray(a, s)
			return stores
		}
	}
	return nil
}

// grows reports whether something is appended to parts of a parameter, and nothing else is stored there: its
// type has a free, but these are in it as a whole when the function returns.
func (f *Func) grows(p *ssa.Parameter) bool {
	return f.TakenApart(p) && !slices.ContainsFunc(*p.Referrers(), func(i ssa.Instruction) bool {
		a, ok := i.(*ssa.FieldAddr)
		return ok && slices.ContainsFunc(ir.Stores(a), func(s *ssa.Store) bool {
			c, ok := s.Val.(*ssa.Call)
			return !ok || Appended(c) == nil
		})
	})
}

// IsCut reports whether a slice is a part of another one.
func IsCut(v ssa.Value) bool {
	s, ok := v.(*ssa.Slice)
	return ok && types.Identical(s.X.Type(), s.Type())
}

// Zero reports whether a value is the constant 0.
func Zero(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value != nil && c.Int64() == 0
}
