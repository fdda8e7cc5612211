package pointsto

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/memory"
)

// This file is about calls that append to a slice which is in a slot of the caller: a part of an operand, or
// what a literal captures. It is in the slot as a whole again when the call returns.

// grown adds what a call puts into the slice in a slot.
func (f *Func) grown(c *gathering, i *ssa.Call, v ssa.Value) {
	add := func(val ssa.Value) { f.puts(c, put{i, nil, v, val, v, c.Collection}) }
	if _, builtin := i.Call.Value.(*ssa.Builtin); builtin {
		return
	}
	operands := calls.Operands(&i.Call)
	s := f.Summary(&i.Call)
	takes := func(t effect.Takes) {
		if t.Own { // that has no name here
			add(nil)
			c.gives = true
		}
		for k, x := range operands {
			if t.Of>>k&1 == 1 {
				c.closed = c.closed && !f.twice(&i.Call, f.Origin(x))
				add(x)
			}
		}
	}
	for k, a := range operands {
		if f.Reaches(a, v) != memory.None {
			takes(f.Effect(s, k, a, v).Takes)
		}
	}
	for _, r := range f.RunsOf(i) {
		for n, b := range r.Literal.Bindings {
			if r.Lent && b == v {
				takes(effect.Takes{Own: f.Does(r, n).Takes.Own})
			}
		}
	}
}

// findGrown finds the collections in slots that a call puts something into.
func (f *Func) findGrown(i *ssa.Call, seen map[ssa.Value]bool) {
	if f.Marks(i) {
		return
	}
	var at []ssa.Value
	for _, a := range calls.Operands(&i.Call) {
		root, _, _ := f.Resolve(a)
		at = append(at, root)
	}
	for _, r := range f.RunsOf(i) {
		at = append(at, r.Literal.Bindings...)
	}
	for _, root := range at {
		slots := []ssa.Value{root}
		for _, p := range f.Fields(root) {
			slots = append(slots, p)
		}
		for _, v := range slots {
			if f.IsSlot(v) && f.Collects(v) {
				c := &gathering{Collection: memory.NewCollection(v)}
				if f.grown(c, i, v); len(c.puts) > 0 {
					f.findCollection(v, seen)
				}
			}
		}
	}
}
