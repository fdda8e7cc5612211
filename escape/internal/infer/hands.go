package infer

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about what a function hands to one that it is given, as an iterator does to the body of a
// range: what it made, which it then neither needs nor frees. So that is the other one's.

// hands returns what the function hands to a parameter which is a function, in all its calls.
func (e *exits) hands(p *ssa.Parameter) (h effect.Hands) {
	sig, ok := p.Type().Underlying().(*types.Signature)
	if !ok || sig.Variadic() {
		return h
	}
	how, where := e.called(p)
	if how == effect.Anyhow || slices.ContainsFunc(where, func(c *ssa.Call) bool { return c.Call.Value != ssa.Value(p) }) {
		return h
	}
	last := sig.Params().Len() - 1
	for k := range min(sig.Params().Len(), 64) {
		mine, none := len(where) > 0 && e.f.In.Owns(sig.Params().At(k).Type()), false
		for _, c := range where {
			fails := k < last && effect.IsError(sig.Params().At(last).Type())
			is, absent := e.handsOver(c, k, fails)
			mine, none = mine && is, none || absent
		}
		if mine {
			h.Of |= 1 << k
		}
		if mine && none {
			h.Nil |= 1 << k
		}
	}
	return h
}

// handsOver reports whether a call hands over its operand k, and whether that may be nothing, other than
// beside an error, if there is one.
func (e *exits) handsOver(c *ssa.Call, k int, fails bool) (is, none bool) {
	v := e.f.Origin(c.Call.Args[k])
	if c, ok := v.(*ssa.Const); ok && c.Value == nil {
		return true, !fails
	}
	node, at, _ := e.f.Graph.Where(c)
	for _, g := range e.f.Groups {
		if g.Why() != "" || !g.Has(v) {
			continue
		}
		before, behind := e.before(g, c), (*own.Point)(nil)
		for _, p := range g.Points(node) {
			if p.At == at+1 {
				behind = p
			}
		}
		if before == nil || behind == nil {
			return false, false
		}
		ts, whole := before.Held(v)
		for _, t := range ts {
			st := before.Status(t)
			whole = whole && g.Sites[t/2].Param < 0 && before.Is(v, t) && st&^(own.Owned|own.Absent) == 0 &&
				behind.Status(t)&^(own.Moved|own.Absent) == 0
			for range behind.Needing(t, ^own.Status(0)) {
				whole = false
			}
			none = none || st&own.Absent != 0 && !(fails && e.beside(g.Sites[t/2], c))
		}
		return whole && len(ts) > 0, none
	}
	return false, false
}

// beside reports whether a call is given, as its last operand, the error beside what a site makes.
func (e *exits) beside(s *pointsto.Site, c *ssa.Call) bool {
	return s.Error != nil && !s.Nil && e.f.Origin(c.Call.Args[len(c.Call.Args)-1]) == s.Error
}

// handing returns what result n hands to the function that it is called with, if it is one function on all
// returns.
func (e *exits) handing(n int) (h effect.Hands) {
	for k, r := range e.returns {
		v := e.f.Results(r)[n]
		if t, ok := v.(*ssa.ChangeType); ok {
			v = t.X
		}
		switch v.(type) {
		case *ssa.MakeClosure, *ssa.Function:
		default:
			return effect.Hands{}
		}
		s := e.f.Summary(&ssa.CallCommon{Value: v})
		if v.Type().Underlying().(*types.Signature).Params().Len() != 1 || k > 0 && s.Param(0).Hands != h {
			return effect.Hands{}
		}
		h = s.Param(0).Hands
	}
	return h
}
