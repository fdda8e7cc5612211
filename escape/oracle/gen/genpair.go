package gen

// Actions on structs of two buffers.

import "slices"

// pairOf makes a pair of two buffers.
func (g *generator) pairOf(res Res) ([]Stmt, *known) {
	g.tag("struct")
	if g.p.Closes && g.p.Insist && res == RMat {
		g.tag("free that insists")
	}
	if g.chance(0.4) {
		l1, a := g.made(res)
		l2, b := g.made(res)
		p := g.fresh(KPair, res)
		k := g.declare(p)
		g.merge(k, a)
		g.merge(k, b)
		return append(append(l1, l2...), &Compose{V: p, Src: []Path{Of(a.v), Of(b.v)}}), k
	}
	p := g.fresh(KPair, res)
	k := g.declare(p)
	res2 := []Stmt{&Compose{V: p}}
	for i := range 2 {
		m := &Make{Dst: At(p, i), N: g.site(res), Via: g.via(res), Err: ECheck, ErrID: g.id()}
		m.Fail = g.ret(&Return{Fail: true})
		res2 = append(res2, m, &Use{Op: OFill, Args: []Path{At(p, i)}, X: 1 + g.n(9), Init: true})
	}
	return res2, k
}

func (g *generator) doPair() []Stmt {
	if g.f.fn.Generic || g.f.fn.Help {
		return nil
	}
	list, p := g.pairOf(g.res())
	for i := range 2 {
		if g.chance(0.7) {
			list = append(list, &Use{Op: []Op{OSum, OFill}[g.n(2)], Args: []Path{At(p.v, i)}, X: 2})
		}
	}
	if g.chance(0.25) && p.v.Class == g.f.lit && !g.f.fn.Hoist {
		g.tag("struct pointer")
		p.v.Fixed = true
		q := g.fresh(KPairPtr, p.v.Res)
		q.Fixed = true
		g.merge(g.declare(q), p)
		list = append(list, &Assign{Decl: true, Dst: []Path{Of(q)}, Src: []Path{Of(p.v)}})
	}
	return list
}

// doField overwrites or copies a field.
func (g *generator) doField() []Stmt {
	k := g.pick(func(k *known) bool {
		return k.v.Kind == KPair && !k.v.Param && !k.v.Fixed && solid(k.v) && g.f.lit == 0 && k.v.Class == 0
	})
	if k == nil {
		return nil
	}
	i := g.n(2)
	if g.chance(0.5) && !g.insisted(k) {
		g.tag("field overwritten")
		m := &Make{Dst: At(k.v, i), N: g.site(k.v.Res), Via: g.via(k.v.Res), Err: ECheck, Fail: g.ret(&Return{Fail: true}), ErrID: g.id()}
		return []Stmt{m, &Use{Op: OFill, Args: []Path{At(k.v, i)}, X: 5, Init: true}}
	}
	if g.chance(0.5) {
		q := g.fresh(KPair, k.v.Res)
		g.merge(g.declare(q), k)
		g.tag("struct copy")
		return []Stmt{&Assign{Decl: true, Dst: []Path{Of(q)}, Src: []Path{Of(k.v)}}}
	}
	v := g.fresh(KBuf, k.v.Res)
	g.merge(g.declare(v), k)
	return []Stmt{&Assign{Decl: true, Dst: []Path{Of(v)}, Src: []Path{At(k.v, i)}}}
}

// insisted reports whether a deferred destructor of k bears no field that holds nothing.
func (g *generator) insisted(k *known) bool {
	return g.p.Insist && k.v.Res == RMat && g.of(k).pinned
}

// twins puts a buffer into both fields of a struct.
func (g *generator) twins(res Res) ([]Stmt, *known) {
	list, a := g.made(res)
	p := g.fresh(KPair, res)
	k := g.declare(p)
	g.merge(k, a)
	g.twin(k)
	return append(list, &Compose{V: p, Src: []Path{Of(a.v), Of(a.v)}}), k
}

// twin notes that k may hold a buffer twice, so that a destructor frees it twice.
func (g *generator) twin(k *known) {
	g.tag("buffer in two places")
	if k.v.Res == RMat {
		g.of(k).pinned = true
	}
}

// doTwin makes a struct whose fields hold the same buffer, at once or later.
func (g *generator) doTwin() []Stmt {
	if g.f.fn.Generic || g.f.fn.Help {
		return nil
	}
	k := g.pick(func(k *known) bool {
		return k.v.Kind == KPair && !k.v.Param && !k.v.Fixed && solid(k.v) && g.movable(k) && g.f.lit == 0
	})
	var list []Stmt
	if k != nil && g.chance(0.5) {
		i := g.n(2)
		list = []Stmt{&Assign{Dst: []Path{At(k.v, i)}, Src: []Path{At(k.v, 1-i)}}}
		g.twin(k)
	} else {
		list, k = g.twins(g.res())
	}
	for i := range 2 {
		if g.chance(0.5) {
			list = append(list, &Use{Op: []Op{OSum, OFill}[g.n(2)], Args: []Path{At(k.v, i)}, X: 2}, g.probe())
		}
	}
	return list
}

// doTake takes a buffer out of a struct, which holds nothing there from then on.
func (g *generator) doTake() []Stmt {
	k := g.pick(func(k *known) bool {
		return k.v.Kind == KPair && k.v != g.f.fn.Clean && !k.v.Param && !k.v.Fixed && solid(k.v) && !g.insisted(k) && g.f.lit == 0 && k.v.Depth == g.f.depth && (!g.of(k).pinned || k.v.Res == RBuffer)
	})
	if k == nil {
		return nil
	}
	g.tag("field taken out")
	i := g.n(2)
	v := g.fresh(KBuf, k.v.Res)
	g.merge(g.declare(v), k)
	list := []Stmt{&Assign{Decl: true, Dst: []Path{Of(v)}, Src: []Path{At(k.v, i)}}, &Clear{Path: At(k.v, i)}}
	if g.chance(0.6) {
		list = append(list, g.probe(), &Use{Op: []Op{OSum, OFill, OLen}[g.n(3)], Args: []Path{At(k.v, 1-i)}, X: 6})
	}
	g.hide(k)
	return list
}

// hide takes k out of scope.
func (g *generator) hide(k *known) {
	for i, s := range g.f.scopes {
		g.f.scopes[i] = slices.DeleteFunc(s, func(o *known) bool { return o == k })
	}
}

// doHalf makes a struct one of whose fields may hold nothing.
func (g *generator) doHalf() []Stmt {
	if g.f.fn.Generic || g.f.fn.Help || g.deep() || g.hoisted() {
		return nil
	}
	p := g.fresh(KPair, g.res())
	return append(g.halfOf(p), g.half(p)...)
}

// halfOf fills p, whose second field may get nothing.
func (g *generator) halfOf(p *Var) []Stmt {
	field := func(i int) []Stmt {
		m := &Make{Dst: At(p, i), N: g.site(p.Res), Via: g.via(p.Res), Err: ECheck, Fail: g.ret(&Return{Fail: true}), ErrID: g.id()}
		return []Stmt{m, &Use{Op: OFill, Args: []Path{At(p, i)}, X: 1 + g.n(9), Init: true}}
	}
	list := append([]Stmt{&Compose{V: p}}, field(0)...)
	return append(list, &If{Cond: g.cond(), Then: field(1)})
}

// half uses p, whose second field may hold nothing.
func (g *generator) half(p *Var) []Stmt {
	g.tag("half-filled struct")
	insists := g.p.Insist && p.Res == RMat
	if insists && g.p.Closes {
		g.tag("free that insists")
	}
	there := &Cond{Op: CNil, Path: At(p, 1)}
	use := func(i int) Stmt { return &Use{Op: []Op{OSum, OFill, OLen}[g.n(3)], Args: []Path{At(p, i)}, X: 5} }
	list := []Stmt{g.probe()}
	if g.chance(0.8) {
		list = append(list, use(0))
	}
	if g.chance(0.7) {
		list = append(list, &If{Cond: there, Then: []Stmt{use(1)}}, g.probe())
	}
	switch x := g.n(6); {
	case x == 0 && g.p.Closes && !insists:
		g.tag("user free")
		g.tag("struct destructor")
		list = append(list, &Free{Path: Of(p)})
	case x == 1:
		g.tag("user free")
		list = append(list, &Free{Path: At(p, 0)}, &If{Cond: there, Then: []Stmt{&Free{Path: At(p, 1)}}})
	}
	return append(list, g.probe())
}
