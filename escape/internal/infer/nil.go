package infer

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// This file is about parameters that may be nil: whether a function does nothing with one that goes wrong
// then, so that a free of what may be nothing needs no test.

// takesNil reports whether a function does nothing with a pointer that it is given that goes wrong if it is
// nil: on the ways on which it is, it is compared, or goes to functions that take nil as well, and all of
// them return.
func takesNil(f *own.Func, p *ssa.Parameter) bool {
	if _, ok := p.Type().Underlying().(*types.Pointer); !ok {
		return false
	}
	seen := map[*ssa.BasicBlock]bool{f.SSA.Blocks[0]: true}
	open := []*ssa.BasicBlock{f.SSA.Blocks[0]}
	for len(open) > 0 {
		b := open[len(open)-1]
		open = open[:len(open)-1]
		for _, i := range b.Instrs {
			if !harmless(f, i, p) {
				return false
			}
		}
		for _, to := range whereNil(b, p) {
			if !seen[to] {
				seen[to] = true
				open = append(open, to)
			}
		}
	}
	return true
}

// whereNil returns where a block leads to when a parameter is nil.
func whereNil(b *ssa.BasicBlock, p *ssa.Parameter) []*ssa.BasicBlock {
	i, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	if !ok {
		return b.Succs
	}
	c, ok := i.Cond.(*ssa.BinOp)
	if !ok || c.X != p && c.Y != p {
		return b.Succs
	}
	other := c.X
	if other == p {
		other = c.Y
	}
	switch k, ok := other.(*ssa.Const); {
	case !ok || !k.IsNil():
	case c.Op == token.EQL:
		return b.Succs[:1]
	case c.Op == token.NEQ:
		return b.Succs[1:]
	}
	return b.Succs
}

// harmless reports whether nothing goes wrong in an instruction because a parameter is nil.
func harmless(f *own.Func, i ssa.Instruction, p *ssa.Parameter) bool {
	switch i := i.(type) {
	case *ssa.Panic:
		return false
	case *ssa.DebugRef:
		return true
	case *ssa.BinOp: // that it is nil may only decide where this function goes on
		for _, u := range *i.Referrers() {
			if _, branch := u.(*ssa.If); (i.X == p || i.Y == p) && !branch {
				return false
			}
		}
		return true
	case ssa.CallInstruction:
		if f.Marks(i) {
			return true
		}
		for k, a := range calls.Operands(i.Common()) {
			if a == p && !f.Summary(i.Common()).Param(k).TakesNil {
				return false
			}
		}
		return true
	}
	var of [8]*ssa.Value
	for _, v := range i.Operands(of[:0]) {
		if *v == p {
			return false
		}
	}
	return true
}
