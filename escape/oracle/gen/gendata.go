package gen

// Actions that copy buffers and put them into structs and collections.

import "fmt"

// doAlias gives a buffer another name, of the same kind or another.
func (g *generator) doAlias() []Stmt {
	p, k := g.operand(func(k *known) bool { return !k.v.MaySkip && k.v.Class == g.f.lit })
	if k == nil {
		return nil
	}
	kinds := []Kind{KBuf, KAny}
	if k.v.Res == RBuffer {
		kinds = []Kind{KBuf, KBuf, KView, KView, KView, KRaw, KMethod, KFiller, KAny, KEmbed, KPtr, KSeq}
	}
	if g.chance(0.25) { // rare in real programs
		kinds = append(kinds, KGetter, KErr)
	}
	kind := kinds[g.n(len(kinds))]
	a := &Assign{Decl: true, How: g.n(12)}
	if g.f.fn.Generic && (kind == KEmbed || kind == KFiller || kind == KErr) {
		return nil
	}
	switch kind {
	case KGetter:
		if k.v.Kind != KBuf || k.v.Param || k.v.Depth != g.f.depth || k.v.Cell || g.f.fn.Hoist {
			return nil
		}
		k.v.Fixed, k.v.Once = true, k.v.Once || once(a.How)
		g.tag("result leads to a literal")
	case KErr:
		if k.v.Undef {
			return nil
		}
		g.tag("error that holds")
	case KSeq:
		if k.v.Undef {
			return nil
		}
	case KPtr:
		if k.v.Kind != KBuf || k.v.Param || k.v.Depth != g.f.depth || g.f.fn.Hoist {
			return nil
		}
		k.v.Fixed = true
		g.tag("address taken")
	case KView:
		a.Lo, a.Hi = g.n(3), g.n(3)
		g.tag("view")
	case KRaw:
		if k.v.Undef {
			return nil
		}
		g.tag("raw pointer")
	case KMethod:
		g.tag("method value")
	case KFiller, KAny:
		g.tag("interface")
	case KEmbed:
		g.tag("embedded")
	default:
		g.tag("copy")
	}
	v := g.fresh(kind, k.v.Res)
	v.Undef, v.Fixed = k.v.Undef, kind == KPtr || kind == KGetter
	v.Cell = kind == KPtr && k.v.Cell
	a.Dst, a.Src = []Path{Of(v)}, []Path{p}
	n := g.declare(v)
	g.merge(n, k)
	if kind == KEmbed && g.movable(k) && solid(k.v) && !k.v.Param && g.chance(0.4) {
		g.tag("promoted free")
		use := &Use{Op: []Op{OSum, OFill}[g.n(2)], Args: []Path{Of(v)}, X: 3}
		g.of(k).gone = true
		return []Stmt{a, use, &Free{Path: Of(v)}}
	}
	if kind == KSeq && g.chance(0.8) {
		return append([]Stmt{a}, g.over(n)...)
	}
	if kind == KPtr || kind == KEmbed || kind == KBuf {
		return []Stmt{a}
	}
	if kind == KView && g.chance(0.2) {
		w := g.fresh(KView, RBuffer)
		w.Undef = v.Undef
		g.merge(g.declare(w), k)
		return []Stmt{a, &Assign{Decl: true, Dst: []Path{Of(w)}, Src: []Path{Of(v)}, Lo: 1, Hi: 1}}
	}
	return []Stmt{a}
}

// owned matches a variable of kind KBuf that can be merged into something else.
func (g *generator) owned(k *known) bool {
	return k.v.Kind == KBuf && solid(k.v) && !k.v.Param && k.v.Class == g.f.lit && k.v != g.f.fn.Clean
}

// doPhi chooses among two buffers by a branch.
func (g *generator) doPhi() []Stmt {
	a := g.pick(g.owned)
	if a == nil {
		return nil
	}
	var b *known
	if g.chance(0.25) {
		b = g.pick(func(k *known) bool { return k.v.Res == a.v.Res && k.v.Param && k.v.Kind == KBuf && solid(k.v) })
	}
	if b == nil {
		b = g.pick(func(k *known) bool { return k != a && k.v.Res == a.v.Res && g.owned(k) })
	}
	if b == nil {
		return nil
	}
	g.tag("phi")
	if b.v.Param {
		g.tag("mixed phi")
	}
	v := g.fresh(KBuf, a.v.Res)
	n := g.declare(v)
	g.merge(n, a)
	g.merge(n, b)
	x := &If{Cond: g.cond(), Then: []Stmt{&Assign{Dst: []Path{Of(v)}, Src: []Path{Of(b.v)}}}}
	if g.chance(0.3) {
		x.Then = append(x.Then, g.probe())
	}
	return []Stmt{&Assign{Decl: true, Dst: []Path{Of(v)}, Src: []Path{Of(a.v)}}, x}
}

// doSwap exchanges two buffers, in a loop mostly.
func (g *generator) doSwap() []Stmt {
	free := func(k *known) bool { return g.owned(k) && !k.v.Fixed && g.f.lit == 0 }
	a := g.pick(free)
	if a == nil {
		return nil
	}
	b := g.pick(func(k *known) bool { return k != a && free(k) && k.v.Res == a.v.Res })
	if b == nil {
		return nil
	}
	g.tag("swap")
	g.merge(a, b)
	swap := &Assign{Dst: []Path{Of(a.v), Of(b.v)}, Src: []Path{Of(b.v), Of(a.v)}}
	if g.chance(0.3) {
		return []Stmt{swap}
	}
	g.tag("ping-pong")
	body := []Stmt{&Use{Op: OMove, Args: []Path{Of(a.v), Of(b.v)}, X: g.n(2)}, &Use{Op: OFill, Args: []Path{Of(b.v)}, X: g.n(20)}}
	if g.chance(0.5) {
		body = append(body, g.probe())
	}
	return []Stmt{&Loop{Kind: LCount, N: 4, Label: g.label(), Body: append(body, swap)}}
}

func (g *generator) label() string { return fmt.Sprintf("l%d", g.id()) }

func (g *generator) doArray() []Stmt {
	res := g.res()
	l1, a := g.made(res)
	l2, b := g.made(res)
	g.tag("array")
	v := g.fresh(KArray, res)
	k := g.declare(v)
	g.merge(k, a)
	g.merge(k, b)
	list := append(append(l1, l2...), &Compose{V: v, Src: []Path{Of(a.v), Of(b.v)}})
	if g.chance(0.3) {
		l3, c := g.made(res)
		g.merge(k, c)
		list = append(append(list, l3...), &Put{V: v, Key: g.n(2), Src: Of(c.v)})
	}
	return append(list, g.read(k)...)
}

// sliceOf builds a slice of fresh buffers, or a struct with one.
func (g *generator) sliceOf(res Res, kind Kind) ([]Stmt, *known) {
	g.tag("slice")
	if kind == KStack {
		g.tag("slice in a struct")
		if g.p.Insist && res == RMat {
			g.tag("free that insists")
		}
	}
	v := g.fresh(kind, res)
	list := []Stmt{}
	c := &Compose{V: v}
	k := g.declare(v)
	if g.chance(0.4) {
		for range 1 + g.n(3) {
			l, b := g.made(res)
			g.merge(k, b)
			list = append(list, l...)
			c.Src = append(c.Src, Of(b.v))
		}
		list = append(list, c)
		return list, k
	}
	g.tag("append")
	list = append(list, c)
	l := &Loop{Kind: []LoopKind{LCount, LClause, LFunc}[g.n(3)], N: 4, Label: g.label()}
	g.enter(l.Label)
	g.push()
	m, b := g.made(res)
	l.Body = append(m, &Append{V: v, Src: Of(b.v)})
	if g.chance(0.3) {
		l.Body = append(l.Body, g.probe())
	}
	g.pop()
	g.leave()
	if l.Kind == LFunc {
		g.tag("range over func")
	}
	return append(list, l), k
}

func (g *generator) enter(label string) {
	g.f.loops = append(g.f.loops, label)
	g.f.depth++
	g.f.nest++
}

func (g *generator) leave() {
	g.f.loops = g.f.loops[:len(g.f.loops)-1]
	g.f.depth--
	g.f.nest--
}

func (g *generator) doSlice() []Stmt {
	kind := KSlice
	if !g.f.fn.Generic && g.chance(0.25) {
		kind = KStack
	}
	list, k := g.sliceOf(g.res(), kind)
	list = append(list, g.read(k)...)
	if g.chance(0.15) && k.v.Class == g.f.lit && g.f.lit == 0 {
		list = append(list, g.popped(k))
	}
	return list
}

// popped takes an element out of a slice and uses it.
func (g *generator) popped(k *known) Stmt {
	g.tag("re-slice")
	v := g.fresh(KBuf, k.v.Res)
	v.Param = true
	get := &Get{Dst: v, V: k.v, Pop: true, Last: g.chance(0.5)}
	g.push()
	g.merge(g.declare(v), k)
	get.Body = []Stmt{&Use{Op: []Op{OSum, OFill, OLen}[g.n(3)], Args: []Path{Of(v)}, X: 3}}
	if g.chance(0.5) {
		get.Body = append(get.Body, g.block(nil)...)
	}
	g.pop()
	return get
}

// read reads a container that was just built, most of the time: one that nobody
// reads is rare.
func (g *generator) read(k *known) []Stmt {
	if g.chance(0.1) {
		return nil
	}
	v := g.fresh(KBuf, k.v.Res)
	v.Param = true
	use := []Stmt{&Use{Op: []Op{OSum, OFill}[g.n(2)], Args: []Path{Of(v)}, X: 4}}
	if k.v.Kind == KMap || k.v.Kind == KKeys {
		return []Stmt{&Get{Dst: v, V: k.v, Key: g.n(2), Body: use}}
	}
	if g.chance(0.4) {
		use = append(use, g.probe())
	}
	g.tag("range")
	return []Stmt{&Each{V: v, X: k.v, Label: g.label(), Body: use}}
}

// doContainer reads a container.
func (g *generator) doContainer() []Stmt {
	k := g.pick(func(k *known) bool {
		switch k.v.Kind {
		case KSlice, KMap, KArray, KStack, KKeys, KSeq:
			return true
		}
		return false
	})
	if k == nil {
		return nil
	}
	switch k.v.Kind {
	case KSeq:
		return g.over(k)
	case KKeys:
		if !g.movable(k) || g.chance(0.6) {
			return g.read(k)
		}
	}
	list := k.v.Kind == KSlice || k.v.Kind == KStack
	if (list && g.chance(0.25) || k.v.Kind == KKeys) && g.movable(k) && !k.v.Param {
		g.tag("free loop")
		g.of(k).gone = true
		return []Stmt{&FreeAll{V: k.v}}
	}
	v := g.fresh(KBuf, k.v.Res)
	v.Param = true // an element: borrowed from its container
	use := []Stmt{&Use{Op: []Op{OSum, OFill, OLen}[g.n(3)], Args: []Path{Of(v)}, X: 3}}
	if k.v.Kind != KMap && g.chance(0.6) {
		g.tag("range")
		e := &Each{V: v, X: k.v, Label: g.label()}
		v.Depth = g.f.depth + 1
		g.enter(e.Label)
		g.push()
		g.merge(g.declare(v), k)
		e.Body = append(use, g.block(nil)...)
		g.pop()
		g.leave()
		return []Stmt{e}
	}
	if k.v.Kind == KArray {
		return nil
	}
	if list && !k.v.Param && !k.v.Fixed && k.v.Class == g.f.lit && g.f.lit == 0 && g.chance(0.5) {
		return []Stmt{g.popped(k)}
	}
	if k.v.Kind == KKeys {
		return nil
	}
	get := &Get{Dst: v, V: k.v, Key: g.n(2)}
	g.push()
	g.merge(g.declare(v), k)
	get.Body = append(use, g.block(nil)...)
	g.pop()
	return []Stmt{get}
}

func (g *generator) doMap() []Stmt {
	res := g.res()
	g.tag("map")
	v := g.fresh(KMap, res)
	k := g.declare(v)
	c := &Compose{V: v}
	var list []Stmt
	if g.chance(0.5) {
		l, b := g.made(res)
		g.merge(k, b)
		list = append(list, l...)
		c.Src = []Path{Of(b.v)}
	}
	list = append(list, c)
	l, b := g.made(res)
	g.merge(k, b)
	list = append(append(list, l...), &Put{V: v, Key: len(c.Src), Src: Of(b.v)})
	return append(list, g.read(k)...)
}
