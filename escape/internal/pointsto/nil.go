package pointsto

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
)

// Foreign reports whether a value may be something else than what the sites that it holds
// made, and than nil.
func (f *Func) Foreign(v ssa.Value) bool { return f.foreign(v, map[ssa.Value]bool{}) }

func (f *Func) foreign(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	if c, ok := v.(*ssa.Const); ok {
		return c.Value != nil
	}
	if len(f.holds[v]) == 0 {
		return true
	}
	if f.made[v] != nil {
		return false
	}
	switch i := v.(type) {
	case *ssa.Phi:
		for _, e := range i.Edges {
			if f.foreign(Origin(e), seen) {
				return true
			}
		}
		return false
	case *ssa.ChangeType:
		return f.foreign(i.X, seen)
	case *ssa.UnOp:
		return !f.IsSlot(i.X) || f.foreign(i.X, seen)
	case *ssa.Alloc:
		for _, u := range f.Users(v) {
			if s, ok := u.(*ssa.Store); ok && s.Addr == v && f.foreign(Origin(s.Val), seen) {
				return true
			}
		}
		return !f.IsSlot(v)
	}
	var call *ssa.Call
	if e, ok := v.(*ssa.Extract); ok {
		call, _ = e.Tuple.(*ssa.Call)
	} else {
		call, _ = v.(*ssa.Call)
	}
	if call == nil {
		return true
	}
	for _, a := range Operands(&call.Call) { // a result that is an operand
		if len(f.holds[Origin(a)]) == 0 {
			continue
		}
		for _, act := range f.Acts(call, Origin(a)) {
			if act.Op == Copy && act.To == v && act.When.Cond == effect.Always {
				return f.foreign(Origin(a), seen)
			}
		}
	}
	return true
}

// MayBeNil reports whether a value that holds what sites made may be nothing at all.
func (f *Func) MayBeNil(v ssa.Value) bool { return f.mayBeNil(v, map[ssa.Value]bool{}) }

func (f *Func) mayBeNil(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	if s := f.made[v]; s != nil {
		return s.Nil || s.Error != nil
	}
	switch i := v.(type) {
	case *ssa.Phi:
		for _, e := range i.Edges {
			if f.mayBeNil(Origin(e), seen) {
				return true
			}
		}
		return false
	case *ssa.ChangeType:
		return f.mayBeNil(i.X, seen)
	}
	return true
}
