package pointsto

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/memory"
)

// Empty reports whether a part is never set here, and so holds nothing.
func (f *Func) Empty(v ssa.Value) bool {
	_, part := v.(*memory.Field)
	return part && len(f.holds[v]) == 0 && !f.Foreign(v)
}

// Foreign reports whether a value may be something else than what the sites that it holds
// made, and than nil.
func (f *Func) Foreign(v ssa.Value) bool { return f.foreign(v, map[ssa.Value]bool{}) }

func (f *Func) foreign(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] || f.Collected(v) {
		return false
	}
	seen[v] = true
	if c, ok := memory.RootOf(v).(*ssa.Const); ok {
		return c.Value != nil
	}
	from, ok := f.sources(v)
	if f.made[v] != nil {
		ok = true
	}
	return !ok || slices.ContainsFunc(from, func(w ssa.Value) bool { return f.foreign(w, seen) })
}

// sources lists the values of which a value, a slot or a field is made; ok is false if that is
// not all that it may be.
func (f *Func) sources(v ssa.Value) (from []ssa.Value, ok bool) {
	var path []int
	p, isField := v.(*memory.Field)
	if isField {
		path = p.Path
	}
	if f.IsSlot(v) {
		for _, u := range f.Users(v) {
			if f.Sets(u, v) {
				s := u.(*ssa.Store)
				_, at, _ := f.Resolve(s.Addr)
				from = append(from, f.Field(f.Origin(s.Val), path[len(at):]))
			}
		}
		for _, a := range f.put[v] {
			from = append(from, a)
		}
		_, own := memory.RootOf(v).(*ssa.Alloc)
		return from, own && f.isClosed(v)
	}
	switch i := memory.RootOf(v).(type) {
	case *memory.Former:
		return []ssa.Value{i.Slot}, true
	case *ssa.Phi:
		for k := range i.Edges {
			from = append(from, f.Brought(v, k))
		}
		return from, true
	case *ssa.ChangeType:
		return []ssa.Value{f.Field(i.X, path)}, true
	case *ssa.ChangeInterface:
		return []ssa.Value{i.X}, true
	case *ssa.MakeInterface:
		return []ssa.Value{i.X}, f.In.Frees.Boxes(i.X.Type(), i.Type())
	case *ssa.Field:
		return []ssa.Value{f.Field(i.X, append([]int{i.Field}, path...))}, true
	case *ssa.UnOp:
		root, at, sure := f.Resolve(i.X)
		x := f.Field(root, slices.Concat(at, path))
		return []ssa.Value{x}, sure && x != nil && f.IsSlot(x)
	}
	return f.operand(memory.CallOf(memory.RootOf(v)), v)
}

// operand returns the operand that a result of a call is, if there is a call.
func (f *Func) operand(call *ssa.Call, v ssa.Value) ([]ssa.Value, bool) {
	if call == nil {
		return nil, false
	}
	for _, a := range calls.Operands(&call.Call) {
		of := f.Origin(a)
		if !f.In.Owns(f.Held(of)) {
			continue
		}
		for _, act := range f.Acts(call, of) {
			if act.Op == Copy && act.To == v && act.When.Cond == effect.Always {
				return []ssa.Value{of}, true
			}
		}
	}
	return nil, false
}

// Handed reports whether a value is the result of a call that did not make it: an operand, or nothing.
func (f *Func) Handed(v ssa.Value) bool {
	return memory.CallOf(v) != nil && f.made[v] == nil
}

// MayBeNil reports whether a value that holds what sites made may be nothing at all.
func (f *Func) MayBeNil(v ssa.Value) bool { return f.mayBeNil(v, map[ssa.Value]bool{}) }

// Held returns the type of what a value is, or of what is in the slot that it is.
func (f *Func) Held(v ssa.Value) types.Type {
	if f.IsSlot(v) {
		return memory.Pointee(v.Type())
	}
	return v.Type()
}

// Collects reports whether a value, or what is in the slot that it is, is a slice or map that may own.
func (f *Func) Collects(v ssa.Value) bool { return f.In.Frees.Collects(f.Held(v)) }

func (f *Func) mayBeNil(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	s := f.made[v]
	if s != nil && (s.Nil || s.Error != nil || s.OK != nil || s.Param >= 0 && s.Part != "") {
		return true
	}
	if s == nil && f.IsSlot(v) && !f.setAtOnce(v) {
		return true
	}
	from, ok := f.sources(v)
	ok = ok || s != nil
	return !ok || slices.ContainsFunc(from, func(w ssa.Value) bool { return f.mayBeNil(w, seen) })
}

// setAtOnce reports whether a slot is set in the block in which it is made.
func (f *Func) setAtOnce(v ssa.Value) bool {
	a, ok := memory.RootOf(v).(*ssa.Alloc)
	return ok && slices.ContainsFunc(f.Users(v), func(i ssa.Instruction) bool {
		return i.Block() == a.Block() && f.Sets(i, v)
	})
}
