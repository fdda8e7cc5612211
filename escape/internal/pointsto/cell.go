package pointsto

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
	switch v.(type) {
	case *ssa.Alloc, *ssa.FreeVar:
		return true
	}
	return false
}

// IsSlot reports whether v is the address of a variable of a type to follow, or of a field.
func (f *Func) IsSlot(v ssa.Value) bool {
	if p, ok := v.(*Field); ok {
		return p.Memory
	}
	return InMemory(v) && f.in.Owns(pointee(v.Type())) && !f.built(v)
}

// Origin returns the slot or container that v is or is an address in, or the variable in memory
// that it is an address or a slice of, and else v.
func (f *Func) Origin(v ssa.Value) ssa.Value {
	if c := f.container(v); c != nil {
		return c
	}
	root, path, _ := f.resolve(v)
	if !f.inMemory(root) {
		return v
	}
	for _, p := range f.fields(root) {
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
	case *Assigned:
		return []ssa.Instruction{p.Call}
	}
	p, isField := v.(*Field)
	root := v
	if isField {
		root = p.Root
	}
	var out []ssa.Instruction
	add := func(i ssa.Instruction) {
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
			if _, debug := i.(*ssa.DebugRef); debug || f.in.IR.Marks(i) && !f.in.IR.Reads(i) {
				continue
			}
			if m, ok := i.(*ssa.MakeClosure); ok {
				bound := calls.OnlyCalled(m)
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
				if r, _, _ := f.resolve(a); a != root && r == root { // an address in it
					if !isField || f.reaches(a, p) != none {
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
		for _, b := range f.SSA.Blocks {
			if r, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok {
				add(r)
			}
		}
	}
	return out
}

// handsOn reports whether an instruction does something else with a literal that captures
// v than call it.
func handsOn(i ssa.Instruction, v ssa.Value) bool {
	if !InMemory(v) {
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
// One that was captured must not be assigned where others may run: what it holds is its own function's to
// know.
func (f *Func) isClosed(v ssa.Value) bool {
	if p, ok := v.(*Field); ok {
		v = p.Root
	}
	yes, ok := f.closed[v]
	if ok {
		return yes
	}
	f.closed[v] = true // what it asks of itself, while it is asked
	yes = true
	_, captured := v.(*ssa.FreeVar)
	check := func(w ssa.Value) {
		for _, i := range f.Users(w) {
			if s, ok := i.(*ssa.Store); ok && (captured && !(f.IsSlot(v) && f.alone(v)) || f.Origin(s.Val) == v) {
				yes = false
			}
			for _, a := range f.Acts(i, w) {
				_, literal := i.(*ssa.MakeClosure)
				leaves := a.Op == Leave && (!captured || f.Assigns(v)) // nothing is done here behind that
				looks := a.Op == Read || a.Op == Unwrap || a.Op == Count || a.Op == Part && literal || leaves ||
					a.Call != nil && a.To != nil && !f.leadsOn(a.To.Type()) // it gives what is in there
				yes = yes && a.Op != Keep && (a.Op != Leave || leaves) && (f.IsSlot(w) || looks)
			}
		}
	}
	check(v)
	for _, p := range f.fields(v) {
		check(p)
	}
	f.closed[v] = yes
	return yes
}

// settled reports whether v is a value, or a variable that is assigned once only, where it is
// declared and in front of an instruction.
func (f *Func) settled(v ssa.Value, at ssa.Instruction) bool {
	if !f.inMemory(v) && !f.IsSlot(v) {
		return true
	}
	a, ok := rootOf(v).(*ssa.Alloc)
	n := 0
	if f.objects[rootOf(v)] { // its maker set it
		n, ok = 1, true
	}
	for _, i := range f.Users(v) {
		ok = ok && f.puts(i, v) == nil
		if s, is := i.(*ssa.Store); is && (f.Sets(s, v) || f.Origin(s.Addr) == v) {
			n++
			ok = ok && a != nil && s.Block() == a.Block() && ir.Before(s, at)
		}
	}
	return ok && n == 1
}
