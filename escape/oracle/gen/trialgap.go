package gen

// The places of a program where a trial may put a free, and what is known there by
// construction.

import "slices"

// A gap is a place between two statements.
type gap struct {
	fn    int
	list  int // of lists(p)
	pos   int
	depth int    // loops around
	lit   bool   // in a literal
	vars  []*Var // in scope
	other bool   // a name means something else here
	in    Stmt   // whose list it is, nil for a function's
}

// gaps returns all of p, in a fixed order.
func gaps(p *Program) []gap {
	g := &gapper{p: p}
	used := p.reachable()
	for i, f := range p.Funcs {
		if used[i] {
			g.visit(&f.Body, slices.Clone(f.Params), gap{fn: i})
		}
	}
	return g.res
}

type gapper struct {
	p    *Program
	list int
	res  []gap
}

// visit follows the order of lists; in is what holds in all of l.
func (g *gapper) visit(l *[]Stmt, vars []*Var, in gap) {
	in.list = g.list
	g.list++
	add := func(pos int) {
		in.pos, in.vars = pos, slices.Clone(vars)
		g.res = append(g.res, in)
	}
	for i, s := range *l {
		add(i)
		more, inside := Declares(s)
		sub := in
		sub.in = s
		switch s := s.(type) {
		case *Loop, *Each, *For:
			sub.depth++
		case *Closure, *Inline:
			sub.lit = true
		case *Recur:
			sub.lit = true
			sub.depth++
		case *Block:
			sub.other = sub.other || s.Shadow != ""
		}
		for _, inner := range Lists(s) {
			v := vars
			if inner == inside {
				v = append(slices.Clone(vars), more...)
			}
			g.visit(inner, v, sub)
		}
		if inside == nil {
			vars = append(vars, more...)
		}
	}
	if n := len(*l); n == 0 || !leaves((*l)[n-1]) {
		add(len(*l))
	}
}

// freeable returns what of v can be freed by a statement.
func (p *Program) freeable(v *Var) []Path {
	if v.Name == blank {
		return nil
	}
	switch v.Kind {
	case KBuf, KEmbed, KPtr, KGetter, KBox, KLoud, KSelf, KNode, KStack, KFreer:
		return []Path{Of(v)}
	case KPair, KPairPtr:
		res := []Path{At(v, 0), At(v, 1)}
		if p.Closes && v.Form == 0 {
			res = append(res, Of(v))
		}
		return res
	case KTwo, KArray:
		return []Path{At(v, 0), At(v, 1)}
	}
	return nil
}

// family is a set of variables of one function that may lead to the same buffers, and
// whether nothing but this function's statements decides about these.
type family struct {
	vars map[*Var]bool
	ours bool
}

// familyOf follows copies from v in both directions, without regard to order.
func familyOf(p *Program, f *Func, v *Var) family {
	edges := map[*Var][]*Var{}
	bad := map[*Var]bool{}
	link := func(a, b *Var) {
		if a != nil && b != nil {
			edges[a] = append(edges[a], b)
			edges[b] = append(edges[b], a)
		}
	}
	for _, q := range f.Params {
		bad[q] = true
	}
	if f.Clean != nil {
		bad[f.Clean] = true
	}
	Walk(f.Body, func(s Stmt) bool {
		copied(s, link)
		switch s := s.(type) {
		case *Wrap:
			link(s.Src.V, s.V)
			link(s.Common.V, s.V)
			bad[s.V] = true
		case *Call:
			for _, fn := range s.targets() {
				if s.Dst != nil && p.Funcs[fn].Beside && !s.Err.tested() {
					bad[s.Dst] = true // it may be freed
				}
				for j, a := range s.Args {
					if s.Dst != nil && s.Dst.Param {
						link(a.V, s.Dst)
					}
					if q := p.Funcs[fn].Params[j]; q.Owned || p.Funcs[fn].keeps(q) {
						bad[a.V] = true
					}
				}
			}
		case *Escape, *Select, *Free, *FreeAll, *Resize, *Regroup, *Step:
			for _, x := range Reads(s) {
				bad[x.V] = true
			}
		case *Make:
			bad[s.Dst.V] = bad[s.Dst.V] || s.Dst.V.Kind == KLoud
		case *Defer:
			bad[s.Path.V] = true
		case *Panic:
			bad[s.With.V] = true
		case *Spawn:
			link(s.Arg.V, s.V)
			bad[s.V] = bad[s.V] || s.Leaks
		}
		return true
	})
	res := family{map[*Var]bool{v: true}, true}
	for list := []*Var{v}; len(list) > 0; {
		x := list[len(list)-1]
		list = list[:len(list)-1]
		res.ours = res.ours && !bad[x]
		for _, y := range edges[x] {
			if !res.vars[y] {
				res.vars[y] = true
				list = append(list, y)
			}
		}
	}
	return res
}

// copied calls link for each copy that s makes.
func copied(s Stmt, link func(a, b *Var)) {
	switch s := s.(type) {
	case *Assign:
		for j := range s.Dst {
			link(s.Src[j].V, s.Dst[j].V)
		}
	case *Compose:
		for _, src := range s.Src {
			link(src.V, s.V)
		}
	case *Append:
		link(s.Src.V, s.V)
	case *Put:
		link(s.Src.V, s.V)
	case *Get:
		link(s.V, s.Dst)
	case *Each:
		for _, src := range s.Lit {
			link(src.V, s.X)
		}
		link(s.X, s.V)
	case *Switch:
		link(s.Subject.V, s.V)
	case *Pass:
		link(s.Src.V, s.Dst)
	case *Deeper:
		link(s.Arg.V, s.Last)
	}
}

// keeps reports whether f hands its parameter v to somebody.
func (f *Func) keeps(v *Var) bool {
	found := false
	Walk(f.Body, func(s Stmt) bool {
		switch s.(type) {
		case *Escape, *Select, *Call, *Return, *Panic, *Spawn:
			for _, x := range Reads(s) {
				if r, ok := s.(*Return); x.V == v && !(ok && r.Sum) {
					found = true
				}
			}
		}
		return true
	})
	return found
}

// plan is a free that is right by construction.
type plan struct {
	gap
	v     *Var
	maybe bool // it may be nil, which must not be freed
	last  bool // right behind the last use, or at the head of a branch that has none
}

// plans returns the places where a buffer of this function's own is dead on every path,
// for each variable that held it last.
func (a *Analysis) plans() []plan {
	var res []plan
	all := lists(a.p)
	families := map[*Var]family{}
	maybe := a.p.maybe()
	for _, g := range gaps(a.p) {
		if g.lit || g.other || len(*all[g.list]) == 0 {
			continue
		}
		f := a.p.Funcs[g.fn]
		for _, v := range g.vars {
			if v.Kind != KBuf || v.Param || v.Cell || v.Class > 0 || v.Name == blank || !solid(v) {
				continue
			}
			fam, ok := families[v]
			if !ok {
				fam = familyOf(a.p, f, v)
				families[v] = fam
			}
			list := *all[g.list]
			if !fam.ours || g.depth > v.Depth && !leaves(list[len(list)-1]) {
				continue
			}
			if dead, last := a.dead(g, *all[g.list], fam, v); dead {
				res = append(res, plan{g, v, v.Res == RMat && (f.Hoist || maybe[v]), last})
			}
		}
	}
	return res
}

// dead reports whether nothing of the family is live in the gap, and whether some of it
// was right before.
func (a *Analysis) dead(g gap, list []Stmt, fam family, v *Var) (dead, last bool) {
	at := a.live[g.fn].At
	var now, before Set
	if g.pos < len(list) {
		now = at[list[g.pos]].In
	} else {
		now = at[list[g.pos-1]].Out
	}
	if g.pos == 0 && g.in != nil {
		before = at[g.in].In
	}
	if g.pos > 0 {
		i := at[list[g.pos-1]]
		before = i.In.or(i.During)
		if d := declares(list[g.pos-1]); slices.Contains(d, v) {
			return false, false // made and not used
		}
	}
	for x := range fam.vars {
		if now.holds(Of(x)) {
			return false, false
		}
		last = last || before.holds(Of(x))
	}
	return true, last
}

// maybe returns the variables that may be given nothing without an error.
func (p *Program) maybe() map[*Var]bool {
	res := map[*Var]bool{}
	for _, f := range p.Funcs {
		Walk(f.Body, func(s Stmt) bool {
			switch s := s.(type) {
			case *Make:
				res[s.Dst.V] = res[s.Dst.V] || s.Via == VMaybe
			case *Call:
				res[s.Dst] = true
			case *Assign:
				for _, d := range s.Dst {
					res[d.V] = true
				}
			}
			return true
		})
	}
	return res
}

// known says why a free in a gap is wrong on some branch, nothing if that is not known.
func (a *Analysis) known(g gap, path Path) string {
	v := path.V
	f := a.p.Funcs[g.fn]
	switch {
	case v.Kind == KLoud && path.Field < 0 && !slices.Contains(f.Params, v):
		return "the free can be seen"
	case slices.Contains(f.Params, v) && !v.Owned:
		return "the caller has it"
	case g.lit || v.Kind != KBuf && v.Kind != KEmbed && v.Kind != KBox && v.Kind != KSelf:
		return ""
	}
	var flags []string
	Walk(f.Body, func(s Stmt) bool {
		switch s := s.(type) {
		case *Flag:
			flags = append(flags, s.Name)
		case *If: // the pointer that was put there may have been tested, too
			flags = append(flags, s.Cond.sets()...)
		}
		return true
	})
	if len(flags) > 3 {
		return ""
	}
	for i := range 1 << len(flags) { // live whatever the flags are: there is a path to a use
		is := map[string]bool{}
		for j, name := range flags {
			is[name] = i>>j&1 == 1
		}
		if !a.at(a.with(g.fn, is), g).holds(path) {
			return ""
		}
	}
	return "there is a use on a branch behind it"
}

// at is what is live in a gap.
func (a *Analysis) at(l *Liveness, g gap) Set {
	list := *lists(a.p)[g.list]
	switch {
	case len(list) == 0:
		return Set{}
	case g.pos < len(list):
		return l.At[list[g.pos]].In
	}
	return l.At[list[g.pos-1]].Out
}
