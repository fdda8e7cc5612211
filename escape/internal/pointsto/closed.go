package pointsto

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
)

// This file is about what may be known of a variable in memory, by all that is done to it.

// handsOn reports whether an instruction does something else with a literal that captures
// v than call it, or lend it to who only does that; and whether v is not assigned behind that, so that it
// has what others have then. Nothing is behind a return: who is given the literal has v from the start.
func (f *Func) handsOn(i ssa.Instruction, v ssa.Value) (yes, fixed bool) {
	if !memory.InMemory(v) {
		return false, false
	}
	fixed = true
	var callee *ssa.Value
	switch c := i.(type) {
	case *ssa.Return, *ssa.Panic:
		fixed = false
	case *ssa.Call:
		callee = &c.Call.Value
	case *ssa.Defer:
		callee = &c.Call.Value
	}
	for _, op := range i.Operands(nil) {
		if m, ok := (*op).(*ssa.MakeClosure); ok && op != callee && slices.Contains(m.Bindings, v) && !f.Lends(i, m) {
			yes, fixed = true, fixed && f.Fixed(v, m)
		}
	}
	return yes, yes && fixed
}

// isClosed reports whether nothing but what is read here gets at a variable in memory. One that was captured
// must not be assigned where others may run: what it holds is its own function's to know.
func (f *Func) isClosed(v ssa.Value) bool {
	if p, ok := v.(*memory.Field); ok {
		v = p.Root
	}
	yes, ok := f.closed[v]
	if ok {
		return yes
	}
	f.closed[v] = true // what it asks of itself, while it is asked
	yes = true
	_, captured := v.(*ssa.FreeVar)
	circle := ir.ToItself(v) // what is in there is put there before: who gets it of itself has no more
	check := func(w ssa.Value) {
		for _, i := range f.Users(w) {
			if s, ok := i.(*ssa.Store); ok && (captured && !(f.IsSlot(v) && f.Alone(v)) ||
				circle != nil && s != circle && !ir.Before(s, circle) || f.Origin(s.Val) == v && s != circle) {
				yes = false
			}
			if _, fixed := f.handsOn(i, w); fixed {
				continue // what is in there goes, and the variable keeps it
			}
			for _, a := range f.Acts(i, w) {
				yes = yes && a.Op != Keep
				switch _, literal := i.(*ssa.MakeClosure); {
				case a.Op == Leave: // nothing is done here behind that
					yes = yes && (!captured || f.Assigns(v))
				case f.IsSlot(w), a.Op == Read, a.Op == Await, a.Op == Unwrap, a.Op == Count, a.Op == Part && literal, a.To == v:
				default: // it gives what is in there
					yes = yes && a.Call != nil && a.To != nil && (circle != nil || !f.leadsOn(a.To.Type()))
				}
			}
		}
	}
	check(v)
	for _, p := range f.Fields(v) {
		check(p)
	}
	f.closed[v] = yes
	return yes
}

// Settled reports whether v is a value, or a variable that is assigned once only, where it is
// declared and in front of an instruction, if that is not nil.
func (f *Func) Settled(v ssa.Value, at ssa.Instruction) bool {
	if !f.InMemory(v) && !f.IsSlot(v) {
		return true
	}
	a, ok := memory.RootOf(v).(*ssa.Alloc)
	n := 0
	if f.Objects[memory.RootOf(v)] { // its maker set it
		n, ok = 1, true
	}
	for _, i := range f.Users(v) {
		ok = ok && f.Puts(i, v) == nil
		if s, is := i.(*ssa.Store); is && (f.Sets(s, v) || f.Origin(s.Addr) == v) {
			n++
			ok = ok && a != nil && s.Block() == a.Block() && (at == nil || ir.Before(s, at))
		}
	}
	return ok && n == 1
}

// MadeOf returns of what a value is made, on all ways; nil if that is not one value that is followed.
func (f *Func) MadeOf(v ssa.Value) ssa.Value { return f.parent[v] }

// noteMade notes of what an act makes a value, or that it is made of several.
func (f *Func) noteMade(a Act) {
	if _, instr := a.To.(ssa.Instruction); !instr || memory.Phi(a.To) != nil || !f.Settled(a.To, nil) {
		return
	}
	of := a.Of
	was, twice := f.parent[a.To]
	if a.When.Cond == effect.Maybe || a.Op != Copy && a.Op != Part && a.Op != Depend || twice && was != of {
		of = nil
	}
	f.parent[a.To] = of
}
