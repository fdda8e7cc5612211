package gen

// Trials that are one step away from a right plan.

import "slices"

// mutations change one thing about a plan; they report whether they could.
var mutations = []func(*trials, *Trial, plan, *Free) bool{
	(*trials).otherGap, (*trials).otherGap, (*trials).otherEdge, (*trials).otherEdge, (*trials).otherName, (*trials).twice,
	(*trials).otherwise, (*trials).beforeSpin, (*trials).seen, (*trials).deferred, (*trials).hoisted, (*trials).tested,
	(*trials).leaks, (*trials).leaks, (*trials).leaks, (*trials).usedLater, (*trials).usedLater,
}

// planned returns a function that takes a right plan, and changes one thing about it unless
// it is to stay right.
func (t *trials) planned(stays bool) func() *Trial {
	change := mutations[t.n(len(mutations))]
	if t.p.Tags[recursion] && t.n(4) == 0 {
		change = (*trials).recursed
	} else if t.p.Tags[rescue] && t.n(3) == 0 {
		change = (*trials).untested
	}
	return func() *Trial {
		p, ok := t.plan()
		if !ok {
			return nil
		}
		x := &Trial{Old: t.p, New: t.clone()}
		free := &Free{Path: Of(p.v), Mine: true}
		if stays {
			put(x.New, p.gap, t.guarded(p, free))
			x.How, x.Right, x.Last = "a right plan", true, p.last
			return x
		}
		if !change(t, x, p, free) {
			return nil
		}
		return x
	}
}

// plan draws a plan, mostly one that frees as early as can be.
func (t *trials) plan() (p plan, ok bool) {
	if len(t.plans) == 0 {
		return p, false
	}
	var last []plan
	for _, p := range t.plans {
		if p.last {
			last = append(last, p)
		}
	}
	if len(last) > 0 && t.n(4) > 0 {
		return last[t.n(len(last))], true
	}
	return t.plans[t.n(len(t.plans))], true
}

// otherGap moves the free by some statements.
func (t *trials) otherGap(x *Trial, p plan, free *Free) bool {
	x.How = "a plan, some statements earlier"
	g, by := p.gap, 1+t.n(2)
	if t.n(5) == 0 {
		x.How = "a plan, some statements later"
		by = -by
	}
	if g.pos -= by; g.pos < 0 || g.pos > len(*lists(t.p)[g.list]) {
		return false
	}
	if !t.sees(g, p.v) {
		return false
	}
	x.Wrong = t.a.known(g, free.Path)
	put(x.New, g, t.guarded(p, free))
	return true
}

// guarded is the free of a plan, behind a test where there may be nothing to free.
func (t *trials) guarded(p plan, free *Free) Stmt {
	if !p.maybe {
		return free
	}
	return &If{Cond: &Cond{Op: CNil, Path: free.Path}, Then: []Stmt{free}}
}

// untested frees what may be nothing as if it were there.
func (t *trials) untested(x *Trial, p plan, free *Free) bool {
	x.How = "a plan, without its test for nil"
	put(x.New, p.gap, free)
	return p.maybe && p.v.Res == RMat
}

// sees reports whether v is in scope in the gap.
func (t *trials) sees(g gap, v *Var) bool {
	return slices.ContainsFunc(t.gaps, func(h gap) bool {
		return h.list == g.list && h.pos == g.pos && slices.Contains(h.vars, v)
	})
}

// otherEdge moves the free to another branch, into a loop or out of one.
func (t *trials) otherEdge(x *Trial, p plan, free *Free) bool {
	x.How = "a plan, on another edge"
	var to []gap
	for _, g := range t.gaps {
		if g.fn == p.fn && g.list != p.list && (g.pos == 0 || t.n(4) == 0) && slices.Contains(g.vars, p.v) {
			to = append(to, g)
		}
	}
	if len(to) == 0 {
		return false
	}
	g := to[t.n(len(to))]
	x.Wrong = t.a.known(g, free.Path)
	put(x.New, g, t.guarded(p, free))
	return true
}

// otherName frees through another variable.
func (t *trials) otherName(x *Trial, p plan, free *Free) bool {
	x.How = "a plan, for another variable"
	var paths []Path
	for _, v := range p.vars {
		if v != p.v && v.Res == p.v.Res {
			paths = append(paths, t.p.freeable(v)...)
		}
	}
	if len(paths) == 0 {
		return false
	}
	free.Path = paths[t.n(len(paths))]
	x.Wrong = t.a.known(p.gap, free.Path)
	put(x.New, p.gap, free)
	return true
}

// twice frees at two places.
func (t *trials) twice(x *Trial, p plan, free *Free) bool {
	x.How = "a plan, and a second free"
	var to []gap
	for _, g := range t.gaps {
		if g.fn == p.fn && slices.Contains(g.vars, p.v) && (g.list != p.list || g.pos >= p.pos) {
			to = append(to, g)
		}
	}
	g := to[t.n(len(to))]
	second := &Free{Path: Of(p.v), Mine: true}
	if g.list == p.list && g.pos > p.pos {
		put(x.New, g, second)
		put(x.New, p.gap, free)
		return true
	}
	l, m := lists(x.New)[p.list], lists(x.New)[g.list]
	*m = slices.Insert(slices.Clone(*m), g.pos, Stmt(second))
	*l = slices.Insert(slices.Clone(*l), p.pos, Stmt(free))
	return true
}

// deferred defers the free, there or further up.
func (t *trials) deferred(x *Trial, p plan, free *Free) bool {
	x.How = "a plan, deferred"
	g := p.gap
	g.pos = t.n(g.pos + 1)
	if !t.sees(g, p.v) {
		return false
	}
	put(x.New, g, &Defer{Kind: []DeferKind{DFree, DLit}[t.n(2)], Path: free.Path, Mine: true})
	return true
}

// hoisted gives a result a name in front of the free, or too far in front of it.
func (t *trials) hoisted(x *Trial, _ plan, _ *Free) bool {
	x.How = "a free before a return, with its result named"
	type place struct {
		g gap
		r *Return
	}
	var at []place
	all := lists(t.p)
	for _, g := range t.gaps {
		if g.lit || g.pos >= len(*all[g.list]) || t.p.Funcs[g.fn].Hoist {
			continue
		}
		if r, ok := (*all[g.list])[g.pos].(*Return); ok && r.Sum && r.Path.V != nil && slices.Contains(g.vars, r.Path.V) {
			at = append(at, place{g, r})
		}
	}
	if len(at) == 0 {
		return false
	}
	h := at[t.n(len(at))]
	up := h.g
	if h.g.pos > 0 && t.n(3) == 0 {
		x.How = "a result named too early"
		up.pos--
		if !t.sees(up, h.r.Path.V) {
			return false
		}
	}
	r := *h.r
	r.Temp = "early"
	put(x.New, h.g, &Free{Path: h.r.Path, Mine: true}, &r)
	l := lists(x.New)[h.g.list]
	*l = slices.Delete(slices.Clone(*l), h.g.pos+2, h.g.pos+3)
	put(x.New, up, &Temp{Name: r.Temp, Path: r.Path})
	return true
}

// changed makes the program one in which the plan is wrong: s is put into both texts.
func (t *trials) changed(x *Trial, g gap, s ...Stmt) bool {
	old := t.clone()
	put(old, g, s...)
	if Valid(old) != nil {
		return false
	}
	x.Old = old
	x.New = Clone(old, old.ID)
	return true
}

// leaks hands the buffer on before the free.
func (t *trials) leaks(x *Trial, p plan, free *Free) bool {
	if p.maybe || p.depth > 0 && t.n(2) == 0 {
		return false
	}
	kinds := []EscapeKind{XKeep, XSend, XField, XGo, XPool, XList, XTold, XTold}
	if f := t.p.Funcs[p.fn]; f.Generic || f.Help {
		kinds = kinds[:5]
	}
	esc := &Escape{Kind: kinds[t.n(len(kinds))], Path: Of(p.v)}
	var s Stmt = esc
	x.How = "a plan, after the buffer was handed on"
	switch t.n(4) {
	case 0:
		x.How = "a plan, before a deferred read"
		s = &Defer{Kind: DLook, Path: Of(p.v), ID: t.n(2), Lit: false}
	case 1:
		x.How = "a plan, before a deferred free"
		s = &Defer{Kind: DFree, Path: Of(p.v)}
	}
	g := p.gap
	if g.pos = t.n(g.pos + 1); !t.sees(g, p.v) {
		g.pos = p.pos
	}
	if !t.changed(x, g, s) {
		return false
	}
	at := p.gap
	at.pos++
	put(x.New, at, free)
	return true
}

// usedLater uses the buffer, or names it, after the free.
func (t *trials) usedLater(x *Trial, p plan, free *Free) bool {
	after := p.gap
	if n := len(*lists(t.p)[p.list]); n > p.pos {
		after.pos += t.n(n - p.pos)
	}
	if p.maybe || !t.sees(after, p.v) {
		return false
	}
	var s []Stmt
	switch t.n(3) {
	case 0:
		x.How = "a plan, before a use"
		s = []Stmt{&Use{Op: []Op{OSum, OFill, OLen}[t.n(3)], Args: []Path{Of(p.v)}, X: 4}}
	case 1:
		x.How = "a plan, before a dead mention"
		if assigns((*lists(t.p)[p.list])[p.pos:after.pos], p.v) {
			return false
		}
		x.Wrong = "the buffer is named after its free"
		how := MentionKind(t.n(int(mentionKinds)))
		if t.p.Funcs[p.fn].Hoist { // no declarations
			how = []MentionKind{MFalse, MBlank}[t.n(2)]
		}
		s = []Stmt{&Mention{Path: Of(p.v), How: how, ID: 900}}
	default:
		x.How = "a plan, before a use of a copy"
		f := *t.p.Funcs[p.fn]
		c := &Var{Name: "copy9", Kind: KBuf, Res: p.v.Res, Loc: f.Locs}
		old := t.clone()
		old.Funcs[p.fn].Locs++
		g := p.gap
		if g.pos = t.n(g.pos + 1); !t.sees(g, p.v) || after.list != g.list {
			return false
		}
		if f.Hoist {
			return false
		}
		put(old, after, &Use{Op: OSum, Args: []Path{Of(c)}})
		put(old, g, &Assign{Decl: true, Dst: []Path{Of(c)}, Src: []Path{Of(p.v)}})
		if Valid(old) != nil {
			return false
		}
		x.Old, x.New = old, Clone(old, old.ID)
		at := p.gap
		at.pos++
		put(x.New, at, free)
		return true
	}
	if !t.changed(x, after, s...) {
		return false
	}
	put(x.New, p.gap, free)
	return true
}

// assigns reports whether list may assign v.
func assigns(list []Stmt, v *Var) bool {
	found := false
	Walk(list, func(s Stmt) bool {
		switch s := s.(type) {
		case *Make:
			found = found || s.Dst.V == v
		case *Assign:
			for _, d := range s.Dst {
				found = found || d.V == v
			}
		case *Call:
			found = found || s.Dst == v
		case *Closure, *CallVar:
			found = true
		case *Return, *Jump, *Panic:
			found = true
		}
		return true
	})
	return found
}
