package taken

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// This file is about references that a function takes to something, to put it away or to hand it on: on a way
// on which it fails before that, or on which nobody receives, nobody gives the reference back.

// heldBy returns the reference that a call takes; nil if it takes none.
func heldBy(f *own.Func, c *ssa.Call) *taken {
	if _, builtin := c.Call.Value.(*ssa.Builtin); builtin || f.Marks(c) {
		return nil
	}
	all := calls.Operands(&c.Call)
	if len(all) != 1 || !f.Summary(&c.Call).Param(0).Retained || !f.In.Counted(all[0].Type()) {
		return nil
	}
	t := &taken{f: f, by: c, from: c.Pos(), v: all[0], same: []ssa.Value{all[0]}, held: true}
	t.copies()
	return t
}

// puts reports whether an instruction puts away or hands on what the function took a reference to.
func (t *taken) puts(i ssa.Instruction) bool {
	if s, ok := i.(*ssa.Select); ok {
		return t.sends(s) >= 0
	}
	if _, gone := t.does(i); !gone {
		return false
	}
	switch i := i.(type) {
	case *ssa.Store:
		_, local := i.Addr.(*ssa.Alloc)
		return !local
	case *ssa.Return, *ssa.Send, *ssa.MapUpdate:
		return true
	}
	return false
}

// before reports whether a way leads from an instruction to the call that takes the reference, with what that
// is taken to.
func (t *taken) before(i ssa.Instruction) bool {
	var past []ssa.Instruction
	if made, ok := t.v.(ssa.Instruction); ok {
		past = append(past, made)
	}
	return ir.Leads(i, t.by, past...)
}

// sends returns the number of the state of a select in which it sends what was taken; -1 if there is none.
func (t *taken) sends(s *ssa.Select) int {
	for k, state := range s.States {
		for _, v := range t.same {
			if state.Send == v {
				return k
			}
		}
	}
	return -1
}

// sent reports whether a branch asks whether a select has sent what was taken.
func (t *taken) sent(c *ssa.BinOp) bool {
	e, ok := c.X.(*ssa.Extract)
	if !ok || e.Index != 0 || c.Op != token.EQL {
		return false
	}
	s, ok := e.Tuple.(*ssa.Select)
	n, known := c.Y.(*ssa.Const)
	return ok && known && t.sends(s) == int(n.Int64())
}

// fruitless reports whether a return is one with an error, or of a function that gives none.
func (t *taken) fruitless(r *ssa.Return) bool {
	return r.Block() != t.f.SSA.Recover && (t.f.Fails(r) || !effect.HasError(t.f.SSA.Signature))
}
