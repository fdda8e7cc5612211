package memory

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about how slices are written: what is appended to one, and what stands in one that is new.

// Appended returns the stores of what a call appends to a slice, one by one; nil if it does not do that.
func Appended(i *ssa.Call) []ssa.Instruction {
	if b, ok := i.Call.Value.(*ssa.Builtin); !ok || b.Name() != "append" {
		return nil
	}
	if s, ok := i.Call.Args[1].(*ssa.Slice); ok {
		if a, ok := s.X.(*ssa.Alloc); ok && a.Comment == "varargs" {
			_, stores, _ := InArray(a, s)
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

// InArray lists what is stored in a new array, each element once, before it is sliced, in the same block. It
// is false if anything else is done with the array.
func InArray(a *ssa.Alloc, s *ssa.Slice) (vals []ssa.Value, stores []ssa.Instruction, ok bool) {
	indexes := map[string]bool{}
	for _, i := range *a.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.Slice:
			if i != s {
				return nil, nil, false
			}
		case *ssa.IndexAddr:
			refs := slices.DeleteFunc(slices.Clone(*i.Referrers()), func(r ssa.Instruction) bool {
				_, debug := r.(*ssa.DebugRef)
				return debug
			})
			if len(refs) != 1 || indexes[i.Index.Name()] {
				return nil, nil, false
			}
			indexes[i.Index.Name()] = true
			st, store := refs[0].(*ssa.Store)
			if _, constant := i.Index.(*ssa.Const); !constant || !store || st.Addr != i || st.Block() != s.Block() ||
				!ir.Before(st, s) {
				return nil, nil, false
			}
			vals, stores = append(vals, st.Val), append(stores, st)
		default:
			return nil, nil, false
		}
	}
	return vals, stores, true
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
