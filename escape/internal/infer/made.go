package infer

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/fill"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// This file is about what a function makes and puts into fields of what it is given, as methods do that set
// up a value: that is the value's from then on, unlike what is borrowed there. Who gives the value up
// afterwards gives up that, too, and so does who gives it up because the function failed, if it fails behind
// that.

// makes lists the fields of a parameter that the function, or one that it calls, gives something of its own.
func (e *exits) makes(p *ssa.Parameter) (out []effect.Made) {
	if _, ok := memory.Pointee(p.Type()).Underlying().(*types.Struct); !ok || e.f.SSA.Parent() != nil || p.Type() == memory.Pointee(p.Type()) {
		return nil
	}
	gifts := fill.Gifts(e.f, p)
	for _, g := range gifts {
		if slices.ContainsFunc(out, func(m effect.Made) bool { return m.Field == g.Field }) {
			continue
		}
		m := effect.Made{Field: g.Field, Pos: g.Pos, Success: true, Inside: g.Inside, Through: g.Through}
		some := false
		for _, r := range e.returns {
			if r.Block() == e.f.SSA.Recover { // where a panic ends nobody knows what was made
				continue
			}
			kinds := e.kinds(r, own.Combination{})
			sure := false
			for _, h := range gifts {
				if h.Field == g.Field {
					always, fails := e.has(h, r)
					sure = sure || always
					m.Fails = m.Fails || fails && kinds[1] && e.error
				}
			}
			some, m.Success = some || kinds[0], m.Success && (sure || !kinds[0])
		}
		if m.Success = m.Success && some; m.Success || m.Fails {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b effect.Made) int { return a.Field - b.Field })
	return out
}

// has reports whether a field surely has a gift at a return, if that is one of success, and whether it may
// have it at one, if that is one with an error. What a loop gives is there behind it, and in all turns but
// one.
func (e *exits) has(g fill.Gift, r *ssa.Return) (sure, fails bool) {
	failed, known := e.f.Failed(g.At, r.Block())
	same := e.error && !known && e.returnsError(r, g.At)
	sure = g.Success && g.Stays(r) && (same || known && !failed)
	switch {
	case !g.Reaches(r):
	case g.Success && g.Again(e.f):
		sure, fails = true, true
	case failed, same: // as what is called does
		fails = g.Fails
	default:
		fails = g.Success && known
	}
	return sure, fails
}

// returnsError reports whether a return returns the error of a call, or of one that made what is
// stored, as it is.
func (e *exits) returnsError(r *ssa.Return, i ssa.Instruction) bool {
	c := memory.Maker(i)
	return c != nil && effect.HasError(c.Call.Signature()) && e.f.Last(r) == memory.ErrorOf(c)
}
