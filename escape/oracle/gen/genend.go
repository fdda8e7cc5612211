package gen

// How functions end.

// ret returns s with the frees that must come before it.
func (g *generator) ret(s *Return) []Stmt {
	var res []Stmt
	if g.f.lit == 0 {
		if g.f.fn.Rescue {
			s = &Return{Path: Of(g.f.fn.Clean)}
		}
		for _, v := range g.f.owed {
			if s.Fail && g.chance(0.2) {
				g.tag("consumed on success")
				continue
			}
			if s.Sum && s.Path.V == v {
				return append([]Stmt{&Use{Op: OSum, Args: []Path{Of(v)}}}, g.ret(&Return{})...)
			}
			res = append(res, &Free{Path: Of(v)})
		}
	}
	return append(res, s)
}

// ending is the last statement of a function.
func (g *generator) ending() []Stmt {
	f := g.f.fn
	want := func(kind Kind) *known {
		return g.pick(func(k *known) bool {
			return k.v.Kind == kind && k.v.Res == f.Res && solid(k.v) && !k.v.Param && !g.of(k).pinned
		})
	}
	switch f.Result {
	case RInt:
		if k := g.pick(func(k *known) bool { return k.v.Kind == KBuf && solid(k.v) }); k != nil {
			g.tag("return expression")
			return g.ret(&Return{Path: Of(k.v), Sum: true})
		}
	case RBuf:
		if k := want(KBuf); k != nil {
			return g.ret(&Return{Path: Of(k.v)})
		}
		if g.chance(0.3) {
			for j, v := range f.Params {
				if v.Kind == KBuf && v.Res == f.Res && g.modes[f.Index][j] == borrows {
					g.tag("identity")
					g.alias[f.Index] = true
					return g.ret(&Return{Path: Of(v)})
				}
			}
		}
		list, b := g.made(f.Res)
		return append(list, g.ret(&Return{Path: Of(b.v)})...)
	case RHeld:
		if k := g.pick(func(k *known) bool {
			return (k.v.Kind == KErr || k.v.Kind == KBuf && (!k.v.Param || g.borrowed(k.v))) && solid(k.v) && k.v.Res == f.Res && k.v.Class == 0
		}); k != nil && (!g.of(k).pinned || g.of(k).param) {
			g.tag("error that holds")
			g.alias[f.Index] = g.alias[f.Index] || g.of(k).param
			return g.ret(&Return{Path: Of(k.v)})
		}
	case RAny:
		g.tag("interface result")
		for _, kind := range []Kind{KAny, KBuf} {
			if k := want(kind); k != nil {
				return g.ret(&Return{Path: Of(k.v)})
			}
		}
		list, b := g.made(f.Res)
		return append(list, g.ret(&Return{Path: Of(b.v)})...)
	case RStack:
		if k := want(KStack); k != nil {
			return g.ret(&Return{Path: Of(k.v)})
		}
		list, xs := g.sliceOf(f.Res, KStack)
		return append(list, g.ret(&Return{Path: Of(xs.v)})...)
	case RTwo:
		if f.Twin {
			if k := want(KBuf); k != nil {
				return g.ret(&Return{Path: Of(k.v)})
			}
			list, b := g.made(f.Res)
			return append(list, g.ret(&Return{Path: Of(b.v)})...)
		}
		list, p := g.pairOf(f.Res)
		return append(list, g.ret(&Return{Path: Of(p.v)})...)
	case RPair, RPairPtr:
		if f.Half {
			p := g.fresh(KPair, f.Res)
			return append(g.halfOf(p), g.ret(&Return{Path: Of(p)})...)
		}
		if f.Twin && g.chance(0.7) {
			list, p := g.twins(f.Res)
			return append(list, g.ret(&Return{Path: Of(p.v)})...)
		}
		kind := KPair
		if f.Result == RPairPtr && g.chance(0.3) {
			kind = KPairPtr
		}
		if k := want(kind); k != nil {
			return g.ret(&Return{Path: Of(k.v)})
		}
		list, p := g.pairOf(f.Res)
		return append(list, g.ret(&Return{Path: Of(p.v)})...)
	case RSlice:
		if k := want(KSlice); k != nil {
			return g.ret(&Return{Path: Of(k.v)})
		}
		list, xs := g.sliceOf(f.Res, KSlice)
		return append(list, g.ret(&Return{Path: Of(xs.v)})...)
	}
	return g.ret(&Return{})
}

// borrowed reports whether v is a parameter that the function borrows.
func (g *generator) borrowed(v *Var) bool {
	for i, p := range g.f.fn.Params {
		if p == v {
			return g.modes[g.f.fn.Index][i] == borrows
		}
	}
	return false
}

// gotos is the end of a function that cleans up at a label.
func (g *generator) gotos() []Stmt {
	g.tag("goto")
	return []Stmt{&Label{Name: "out"}, g.probe()}
}
