package memory

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about variables in memory: those whose address is taken, and those that
// literals capture. One that has room for a single handle, and that nobody gets at but
// instructions which are understood, is as good as a value: a slot. It takes what is stored
// in it, and gives it back. Any other is a holder of what was ever stored in it.

// InMemory reports whether v is the address of a variable of this function, or of one that
// it captures.
func InMemory(v ssa.Value) bool {
	_, here := v.(*ssa.Alloc)
	_, captured := v.(*ssa.FreeVar)
	return here || captured
}

// IsSlot reports whether v is the address of a variable of a type to follow, or of a field.
func (f *Func) IsSlot(v ssa.Value) bool {
	if p, ok := v.(*Field); ok {
		return p.Memory
	}
	return InMemory(v) && f.In.Owns(Pointee(v.Type())) && !f.built(v) && f.putTogether(v) == apart
}

// Origin returns the slot or container that v is or is an address in, or the variable in memory
// that it is an address or a slice of, and else v. A slice that owns what is in it is a value.
func (f *Func) Origin(v ssa.Value) ssa.Value {
	if c := f.Container(v); c != nil {
		return c
	}
	if f.Collected(v) {
		return v
	}
	root, path, _ := f.Resolve(v)
	if !f.InMemory(root) {
		return v
	}
	for _, p := range f.Fields(root) {
		if len(path) >= len(p.Path) && starts(path, p.Path) {
			return p
		}
	}
	return root
}

// Users lists the instructions that v is an operand of, by any address of it or in a
// literal that captures it, except marks that only name it.
func (f *Func) Users(v ssa.Value) []ssa.Instruction {
	switch p := v.(type) {
	case *Container:
		return p.users
	case *Running:
		return p.Waits
	case *Assigned, *Filled:
		return []ssa.Instruction{CallOf(v)}
	case *Collection:
		return nil
	}
	p, isField := v.(*Field)
	root := RootOf(v)
	var out []ssa.Instruction
	var pointers []ssa.Value // to v
	add := func(i ssa.Instruction) {
		if put := f.partOf[i]; put != nil {
			i = put
		}
		if !slices.Contains(out[max(0, len(out)-4):], i) { // once, though it may be several operands
			out = append(out, i)
		}
	}
	var visit func(at ssa.Value)
	visit = func(at ssa.Value) {
		refs := at.Referrers()
		if refs == nil {
			return
		}
		for _, i := range *refs {
			if _, debug := i.(*ssa.DebugRef); debug || f.In.IR.Marks(i) && !f.In.IR.Reads(i) {
				continue
			}
			if load, ok := i.(*ssa.UnOp); ok && f.empty(load) {
				continue
			}
			if s, ok := i.(*ssa.Store); ok && f.pointsTo(s, root) {
				if s.Val == at && !slices.Contains(pointers, s.Addr) {
					pointers = append(pointers, s.Addr)
					visit(s.Addr)
				}
				continue
			}
			if m, ok := i.(*ssa.MakeClosure); ok {
				if isField && f.passes(m, at, p) {
					continue
				}
				bound := calls.OnlyCalled(m, f.In.IR.Marks) || f.undone(m)
				view := !bound && f.looks(m, at)
				if !view && (bound || !isField && f.IsSlot(v)) {
					for _, j := range *m.Referrers() {
						add(j)
					}
					continue
				}
				for _, j := range *m.Referrers() { // where it is called by its name, its summary says more
					if view && ir.Callee(j) == m {
						add(j)
					}
				}
			}
			if a, ok := i.(ssa.Value); ok {
				if r, _, _ := f.Resolve(a); a != root && r == root { // an address in it, or read of a pointer
					if !isField || f.Reaches(a, p) != None {
						visit(a)
					}
					continue
				}
			}
			add(i)
		}
	}
	visit(root)
	if f.Assigns(v) { // what it holds in the end is its own function's
		for _, r := range ir.Returns(f.SSA) {
			add(r)
		}
	}
	return out
}

// pointer returns the address that a variable is given, of another one or an object, if it is given no other.
func (f *Func) pointer(v ssa.Value) ssa.Value {
	if to := f.lifted.Given(v); to != nil {
		if root, _, _ := f.Resolve(to); f.InMemory(root) {
			return to
		}
	}
	return nil
}

// pointsTo reports whether a store is that of a pointer to root, and literals that capture the pointer undo
// what is there, or only look at it, and it stays what it is: nothing is stored by the pointer.
func (f *Func) pointsTo(s *ssa.Store, root ssa.Value) bool {
	users := s.Addr.Referrers()
	stored := func(i ssa.Instruction) bool {
		load, ok := i.(*ssa.UnOp)
		return ok && len(ir.Stores(load)) > 0
	}
	return f.pointer(s.Addr) != nil && !slices.ContainsFunc(*users, func(i ssa.Instruction) bool {
		m, ok := i.(*ssa.MakeClosure)
		looks := ok && f.looks(m, s.Addr) && f.Fixed(root, m) && !slices.ContainsFunc(*users, stored)
		return ok && !looks && !f.undone(m)
	})
}
