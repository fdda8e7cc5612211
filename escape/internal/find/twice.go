package find

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/member"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about what a deferred call frees as a raw pointer, and another call as what it is: C's memory
// often goes back as void pointers. To own the one is a view of the other.

// twice lists what is freed so.
func twice(f *own.Func) (out []Finding) {
	later := map[ssa.Value]*ssa.Defer{}
	member.Each(f.SSA, func(i ssa.Instruction) {
		if d, ok := i.(*ssa.Defer); ok && !f.Marks(i) {
			for _, v := range freedBy(f, d) {
				if later[address(v)] == nil && address(v) != v {
					later[address(v)] = d
				}
			}
		}
	})
	if len(later) == 0 {
		return nil
	}
	member.Each(f.SSA, func(i ssa.Instruction) {
		c, ok := i.(*ssa.Call)
		if !ok || f.Marks(i) {
			return
		}
		for _, v := range freedBy(f, c) {
			d := later[address(v)]
			h := f.Holds(v)
			if d != nil && ir.Before(d, c) && len(h) == 1 && h[0].As == pointsto.Whole && !f.Repeatable(h[0].Site) {
				out = append(out, Finding{Kind: DoubleFree, On: Freed, State: own.Pending, Must: true, Site: h[0].Site, Pos: c.Pos(), Other: d.Pos()})
			}
		}
	})
	return out
}

// freedBy lists the operands that a call frees, whatever else.
func freedBy(f *own.Func, c ssa.CallInstruction) (out []ssa.Value) {
	if _, builtin := c.Common().Value.(*ssa.Builtin); builtin {
		return nil
	}
	s := f.Summary(c.Common())
	for k, v := range calls.Operands(c.Common()) {
		if p := s.Param(k); p.Freed.Cond == effect.Always && !p.Repeatable {
			out = append(out, v)
		}
	}
	return out
}

// address returns the pointer that a raw one was made of, as it is.
func address(v ssa.Value) ssa.Value {
	for {
		switch x := v.(type) {
		case *ssa.Convert:
			v = x.X
		case *ssa.ChangeType:
			v = x.X
		default:
			return v
		}
	}
}
