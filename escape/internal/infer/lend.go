package infer

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about how a function calls the functions that it is given. One that it only calls itself, one
// call after the other, runs in turn: a caller that gives it a literal knows when that has run.

// calls says how a parameter is called, if it is a function.
func (e *exits) calls(p *ssa.Parameter) effect.Calls {
	if _, ok := p.Type().Underlying().(*types.Signature); !ok {
		return effect.Anyhow
	}
	if r := e.f.SSA.Recover; r != nil && len(e.f.Graph.Preds[e.f.Graph.Entry(r)]) > 0 {
		return effect.Anyhow // a call may end anywhere, and the function goes on
	}
	how, where := e.called(p)
	if how == effect.Once && !e.once(where) {
		return effect.InTurn
	}
	return how
}

// called says how a function value is called, at best, and by which calls.
func (e *exits) called(v ssa.Value) (how effect.Calls, where []*ssa.Call) {
	how = effect.Once
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.BinOp: // it is compared with nil
		case *ssa.ChangeType:
			h, w := e.called(i)
			how, where = min(how, h), append(where, w...)
		case *ssa.Call:
			where = append(where, i)
			how = min(how, e.calledBy(&i.Call, v))
		default:
			return effect.Anyhow, nil
		}
	}
	return how, where
}

// calledBy says how a call calls a function that it names or is given.
func (e *exits) calledBy(c *ssa.CallCommon, v ssa.Value) effect.Calls {
	if !c.IsInvoke() && c.Value == v {
		if slices.Contains(c.Args, v) {
			return effect.Anyhow
		}
		return effect.Once
	}
	if _, ok := c.Value.(*ssa.Builtin); ok {
		return effect.Anyhow
	}
	s, how := e.f.Summary(c), effect.Once
	for k, a := range calls.Operands(c) {
		if a == v {
			how = min(how, s.Param(k).Calls)
		}
	}
	return how
}

// once reports whether all ways to a return lead through one call, and through it once.
func (e *exits) once(where []*ssa.Call) bool {
	return len(where) == 1 && !ir.Circles(where[0].Block()) &&
		!slices.ContainsFunc(e.returns, func(r *ssa.Return) bool { return !ir.Before(where[0], r) })
}
