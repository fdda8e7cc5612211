package infer

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about slices of the caller's that a function appends to: in a part of a parameter, or in a
// variable that a literal captures. All else that it does there is read. Then the slice has what it had, and
// what is put in besides: a parameter that goes nowhere else, or what the function made and owns.

// grow notes which slices that a parameter leads to are appended to.
func (e *exits) grow(s *effect.Summary) {
	for _, g := range e.f.Groups {
		for _, site := range g.Sites {
			v := site.Value
			if site.Param < 0 || site.Param >= 64 || g.Why() != "" || !e.f.IsSlot(v) || !e.f.Collects(v) || e.f.Freed(site) {
				continue
			}
			p := s.Params[site.Param]
			if site.Part != "" {
				p = p.At(site.Part)
			}
			if t := e.takes(s, v, site); t != (effect.Takes{}) && onlyEscapes(p) {
				p.Takes = t
				if site.Part == "" {
					s.Params[site.Param] = p
				} else if s.Params[site.Param].Escapes.Cond == effect.Never {
					s.Params[site.Param].Parts = effect.Put(s.Params[site.Param].Parts, site.Part, p)
				}
			}
		}
	}
}

// onlyEscapes reports whether no more is said of a parameter than that it may escape.
func onlyEscapes(p effect.Param) bool {
	p.Escapes = effect.When{}
	return p.Borrows()
}

// takes says what is appended to the slice in a slot; nothing if anything else is done with it.
func (e *exits) takes(s *effect.Summary, v ssa.Value, site *pointsto.Site) (t effect.Takes) {
	var appends []ssa.Instruction
	for _, i := range e.f.Users(v) {
		if !e.f.Gives(i, v) {
			continue
		}
		st, ok := i.(*ssa.Store)
		if !ok || e.f.Reaches(st.Addr, v) != memory.Same {
			return effect.Takes{}
		}
		a, ok := st.Val.(*ssa.Call)
		if !ok || !e.adds(a, st, v) {
			return effect.Takes{}
		}
		appends = append(appends, a)
	}
	for _, m := range site.Moves {
		leaves := m.Op == pointsto.Leave && m.Of == v && site.Part == ""
		if !leaves && !slices.Contains(appends, m.Instr) {
			return effect.Takes{}
		}
	}
	for _, a := range appends {
		for _, i := range memory.Appended(a.(*ssa.Call)) {
			switch k := e.given(s, i.(*ssa.Store), a); {
			case k >= 0 && len(appends) == 1 && e.onceEach(a) && t.Of>>k&1 == 0:
				t.Of |= 1 << k
			case k < 0 && e.made(i.(*ssa.Store), a):
				t.Own = true
			default:
				return effect.Takes{}
			}
		}
	}
	return t
}

// adds reports whether a call appends to what is in a slot, and a store puts that back, with nothing that
// gives it something else between.
func (e *exits) adds(a *ssa.Call, st *ssa.Store, v ssa.Value) bool {
	if memory.Appended(a) == nil {
		return false
	}
	was, ok := a.Call.Args[0].(*ssa.UnOp)
	if !ok || e.f.Reaches(was.X, v) != memory.Same || was.Block() != st.Block() {
		return false
	}
	return !slices.ContainsFunc(e.f.Users(v), func(i ssa.Instruction) bool {
		between := i.Block() == st.Block() && ir.Before(was, i) && ir.Before(i, st)
		return between && i != ssa.Instruction(st) && e.f.Gives(i, v)
	})
}

// given returns which parameter it is that a store prepares to be appended, and that goes nowhere else; -1 if
// it is none.
func (e *exits) given(s *effect.Summary, st *ssa.Store, a ssa.Instruction) int {
	k := slices.IndexFunc(e.f.SSA.Params, func(p *ssa.Parameter) bool { return p == st.Val })
	if k < 0 || k >= 64 || !onlyEscapes(s.Params[k]) {
		return -1
	}
	for _, g := range e.f.Groups {
		for _, site := range g.Sites {
			if site.Param == k && site.Part == "" && onlyBy(site, st, a) {
				return k
			}
		}
	}
	return -1
}

// onlyBy reports whether what a site makes leaves by being appended, and by nothing else.
func onlyBy(site *pointsto.Site, st *ssa.Store, a ssa.Instruction) bool {
	return len(site.Moves) > 0 && !slices.ContainsFunc(site.Moves, func(m pointsto.Act) bool {
		return m.Instr != a && m.Instr != ssa.Instruction(st)
	})
}

// onceEach reports whether an instruction runs once before each return, and the function does not panic.
func (e *exits) onceEach(a ssa.Instruction) bool {
	return len(e.panics) == 0 && len(e.returns) > 0 && !ir.Circles(a.Block()) &&
		!slices.ContainsFunc(e.returns, func(r *ssa.Return) bool { return !ir.Before(a, r) })
}

// made reports whether what a store prepares to be appended is something that the function made and owns,
// and puts nowhere else.
func (e *exits) made(st *ssa.Store, a ssa.Instruction) bool {
	val, ok := st.Val.(ssa.Instruction)
	if !ok || ir.Again(a.Block(), val.Block()) {
		return false
	}
	for _, g := range e.f.Groups {
		if g.Why() != "" || !g.Has(st.Val) {
			continue
		}
		p := e.before(g, st)
		if p == nil {
			return false
		}
		ts, whole := p.Held(st.Val)
		for _, t := range ts {
			site := g.Sites[t/2]
			sure := p.Status(t) == own.Owned || p.Status(t) == own.Owned|own.Absent && e.frees.Spares(st.Val.Type())
			if site.Param >= 0 || t%2 == 1 || !sure || !p.Is(st.Val, t) || !onlyBy(site, st, a) {
				return false
			}
		}
		return whole && len(ts) > 0
	}
	return false
}
