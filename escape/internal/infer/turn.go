package infer

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about functions that turn a parameter: fields of what it points to become others of these,
// each one, so that who has all of it still has that. Who follows its parts does not know which is where.

// turns reports whether a function turns a parameter, or calls one that does, and otherwise borrows it.
func (e *exits) turns(p effect.Param, v *ssa.Parameter) bool {
	if e.swaps(v) {
		return true
	}
	is := func(h pointsto.Hold) bool { return h.Site.Value == ssa.Value(v) }
	some := false
	for _, n := range e.f.Graph.Nodes {
		for _, i := range n.Instrs {
			c, ok := i.(ssa.CallInstruction)
			if !ok || e.f.Marks(i) {
				continue
			}
			for k, a := range calls.Operands(c.Common()) {
				does := e.f.Summary(c.Common()).Param(k)
				some = some || does.Turned && slices.ContainsFunc(e.f.Holds(e.f.Origin(a)), is)
			}
		}
	}
	return some && p.Borrows()
}

// swaps reports whether all that a function does is that fields of a parameter become others of it.
func (e *exits) swaps(v *ssa.Parameter) bool {
	if len(e.f.SSA.Blocks) != 1 {
		return false
	}
	field := func(addr ssa.Value) int {
		if a, ok := addr.(*ssa.FieldAddr); ok && a.X == ssa.Value(v) {
			return a.Field
		}
		return -1
	}
	loads, from, to := map[ssa.Value]bool{}, map[int]bool{}, map[int]bool{}
	for _, i := range e.f.SSA.Blocks[0].Instrs {
		if e.f.Marks(i) {
			continue
		}
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.FieldAddr, *ssa.Return:
		case *ssa.UnOp:
			n := field(i.X)
			if i.Op != token.MUL || n < 0 || from[n] || len(to) > 0 {
				return false
			}
			loads[i], from[n] = true, true
		case *ssa.Store:
			n := field(i.Addr)
			if !loads[i.Val] || !from[n] || to[n] {
				return false
			}
			delete(loads, i.Val)
			to[n] = true
		default:
			return false
		}
	}
	return len(loads) == 0 && len(to) > 0
}
