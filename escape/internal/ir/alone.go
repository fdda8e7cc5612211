package ir

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// This file is about who else may get at a variable that literals capture.

// Alone reports whether nobody gets at a captured variable while a literal of its function runs but that
// literal, and what it calls by name: all literals that capture it are called by their names, or deferred if
// they do not assign it, and calls do not keep its address. What keeps says whether a call does that with
// an operand.
func Alone(v ssa.Value, keeps func(*ssa.CallCommon, ssa.Value) bool) bool {
	if captured, ok := v.(*ssa.FreeVar); ok {
		fn := captured.Parent()
		k := slices.Index(fn.FreeVars, captured)
		makers := *fn.Referrers()
		return len(makers) == 1 && Alone(makers[0].(*ssa.MakeClosure).Bindings[k], keeps)
	}
	_, ok := v.(*ssa.Alloc)
	return ok && onlyByName(v, keeps)
}

// onlyByName reports whether the address of a variable goes nowhere but into literals that are called by
// name.
func onlyByName(v ssa.Value, keeps func(*ssa.CallCommon, ssa.Value) bool) bool {
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.UnOp:
		case *ssa.Store:
			if i.Val == v {
				return false
			}
		case *ssa.Call:
			if _, builtin := i.Call.Value.(*ssa.Builtin); builtin || i.Call.IsInvoke() || i.Call.Value == v {
				return false
			}
			if keeps(&i.Call, v) {
				return false
			}
		case *ssa.MakeClosure:
			fn := i.Fn.(*ssa.Function)
			k := slices.Index(i.Bindings, v)
			if fn.Parent() == nil || !byName(i, len(Stores(fn.FreeVars[k])) == 0) || !onlyByName(fn.FreeVars[k], keeps) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// byName reports whether a literal is called by its name, or deferred if it may be, and nothing else is
// done with it.
func byName(m *ssa.MakeClosure, deferred bool) bool {
	for _, i := range *m.Referrers() {
		switch c := i.(type) {
		case *ssa.DebugRef:
			continue
		case *ssa.Defer:
			if !deferred {
				return false
			}
		case *ssa.Call:
			if slices.Contains(c.Call.Args, ssa.Value(m)) {
				return false
			}
		}
		if Callee(i) != m {
			return false
		}
	}
	return true
}
