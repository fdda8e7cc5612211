package gen

// Actions on what leads back to a buffer: keys of maps, boxes, iterators, literals
// in a range, and buffers that are made in the header of a loop.

// doKeys builds a map whose keys are buffers.
func (g *generator) doKeys() []Stmt {
	res := g.res()
	g.tag("map key")
	v := g.fresh(KKeys, res)
	k := g.declare(v)
	c := &Compose{V: v}
	var list []Stmt
	for range 1 + g.n(2) {
		l, b := g.made(res)
		g.merge(k, b)
		list = append(list, l...)
		c.Src = append(c.Src, Of(b.v))
	}
	return append(append(list, c), g.read(k)...)
}

// doBox puts a buffer into a struct, looks at it through views, and resizes it, which
// ends the views.
func (g *generator) doBox() []Stmt {
	if g.f.fn.Generic {
		return nil
	}
	if k := g.pick(func(k *known) bool { return k.v.Kind == KBox && g.movable(k) && k.v.Class == 0 }); k != nil && g.chance(0.5) {
		return g.resize(k)
	}
	list, b := g.made(RBuffer)
	v := g.fresh(KBox, RBuffer)
	k := g.declare(v)
	g.merge(k, b)
	list = append(list, &Assign{Decl: true, Dst: []Path{Of(v)}, Src: []Path{Of(b.v)}})
	if g.chance(0.7) {
		w := g.fresh(KView, RBuffer)
		g.merge(g.declare(w), k)
		list = append(list, &Assign{Decl: true, Dst: []Path{Of(w)}, Src: []Path{Of(v)}},
			&Use{Op: []Op{OSum, OFill}[g.n(2)], Args: []Path{Of(w)}, X: 3})
	}
	if g.f.lit == 0 && g.chance(0.7) {
		list = append(list, g.resize(k)...)
		list = append(list, &Use{Op: []Op{OSum, OFill, OLen}[g.n(3)], Args: []Path{Of(v)}, X: 3})
	}
	return list
}

func (g *generator) resize(k *known) []Stmt {
	g.tag("resize")
	s := &Resize{V: k.v, N: g.site(RBuffer), Fail: g.ret(&Return{Fail: true}), ErrID: g.id()}
	g.of(k).gone = true // what was in use until now, views included
	k.group = len(g.f.groups)
	g.f.groups = append(g.f.groups, group{up: k.group})
	return []Stmt{s}
}

// doOver ranges over the views that an iterator yields.
func (g *generator) doOver() []Stmt {
	k := g.pick(func(k *known) bool { return (handle(k.v) || k.v.Kind == KSeq) && k.v.Res == RBuffer && solid(k.v) })
	if k == nil || g.deep() {
		return nil
	}
	return g.over(k)
}

func (g *generator) over(k *known) []Stmt {
	if g.deep() {
		return nil
	}
	g.tag("iterator")
	e := &Each{V: g.fresh(KView, RBuffer), X: k.v, Seq: QVar, Label: g.label()}
	if k.v.Kind != KSeq {
		if e.Seq = SeqKind(g.n(3)) + QOther; e.Seq == QPull {
			g.tag("pulled iterator")
		}
		e.X, e.Lit = g.fresh(KSlice, RBuffer), []Path{Of(k.v)} // the variable may be assigned again meanwhile
	}
	e.V.Depth = g.f.depth + 1
	g.enter(e.Label)
	g.push()
	g.merge(g.declare(e.V), k)
	e.Body = []Stmt{&Use{Op: []Op{OSum, OFill, OLen}[g.n(3)], Args: []Path{Of(e.V)}, X: 7}}
	if g.chance(0.5) {
		e.Body = append(e.Body, g.block(nil)...)
	}
	g.pop()
	g.leave()
	return []Stmt{e}
}

// doHeader makes a buffer in the header of a loop.
func (g *generator) doHeader() []Stmt {
	if g.deep() {
		return nil
	}
	g.tag("made in a header")
	g.tag("loop")
	res := g.res()
	v := g.fresh(KBuf, res)
	s := &For{Label: g.label()}
	s.Make = &Make{Dst: Of(v), Decl: true, N: g.site(res), Via: g.via(res), Err: EMust}
	s.Post = &Use{Op: OFill, Args: []Path{Of(v)}, X: g.n(9), Init: true}
	g.enter(s.Label)
	v.Depth, v.Undef = g.f.depth, true
	g.push()
	k := g.declare(v)
	g.of(k).pinned = true
	s.Body = g.block(nil)
	g.pop()
	g.leave()
	return []Stmt{s}
}

// doLiteralRange ranges over a literal of two buffers.
func (g *generator) doLiteralRange() []Stmt {
	if g.deep() {
		return nil
	}
	a := g.pick(func(k *known) bool { return k.v.Kind == KBuf && solid(k.v) })
	if a == nil {
		return nil
	}
	b := g.pick(func(k *known) bool { return k.v.Kind == KBuf && solid(k.v) && k.v.Res == a.v.Res })
	if b == nil || b == a {
		return nil
	}
	g.tag("range over a literal")
	e := &Each{V: g.fresh(KBuf, a.v.Res), X: g.fresh(KSlice, a.v.Res), Lit: []Path{Of(a.v), Of(b.v)}, Label: g.label()}
	e.V.Depth, e.V.Param = g.f.depth+1, true
	g.enter(e.Label)
	g.push()
	g.merge(a, b)
	g.merge(g.declare(e.V), a)
	e.Body = []Stmt{&Use{Op: []Op{OSum, OFill, OLen}[g.n(3)], Args: []Path{Of(e.V)}, X: 7}}
	if g.chance(0.5) {
		e.Body = append(e.Body, g.block(nil)...)
	}
	g.pop()
	g.leave()
	return []Stmt{e}
}
