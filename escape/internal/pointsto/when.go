package pointsto

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
)

// This file is about acts that happen on some ways, or when the function ends.

// Asks returns the value on which it depends whether an act happens, and whether that must be true then, or
// not nil if it is an error; nil if there is none.
func (a Act) Asks() (v ssa.Value, want bool) {
	switch i := a.Instr.(type) {
	case *ssa.Select:
		if a.When.Cond == effect.IfTrue {
			return ir.Chosen(i, a.When.Param), true
		}
	case *ssa.Call:
		c := a.When.Cond
		if n := i.Call.Signature().Results().Len() - 1; effect.HasError(i.Call.Signature()) && (c == effect.OnSuccess || c == effect.OnError) {
			return memory.Result(i, n), c == effect.OnError
		}
	}
	if c := a.When.Cond; a.Call != nil && (c == effect.IfTrue || c == effect.IfFalse) {
		return calls.Operands(a.Call)[a.When.Param], c == effect.IfTrue
	}
	return nil, false
}

// sent is for a select: what one of its states sends is handed on if that is chosen.
func (f *Func) sent(s *ssa.Select, of ssa.Value) []Act {
	a, n := Act{Instr: s, Op: Keep, Of: of}, 0
	for k, st := range s.States {
		if st.Dir == types.SendOnly && f.Reaches(st.Send, of) != memory.None {
			a.When = effect.When{Cond: effect.IfTrue, Param: k}
			n++
		}
	}
	if n != 1 {
		a.When = effect.When{}
	}
	return []Act{a}
}

// deferred calls that only free, or only read, are known; all others keep what they are given. What a literal
// reads or frees is what its variable holds when the function ends: what it holds now, if it is not assigned
// again; in a loop that is another variable in each turn. What the body of a range over a function defers,
// the function around does.
func (f *Func) deferred(d *ssa.Defer, of ssa.Value) []Act {
	if yes, frees, again := f.Undoes(d, of); frees {
		return []Act{{Instr: d, Op: Last, Of: of, When: effect.When{Cond: effect.Always}, Call: &d.Call, Again: again}}
	} else if yes {
		return []Act{{Instr: d, Op: Read, Of: of}}
	}
	out := f.call(d, &d.Call, of)
	body := memory.IsBody(d.Parent())
	reads := !body && !slices.ContainsFunc(out, func(a Act) bool { return a.Op != Read })
	frees := len(out) == 1 && out[0].Op == Free && out[0].When.Cond == effect.Always
	same, again := f.Settled(of, d), body || ir.Circles(d.Block())
	for k := range out {
		switch {
		case reads && same:
			out[k].Op, out[k].To = Await, f.Given(d)
		case reads && !again:
			out[k].Op = Await
		case frees && same:
			out[k].Op, out[k].To = Later, f.Given(d)
		case frees && !again:
			out[k].Op = Last
		default:
			out[k].Op, out[k].To, out[k].When = Keep, nil, effect.When{Cond: effect.Always}
		}
	}
	return out
}
