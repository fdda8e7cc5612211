package ir

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// Recast returns the pointer of which v is made, with another type; nil if it is not made so.
func Recast(v ssa.Value) ssa.Value {
	switch i := v.(type) {
	case *ssa.ChangeType:
		return i.X
	case *ssa.Convert:
		if isPointer(i.Type()) && isPointer(i.X.Type()) {
			return i.X
		}
	}
	return nil
}

func isPointer(t types.Type) bool {
	b, basic := t.Underlying().(*types.Basic)
	_, ok := t.Underlying().(*types.Pointer)
	return ok || basic && b.Kind() == types.UnsafePointer
}

// IsRegister reports whether a value is made anew whenever it is computed, as a variable is not.
func IsRegister(v ssa.Value) bool {
	switch v.(type) {
	case *ssa.Parameter:
		return true
	case *ssa.Alloc:
		return false
	}
	_, ok := v.(ssa.Instruction)
	return ok
}
