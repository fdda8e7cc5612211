package own

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// This file is about variables in memory: those whose address is taken, and those that
// literals capture. One that has room for a single handle, and that nobody gets at but
// instructions which are understood, is as good as a value: a slot. It takes what is stored
// in it, and gives it back. Any other is a holder of what was ever stored in it.

// inMemory reports whether v is the address of a variable of this function, or of one that
// it captures.
func inMemory(v ssa.Value) bool {
	switch v.(type) {
	case *ssa.Alloc, *ssa.FreeVar:
		return true
	}
	return false
}

// slot reports whether v is the address of a variable of a type to follow.
func (r *reader) slot(v ssa.Value) bool { return inMemory(v) && r.in.Owns(pointee(v.Type())) }

// origin returns the variable in memory that v is an address or a slice of, and else v.
func origin(v ssa.Value) ssa.Value {
	for {
		var x ssa.Value
		switch i := v.(type) {
		case *ssa.FieldAddr:
			x = i.X
		case *ssa.IndexAddr:
			x = i.X
		case *ssa.Slice:
			x = i.X
		}
		if x == nil || !inMemory(origin(x)) {
			return v
		}
		v = x
	}
}

// users lists the instructions that v is an operand of, by any address of it or in a
// literal that captures it, except marks, which only name it.
func (r *reader) users(v ssa.Value) []ssa.Instruction {
	refs := v.Referrers()
	if refs == nil {
		return nil
	}
	var out []ssa.Instruction
	add := func(i ssa.Instruction) {
		if !slices.Contains(out[max(0, len(out)-4):], i) { // once, though it may be several operands
			out = append(out, i)
		}
	}
	for _, i := range *refs {
		if _, debug := i.(*ssa.DebugRef); debug || r.ir.Marks(i) {
			continue
		}
		if m, ok := i.(*ssa.MakeClosure); ok && r.slot(v) {
			for _, j := range *m.Referrers() {
				add(j)
			}
			continue
		}
		if a, ok := i.(ssa.Value); ok && origin(a) != a && origin(a) == origin(v) {
			for _, j := range r.users(a) {
				add(j)
			}
			continue
		}
		add(i)
	}
	return out
}

// handsOn reports whether an instruction does something else with a literal that captures
// v than call it.
func handsOn(i ssa.Instruction, v ssa.Value) bool {
	if !inMemory(v) {
		return false
	}
	var callee *ssa.Value
	switch c := i.(type) {
	case *ssa.Call:
		callee = &c.Call.Value
	case *ssa.Defer:
		callee = &c.Call.Value
	}
	for _, op := range i.Operands(nil) {
		if m, ok := (*op).(*ssa.MakeClosure); ok && op != callee && slices.Contains(m.Bindings, v) {
			return true
		}
	}
	return false
}

// isClosed reports whether nothing but what is read here gets at a variable in memory.
// One that was captured must not be assigned: what it holds is its own function's to know.
func (r *reader) isClosed(v ssa.Value) bool {
	yes, ok := r.closed[v]
	if ok {
		return yes
	}
	r.closed[v] = true // what it asks of itself, while it is asked
	yes = true
	_, captured := v.(*ssa.FreeVar)
	for _, i := range r.users(v) {
		if s, ok := i.(*ssa.Store); ok && (captured || origin(s.Val) == v) {
			yes = false
		}
		for _, a := range r.acts(i, v) {
			yes = yes && a.Op != Keep && a.Op != Leave && (r.slot(v) || a.Op == Read || a.Op == Unwrap)
		}
	}
	r.closed[v] = yes
	return yes
}

// once reports whether v is a value, or a variable that is assigned once only, where it is
// declared.
func (r *reader) once(v ssa.Value) bool {
	if !inMemory(v) {
		return true
	}
	a, ok := v.(*ssa.Alloc)
	n := 0
	for _, i := range r.users(v) {
		if s, is := i.(*ssa.Store); is && origin(s.Addr) == v {
			n++
			ok = ok && s.Block() == a.Block()
		}
	}
	return ok && n == 1
}
