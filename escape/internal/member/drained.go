package member

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about values that are used up: methods read what is in a field to its end, and no method that
// takes nothing else ends the field. If one of them frees what it has read, all have to.

// drained returns the methods that read a field to its end, and leave it, while another one that does frees
// it.
func drained(n *types.Named, methods []*method) (out []Finding) {
	s := n.Underlying().(*types.Struct)
	for k := range s.NumFields() {
		frees := func(m *method) bool { return len(m.freed[k]) > 0 }
		ended := func(m *method) bool { return m.ends() && (m.all || frees(m) || m.given[k] && !drains(m, k)) }
		if slices.ContainsFunc(methods, ended) {
			continue
		}
		as := slices.IndexFunc(methods, func(m *method) bool { return frees(m) && drains(m, k) })
		for _, m := range methods {
			if as >= 0 && !m.all && len(m.calls) == 0 && m.set[k] == nil && !frees(m) && drains(m, k) {
				out = append(out, Finding{SSA: m.ssa, Method: m.fn, Type: n, Fields: []string{s.Field(k).Name()}})
			}
		}
	}
	return out
}

// drains reports whether a method calls one of what is in field k for as long as that says that there is
// more, and does no more with it than to call its methods.
func drains(m *method, k int) (yes bool) {
	for _, i := range *m.ssa.Params[0].Referrers() {
		a, ok := i.(*ssa.FieldAddr)
		if !ok || a.Field != k {
			continue
		}
		for _, u := range *a.Referrers() {
			load, ok := u.(*ssa.UnOp)
			if !ok {
				return false
			}
			for _, u := range *load.Referrers() {
				c, ok := u.(ssa.CallInstruction)
				if _, debug := u.(*ssa.DebugRef); debug {
					continue
				}
				if !ok || !isMethod(c.Common(), load) {
					return false
				}
				yes = yes || asksMore(c)
			}
		}
	}
	return yes
}

// isMethod reports whether a call is one of a method of a value, which is no other operand.
func isMethod(c *ssa.CallCommon, of ssa.Value) bool {
	fn := calls.Called(c)
	all := calls.Operands(c)
	return fn != nil && fn.Signature().Recv() != nil && all[0] == of && !slices.Contains(all[1:], of)
}

// asksMore reports whether a loop goes on as long as a call says so, and ends where it does not.
func asksMore(i ssa.CallInstruction) bool {
	c, ok := i.(*ssa.Call)
	if !ok || !ir.Circles(c.Block()) {
		return false
	}
	return slices.ContainsFunc(*c.Referrers(), func(u ssa.Instruction) bool {
		branch, ok := u.(*ssa.If)
		return ok && branch.Block() == c.Block() && !ir.Leads(branch.Block().Succs[1].Instrs[0], c)
	})
}
