package gen

// Actions on what may hold nothing: constructors that return nil without an error, and
// the tests for it; nil in interfaces, and where the name is shadowed.

import "fmt"

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

// doTyped puts a pointer that may be nil into an interface: that is nil only if it was
// put in where it was there.
func (g *generator) doTyped() []Stmt {
	if g.deep() || g.hoisted() || g.f.fn.Generic {
		return nil
	}
	g.tag("typed nil")
	v, a := g.fresh(KBuf, RMat), g.fresh(KAny, RMat)
	m := &Make{Dst: Of(v), Decl: true, N: g.site(RMat), Via: VMaybe, Err: ECheck, Fail: g.fail(true), ErrID: g.id()}
	there, set := &Cond{Op: CNil, Path: Of(v)}, &Cond{Op: CSet, Path: Of(a)}
	list := []Stmt{m, &If{Cond: there, Then: g.first(v)}}
	put := &Assign{Dst: []Path{Of(a)}, Src: []Path{Of(v)}}
	sure := set
	if g.chance(0.5) {
		list = append(list, &Zero{V: a}, &If{Cond: there, Then: []Stmt{put}})
	} else {
		put.Decl, set.N, sure = true, 1, there
		list = append(list, put)
	}
	if g.chance(0.5) {
		list = append(list, g.doUse()...)
	}
	use := &Use{Op: []Op{OSum, OFill}[g.n(2)], Args: []Path{Of(a)}, X: 3}
	switch g.n(4) {
	case 0: // what bears nil
		look := &Use{Op: []Op{OPrint, OKeep}[g.n(2)], Args: []Path{Of(a)}}
		return append(list, &If{Cond: set, Then: append([]Stmt{look}, g.block(nil)...)}, g.probe())
	case 1:
		return append(list, &If{Cond: there, Then: []Stmt{use}}, g.probe())
	case 2:
		list = append(list, &If{Cond: &Cond{Op: CNot, X: set}, Then: g.fail(true)}, g.probe())
		if set.N == 0 {
			g.merge(g.declare(a), g.declare(v))
			return append(list, use)
		}
		return append(list, &If{Cond: there, Then: []Stmt{use}})
	}
	free := &Free{Path: Of(a)}
	if !g.p.Tex && g.chance(0.7) {
		free.How = FIface
		g.tag("freed through an interface")
	}
	g.tag("user free")
	return append(list, &If{Cond: sure, Then: []Stmt{use, g.probe(), free}}, g.probe())
}

// doShadow uses buffers where nil, or the package of the function that frees them, means
// something else.
func (g *generator) doShadow() []Stmt {
	if g.deep() || g.hoisted() {
		return nil
	}
	b := &Block{Shadow: "nil"}
	if g.p.Tex && g.chance(0.6) {
		b.Shadow = "rt"
	}
	plain := func(v *Var) Stmt {
		ops := []Op{OFill, OLen}
		if v.Res == RMat {
			ops = []Op{OFill, OLen, OSum}
		}
		return &Use{Op: ops[g.n(len(ops))], Args: []Path{Of(v)}, X: 2 + g.n(9)}
	}
	var list []Stmt
	if res := g.res(); res == RMat && g.chance(0.7) {
		v := g.fresh(KBuf, res)
		flag := fmt.Sprintf("flag%d", g.id())
		m := &Make{Dst: Of(v), Decl: true, N: g.site(res), Via: VMaybe, Err: ECheck, Fail: g.fail(true), ErrID: g.id()}
		list = []Stmt{m, &Flag{Name: flag, Of: Of(v)}}
		b.Body = []Stmt{&If{Cond: &Cond{Op: CFlag, Var: flag}, Then: append(g.first(v), plain(v))}, g.probe()}
	}
	for range 1 + g.n(2) {
		k := g.pick(func(k *known) bool { return k.v.Kind == KBuf && solid(k.v) })
		if k == nil {
			break
		}
		use := plain(k.v)
		if g.chance(0.3) {
			use = &If{Cond: &Cond{Op: CDraw}, Then: []Stmt{use}}
		}
		b.Body = append(b.Body, use, g.probe())
	}
	if len(b.Body) == 0 {
		return nil
	}
	g.tag("shadowed name")
	return append(list, b, g.probe())
}

// found lets some of the makers say with a boolean whether they made a buffer.
func (g *generator) found(m *Make) {
	if (m.Err == ECheck || m.Err == EInvert) && m.Via == VMake && !m.T && !g.hoisted() && !g.f.fn.Named && g.chance(0.05) {
		g.tag("boolean result")
		m.Via = VFound
	}
}
