package ir

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// This file is about who else may get at a variable that literals capture.

// Callees is what is known of calls.
type Callees struct {
	Keeps func(*ssa.CallCommon, ssa.Value) bool        // the address of a variable
	Lends func(ssa.Instruction, *ssa.MakeClosure) bool // to who only runs the literal, before it returns
}

// Alone reports whether nobody gets at a captured variable while a literal of its function runs but that
// literal, and what it calls by name: all literals that capture it are called by their names, lent, or
// deferred if they do not assign it, and calls do not keep its address.
func (c Callees) Alone(v ssa.Value) bool {
	if captured, ok := v.(*ssa.FreeVar); ok {
		fn := captured.Parent()
		k := slices.Index(fn.FreeVars, captured)
		makers := *fn.Referrers()
		return len(makers) == 1 && c.Alone(makers[0].(*ssa.MakeClosure).Bindings[k])
	}
	_, ok := v.(*ssa.Alloc)
	return ok && c.onlyByName(v)
}

// onlyByName reports whether the address of a variable goes nowhere but into literals that are called by
// name.
func (c Callees) onlyByName(v ssa.Value) bool {
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
			if c.Keeps(&i.Call, v) {
				return false
			}
		case *ssa.MakeClosure:
			fn := i.Fn.(*ssa.Function)
			k := slices.Index(i.Bindings, v)
			if fn.Parent() == nil || !c.byName(i, len(Stores(fn.FreeVars[k])) == 0) || !c.onlyByName(fn.FreeVars[k]) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// byName reports whether a literal is called by its name, lent, or deferred if it may be, and nothing else
// is done with it.
func (c Callees) byName(m *ssa.MakeClosure, deferred bool) bool {
	for _, i := range *m.Referrers() {
		switch d := i.(type) {
		case *ssa.DebugRef:
			continue
		case *ssa.Defer:
			if !deferred {
				return false
			}
		case *ssa.Call:
			if c.Lends(i, m) {
				continue
			}
			if slices.Contains(d.Call.Args, ssa.Value(m)) {
				return false
			}
		}
		if Callee(i) != m {
			return false
		}
	}
	return true
}
