package pointsto

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/memory"
)

// This file is about what the program frees: whether it may do so again, and whether that gives anything
// back. Of values that are counted, it does not if something else has a reference.

// Repeatable reports whether all frees of what a site makes may be repeated, and of what meets it in a value.
func (f *Func) Repeatable(s *Site) bool {
	for _, g := range f.Groups {
		if slices.Contains(g.Sites, s) {
			return f.Again(g)
		}
	}
	return true
}

// Again reports whether all that the program frees of a group by may be repeated.
func (f *Func) Again(g *Group) bool { return !slices.ContainsFunc(g.Values, f.freedOnce) }

// freedOnce reports whether what a value is may be freed by what must not free it again.
func (f *Func) freedOnce(v ssa.Value) bool {
	if a, ok := v.(*memory.Assigned); ok {
		return a.Frees && !a.Again
	}
	return slices.ContainsFunc(f.Users(v), func(i ssa.Instruction) bool {
		return slices.ContainsFunc(f.Acts(i, v), func(a Act) bool { return (a.Op == Free || a.Op == Later || a.Op == Last) && !a.Again })
	})
}

// Shared reports whether what a site makes is counted, and something else may have a reference to it: what
// gets it and makes such a value, or gets it beside another one, may keep it.
func (f *Func) Shared(s *Site) bool {
	if !f.In.Counted(f.Held(s.Value)) {
		return false
	}
	for _, g := range f.Groups {
		for _, v := range g.Values {
			if f.May(v, s) && slices.ContainsFunc(f.Users(v), func(i ssa.Instruction) bool { return f.shares(i, v, s) }) {
				return true
			}
		}
	}
	return false
}

// shares reports whether something else may have a reference to what a site makes behind an instruction that
// uses value v.
func (f *Func) shares(i ssa.Instruction, v ssa.Value, s *Site) bool {
	return slices.ContainsFunc(f.Acts(i, v), func(a Act) bool {
		if _, box := i.(*ssa.MakeInterface); a.Call == nil {
			return a.Op == Put || a.Op == Wrap && !box
		}
		return f.Summary(a.Call).Unknown || f.Gets(a.Call, s) || slices.ContainsFunc(results(a.Call), f.In.Frees.Named)
	})
}

// Gets reports whether a call gets a value that has room for a buffer, and is not what a site makes.
func (f *Func) Gets(c *ssa.CallCommon, s *Site) bool {
	return slices.ContainsFunc(calls.Operands(c), func(a ssa.Value) bool {
		return f.In.Frees.Named(a.Type()) && (s == nil || !f.May(f.Origin(a), s))
	})
}

// results lists the types of the results of a call.
func results(c *ssa.CallCommon) (out []types.Type) {
	for v := range c.Signature().Results().Variables() {
		out = append(out, v.Type())
	}
	return out
}
