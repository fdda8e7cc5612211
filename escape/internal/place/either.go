package place

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// This file is about values that are an operand on some ways, and on others what was made in its place.
// Where the program tells them apart itself, by comparing them or by a condition that it tests again, they
// are freed where they are something else than the operand, by a test of just that. Where it does not, it
// does not know which it has, and nothing is written.

// besideOperand returns the spot at a place if something there goes by the name of a pointer that holds the
// token, or is one operand, which has a name there as well.
func (pl *planner) besideOperand(p *own.Point, m moment, gap *ir.Place, at Where, spotOf func(ssa.Value, Name) *spot) *spot {
	if at.Deferred {
		return nil
	}
	for _, v := range p.Values(m.t) {
		phi, merged := v.(*ssa.Phi)
		if _, pointer := v.Type().Underlying().(*types.Pointer); !merged || !pointer || m.only != nil && !m.only(v) {
			continue
		}
		q := pl.operand(p, phi)
		if q == nil || !pl.tells(p, phi, q, m.t) || !pl.freesBut(p, v, m, q) {
			continue
		}
		n, ok := pl.holder(v, gap, at)
		unless, also := pl.holder(q, gap, at)
		if !ok || !also || unless.Field != nil || n.Field != nil {
			continue
		}
		if s := spotOf(v, n); s != nil {
			s.unless = unless
			return s
		}
	}
	return nil
}

// tells reports whether the program tells a merged value from a parameter, behind where it is merged: it
// compares the two, or tests what is true just where the token is owned, or false.
func (pl *planner) tells(p *own.Point, v *ssa.Phi, q *ssa.Parameter, t own.Token) bool {
	for _, b := range pl.f.SSA.Blocks {
		i, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
		if !ok || !v.Block().Dominates(b) {
			continue
		}
		if c, ok := i.Cond.(*ssa.BinOp); ok && (c.X == v && c.Y == ssa.Value(q) || c.Y == v && c.X == ssa.Value(q)) {
			return true
		}
		var as [2]bool // where it is true, and false, the token may be owned; or be none
		sure := true
		p.States(t, func(c own.Combination, st own.Status) {
			on, known := c.True(i.Cond)
			owned := st&own.Owned != 0
			sure = sure && known && owned != (st&own.Absent != 0)
			as[0], as[1] = as[0] || owned == on, as[1] || owned != on
		})
		if sure && as[0] != as[1] {
			return true
		}
	}
	return false
}

// operand returns the one parameter that a merged value may be; nil if there is none, or several.
func (pl *planner) operand(p *own.Point, v *ssa.Phi) (q *ssa.Parameter) {
	ts, _ := p.Held(v)
	for _, t := range ts {
		s := pl.g.Sites[t/2]
		if s.Param < 0 {
			continue
		}
		of, ok := s.Value.(*ssa.Parameter)
		if !ok || q != nil && q != of || s.Part != "" {
			return nil
		}
		q = of
	}
	return q
}

// freesBut is frees of a value that is tested for a parameter.
func (pl *planner) freesBut(p *own.Point, v ssa.Value, m moment, q *ssa.Parameter) bool {
	ts, whole := p.Held(v)
	ts = slices.DeleteFunc(ts, func(u own.Token) bool { return pl.g.Sites[u/2].Value == ssa.Value(q) })
	return whole && !pl.f.Foreign(v) && pl.freesAll(p, v, m, ts)
}
