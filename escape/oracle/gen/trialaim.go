package gen

// Trials aimed at one rule of whoever judges them.

import (
	"slices"
	"strings"
)

// otherwise changes something beside the free, too.
func (t *trials) otherwise(x *Trial, p plan, free *Free) bool {
	x.How = "a plan, and something else changed"
	put(x.New, p.gap, free)
	without := words(x.New)
	all := lists(x.New)
	l := all[t.n(len(all))]
	if len(*l) == 0 {
		return false
	}
	i := t.n(len(*l))
	switch s := (*l)[i].(type) {
	case *Use:
		// one more OKeep is right
		if s.Init || s.Err == ECheck || s.Op == OTemp || s.Op == OChain || s.Op == OKeep {
			return false
		}
		if t.n(2) == 0 {
			*l = slices.Insert(slices.Clone(*l), i, Stmt(s))
			break
		}
		u := *s
		u.X++
		if s.Op != OFill && s.Op != OLaunch {
			return false
		}
		(*l)[i] = &u
	case *Probe:
		*l = slices.Delete(slices.Clone(*l), i, i+1)
	case *Escape, *State:
		*l = slices.Delete(slices.Clone(*l), i, i+1)
	default:
		return false
	}
	x.Wrong = "something else is changed"
	// a statement may be one for the interpreter alone, and a blank line in the text
	return words(x.New) != without
}

// words is the text of a program without its blanks, which are no part of the tree.
func words(p *Program) string {
	s, err := Print(p, "words")
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(s.Main+s.Help), " ")
}

// beforeSpin frees where only a panic is to come, which leads to a deferred read.
func (t *trials) beforeSpin(x *Trial, p plan, free *Free) bool {
	if p.maybe || p.depth > 0 || p.pos == 0 {
		return false
	}
	x.How = "a plan, where a panic leads to a deferred read"
	g := p.gap
	if g.pos = t.n(g.pos) + 1; !t.sees(g, p.v) || t.p.Funcs[p.fn].Hoist {
		return false
	}
	with := func(then ...Stmt) []Stmt {
		return []Stmt{&If{Cond: &Cond{Op: CDraw}, Then: append(then, &Panic{Spin: true})}}
	}
	look := &Defer{Kind: DLook, Path: Of(p.v), ID: t.n(2)}
	build := func(then ...Stmt) *Program {
		q := t.clone()
		put(q, p.gap, with(then...)...)
		put(q, g, look)
		return q
	}
	old := build()
	if Valid(old) != nil {
		return false
	}
	x.Old, x.New = old, build(free)
	return true
}

// seen frees what is not needed any more by a free that can be seen.
func (t *trials) seen(x *Trial, _ plan, _ *Free) bool {
	x.How = "a free that can be seen"
	type place struct {
		g gap
		v *Var
	}
	var at []place
	all := lists(t.p)
	for _, g := range t.gaps {
		list := *all[g.list]
		if g.lit || g.pos == 0 || g.depth > 0 {
			continue
		}
		for _, v := range g.vars {
			live := t.a.at(t.a.live[g.fn], g)
			if v.Kind == KLoud && v.Class == 0 && !live.holds(Of(v)) && !mentioned(list[g.pos:], v) {
				at = append(at, place{g, v})
			}
		}
	}
	if len(at) == 0 {
		return false
	}
	h := at[t.n(len(at))]
	x.Wrong = "the free can be seen"
	put(x.New, h.g, &Free{Path: Of(h.v), Mine: true})
	return true
}

// mentioned reports whether list names v.
func mentioned(list []Stmt, v *Var) bool {
	found := false
	Walk(list, func(s Stmt) bool {
		for _, p := range Reads(s) {
			found = found || p.V == v
		}
		return true
	})
	return found
}

// tested names what a condition reads in front of the free of it: right if that is all of
// the condition, wrong if something of it was evaluated before.
func (t *trials) tested(x *Trial, _ plan, _ *Free) bool {
	x.How = "a condition named"
	type place struct {
		g gap
		s *If
		c *Cond
	}
	var at []place
	all := lists(t.p)
	for _, g := range t.gaps {
		if g.lit || g.pos >= len(*all[g.list]) || t.p.Funcs[g.fn].Hoist {
			continue
		}
		s, ok := (*all[g.list])[g.pos].(*If)
		if !ok {
			continue
		}
		for _, c := range []*Cond{s.Cond, s.Cond.X, s.Cond.Y} {
			if c != nil && c.Op == CPos && c.Path.Field < 0 && slices.Contains(g.vars, c.Path.V) {
				at = append(at, place{g, s, c})
			}
		}
	}
	if len(at) == 0 {
		return false
	}
	h := at[t.n(len(at))]
	test := *h.s
	whole := *h.s.Cond
	named := &Cond{Op: CFlag, Var: "early"}
	switch h.c {
	case h.s.Cond:
		test.Cond = named
	case h.s.Cond.X:
		whole.X = named
		test.Cond = &whole
	default:
		x.How = "a condition named too early"
		whole.Y = named
		test.Cond = &whole
	}
	l := lists(x.New)[h.g.list]
	test.Then, test.Else = (*l)[h.g.pos].(*If).Then, (*l)[h.g.pos].(*If).Else
	(*l)[h.g.pos] = &test
	put(x.New, h.g, &Temp{Name: "early", Cond: h.c}, &Free{Path: h.c.Path, Mine: true})
	return true
}
