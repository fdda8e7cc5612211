package gen

// Actions on what may hold nothing: constructors that return nil without an error, and
// the tests for it.

// doMaybe makes a buffer, or nothing without an error.
func (g *generator) doMaybe() []Stmt {
	if g.deep() {
		return nil
	}
	v := g.fresh(KBuf, g.res())
	m := &Make{Dst: Of(v), Decl: true, N: g.site(v.Res), Via: VMaybe, Err: EDiscard, ErrID: g.id()}
	if g.chance(0.8) {
		m.Err, m.Fail = ECheck, g.fail(true)
	}
	return append([]Stmt{m}, g.tested(v, false)...)
}

// tested brings v into scope, which may hold nothing, and uses it where it was tested
// for that. Filled says that it has contents if it is there; it may be one of args.
func (g *generator) tested(v *Var, filled bool, args ...*known) []Stmt {
	g.tag("nothing without an error")
	there := &Cond{Op: CNil, Path: Of(v)}
	first := func() []Stmt {
		if filled {
			return nil
		}
		return g.first(v)
	}
	declare := func() *known {
		k := g.declare(v)
		for _, a := range args {
			g.merge(k, a)
		}
		return k
	}
	if g.chance(0.4) { // left if there is nothing
		none := &If{Cond: &Cond{Op: CNot, X: there}}
		if g.chance(0.3) {
			none.Then = []Stmt{g.probe()}
		}
		if g.f.lit == 0 && g.chance(0.5) && g.empty() {
			none.Then = append(none.Then, g.ret(&Return{})...)
		} else {
			none.Then = append(none.Then, g.fail(true)...)
		}
		declare()
		return append([]Stmt{none}, first()...)
	}
	s := &If{Cond: there}
	g.push()
	k := declare()
	s.Then = append(first(), g.block(nil)...)
	g.pop()
	if g.chance(0.3) {
		s.Else = g.block(nil)
	}
	list := []Stmt{s}
	switch {
	case g.of(k).gone:
	case v.Res == RBuffer: // the zero Buffer bears what others do with it
		v.MaySkip = true
		g.f.scopes[len(g.f.scopes)-1] = append(g.f.scopes[len(g.f.scopes)-1], k)
	case g.chance(0.5) && (len(s.Then) == 0 || !leaves(s.Then[len(s.Then)-1])):
		if g.chance(0.5) {
			list = append(list, g.doUse()...)
		}
		list = append(list, &If{Cond: there, Then: []Stmt{&Use{Op: []Op{OSum, OFill, OLen}[g.n(3)], Args: []Path{Of(v)}, X: 5}}})
	}
	return append(list, g.probe())
}

// empty reports whether the function may return nothing without an error, and notes
// that it does.
func (g *generator) empty() bool {
	f := g.f.fn
	switch f.Result {
	case RNone, RErr, RInt, RSlice:
		return true
	case RBuf:
		f.May = f.May || !f.Named
		return !f.Named
	}
	return false
}

// doBlank makes a buffer that no variable takes.
func (g *generator) doBlank() []Stmt {
	g.tag("assigned to blank")
	res := g.res()
	v := g.newVar(blank, KBuf, res)
	m := &Make{Dst: Of(v), N: g.site(res), Via: g.via(res), Err: []OnErr{ECheck, ECheck, EDiscard, EMust, EWrap}[g.n(5)], ErrID: g.id()}
	if m.Err == ECheck || m.Err == EWrap {
		m.Fail = g.fail(true)
	}
	return []Stmt{m, g.probe()}
}

// beside frees a buffer and returns it beside an error.
func (g *generator) beside() []Stmt {
	f := g.f.fn
	k := g.pick(func(k *known) bool {
		return k.v.Kind == KBuf && k.v.Res == f.Res && g.movable(k) && !k.v.Param && solid(k.v)
	})
	if k == nil {
		return nil
	}
	f.Beside = true
	return append([]Stmt{&Free{Path: Of(k.v)}}, g.ret(&Return{Fail: true, Path: Of(k.v)})...)
}

// unasked calls fn and does not ask for its error: what it returns may be nothing, or freed.
func (g *generator) unasked(s *Call, fn *Func) []Stmt {
	s.Dst, s.Err = g.fresh(KBuf, fn.Res), EDiscard
	if fn.Beside || g.alias[fn.Index] {
		g.tag("freed beside an error")
		return []Stmt{s, g.probe()}
	}
	g.tag("ignored error")
	return append([]Stmt{s}, g.tested(s.Dst, true)...)
}
