package gen

// Actions on what outlives the place that it stands in, or can be seen when it ends.

import "fmt"

// doSpawn starts goroutines in a loop and joins them behind it, unless something leaves
// before, or the group is another by then.
func (g *generator) doSpawn() []Stmt {
	if g.f.lit > 0 || g.deep() || g.hoisted() {
		return nil
	}
	k := g.pick(func(k *known) bool { return g.owned(k) && g.movable(k) && !k.v.Cell })
	if k == nil {
		return nil
	}
	k.v.Fixed = true
	g.of(k).pinned = true
	g.tag("goroutines in a loop")
	kind := JoinKind(g.n(3))
	v := g.newVar(fmt.Sprintf("wg%d", g.id()), KGroup, RBuffer)
	v.Form = int(kind)
	if kind == JErr {
		g.tag("errgroup in a loop")
	}
	s := &Spawn{V: v, Kind: kind, Arg: Of(k.v)}
	if kind == JAdd && g.chance(0.3) {
		g.tag("reads after a deferred Done")
		s.After, s.Leaks = true, true
	}
	group, wait := &Group{V: v, Kind: kind}, &Wait{V: v, Kind: kind}
	l := &Loop{Kind: []LoopKind{LCount, LClause, LWhile, LFunc, LChan, LSelect}[g.n(6)], N: 2 + g.n(3), Label: g.label()}
	switch l.Kind {
	case LWhile:
		l.Cond = &Cond{Op: CMore}
	case LChan:
		g.tag("range over a channel")
	case LSelect:
		g.tag("loop that a select leaves")
	case LFunc:
		g.tag("range over func")
	}
	own := g.chance(0.2)
	g.enter(l.Label)
	body := append([]Stmt{s}, g.block(nil)...)
	var out []Stmt
	if g.chance(0.6) {
		g.tag("left before the Wait")
		out = []Stmt{&If{Cond: g.cond(), Then: g.hastily(own)}}
	}
	s.Leaks = s.Leaks || out != nil || exits(body)
	if n := len(body); n > 0 && leaves(body[n-1]) {
		out = nil
	}
	body = append(body, out...)
	g.leave()
	if own {
		g.tag("group of the loop's own")
		l.Body = append([]Stmt{group}, body...)
		if n := len(l.Body); !leaves(l.Body[n-1]) {
			l.Body = append(l.Body, wait)
		}
		return []Stmt{l, g.probe()}
	}
	l.Body = body
	list := []Stmt{group, l}
	if g.chance(0.3) {
		list = append(list, g.doUse()...)
		list = append(list, g.probe())
	}
	if g.chance(0.2) {
		g.tag("group assigned again")
		list = append(list, &Regroup{V: v, Kind: kind})
		s.Leaks = true
		v.Form |= groupPtr
	}
	return append(list, wait, g.probe())
}

// hastily leaves before goroutines are joined.
func (g *generator) hastily(own bool) []Stmt {
	switch x := g.n(6); {
	case x == 0 && !g.f.fn.Named:
		g.tag("explicit panic")
		return []Stmt{&Panic{X: g.n(9)}}
	case g.f.fn.Hoist:
		return []Stmt{&Jump{JGoto, "out"}}
	case own && x < 3:
		return []Stmt{&Jump{Kind: JumpKind(g.n(2))}}
	}
	return g.ret(&Return{Fail: true})
}

// exits reports whether list may leave the function, or a loop around it.
func exits(list []Stmt) bool {
	found := false
	Walk(list, func(s Stmt) bool {
		switch s := s.(type) {
		case *Return, *Panic:
			found = true
		case *Jump:
			found = found || s.Label != "" || s.Kind == JGoto
		case *Closure, *Inline:
			return false
		}
		return true
	})
	return found
}

// wrap puts a fresh buffer into a struct.
func (g *generator) wrap(kind Kind) ([]Stmt, *known) {
	list, b := g.made(g.res())
	v := g.fresh(kind, b.v.Res)
	k := g.declare(v)
	g.merge(k, b)
	v.Fixed = true
	return append(list, &Wrap{V: v, Src: Of(b.v)}), k
}

func (g *generator) wraps() bool {
	return g.f.lit == 0 && !g.f.fn.Generic && !g.f.fn.Help && !g.f.fn.Hoist && !g.deep()
}

// doLoud makes a struct whose free can be seen, and frees it on some paths.
func (g *generator) doLoud() []Stmt {
	if !g.wraps() {
		return nil
	}
	var list []Stmt
	var k *known
	if g.chance(0.6) {
		list, k = g.wrap(KLoud)
	} else { // made by a function
		v := g.fresh(KLoud, g.res())
		v.Fixed = true
		m := &Make{Dst: Of(v), Decl: true, N: g.site(v.Res), Err: ECheck, Fail: g.ret(&Return{Fail: true}), ErrID: g.id()}
		k = g.declare(v)
		list = append([]Stmt{m}, g.first(v)...)
	}
	k.v.Form = g.n(int(loudKinds))
	g.tag("free with an effect")
	g.tag([...]string{"free that locks", "free that closes a channel", "free that prints", "free that counts",
		"free that deletes a cache entry", "free that calls a hook", "free that releases a semaphore"}[k.v.Form])
	use := func() Stmt { return &Use{Op: []Op{OSum, OFill, OLen}[g.n(3)], Args: []Path{Of(k.v)}, X: 5} }
	list = append(list, use())
	if g.chance(0.4) {
		list = append(list, &If{Cond: g.cond(), Then: g.ret(&Return{Fail: true})})
	}
	if k.v.loudly() == LLock && g.chance(0.8) {
		list = append(list, &Hold{V: k.v, Body: []Stmt{&Use{Op: OLen, Args: []Path{Of(k.v)}}, g.probe()}})
	} else {
		list = append(list, &State{V: k.v}, g.probe())
	}
	if g.chance(0.5) {
		g.tag("user free")
		g.of(k).gone = true
		free := &Free{Path: Of(k.v)}
		if g.chance(0.3) {
			list = append(list, &If{Cond: g.cond(), Then: []Stmt{free}})
		} else {
			list = append(list, free)
		}
	}
	return append(list, &State{V: k.v}, g.probe())
}

// doNode keeps what a getter returned while the field gets another buffer.
func (g *generator) doNode() []Stmt {
	if !g.wraps() {
		return nil
	}
	list, k := g.wrap(KNode)
	g.tag("getter and a field that is replaced")
	if k.v.Form = g.n(2); k.v.Form == nodeHelp {
		g.tag("getter of another package")
	}
	best := g.fresh(KBuf, k.v.Res)
	get := &Assign{Decl: true, Dst: []Path{Of(best)}, Src: []Path{Of(k.v)}}
	step := func() Stmt {
		return &Step{V: k.v, N: g.site(k.v.Res), Fail: g.ret(&Return{Fail: true}), ErrID: g.id()}
	}
	list = append(list, get, step(), g.probe())
	g.merge(g.declare(best), k)
	best.Param = true // the node's
	if g.chance(0.4) {
		l := &Loop{Kind: []LoopKind{LCount, LChan, LSelect}[g.n(3)], N: 3, Label: g.label()}
		l.Body = []Stmt{step(), &If{Cond: g.cond(), Then: []Stmt{&Assign{Dst: []Path{Of(best)}, Src: []Path{Of(k.v)}}}}}
		list = append(list, l)
	}
	g.of(k).pinned = true
	return append(list, &Use{Op: []Op{OSum, OFill}[g.n(2)], Args: []Path{Of(best)}, X: 3},
		&Use{Op: OSum, Args: []Path{Of(k.v)}}, g.probe())
}

// doSelf makes a struct that leads to itself, and uses it through that.
func (g *generator) doSelf() []Stmt {
	if !g.wraps() {
		return nil
	}
	list, k := g.wrap(KSelf)
	g.tag("struct that leads to itself")
	v := g.fresh(KSelf, k.v.Res)
	v.Fixed = true
	list = append(list, &Assign{Decl: true, Dst: []Path{Of(v)}, Src: []Path{Of(k.v)}, How: g.n(2)})
	n := g.declare(v)
	g.merge(n, k)
	list = append(list, &Use{Op: []Op{OSum, OFill}[g.n(2)], Args: []Path{Of(k.v)}, X: 3}, g.probe())
	if g.chance(0.3) {
		g.tag("escape")
		g.of(k).pinned = true
		return append(list, &Escape{Kind: []EscapeKind{XKeep, XSend, XField, XList}[g.n(4)], Path: Of(v)}, g.probe())
	}
	return append(list, &Use{Op: []Op{OSum, OFill}[g.n(2)], Args: []Path{Of(v)}, X: 4}, g.probe())
}

// doText makes a string of foreign memory, which may outlive the function.
func (g *generator) doText() []Stmt {
	if !g.wraps() {
		return nil
	}
	list, k := g.made(RMat)
	g.tag("pointer resource")
	g.tag("string of foreign memory")
	v := g.fresh(KText, RMat)
	list = append(list, &Assign{Decl: true, Dst: []Path{Of(v)}, Src: []Path{Of(k.v)}, How: g.n(6)})
	n := g.declare(v)
	g.merge(n, k)
	if g.chance(0.4) {
		u := g.fresh(KText, RMat)
		list = append(list, &Assign{Decl: true, Dst: []Path{Of(u)}, Src: []Path{Of(v)}, How: g.n(6)})
		n = g.declare(u)
		g.merge(n, k)
	}
	if g.chance(0.5) {
		list = append(list, &Use{Op: OFill, Args: []Path{Of(k.v)}, X: 3}, g.probe())
	}
	if g.chance(0.5) {
		g.tag("escape")
		g.tag("string of foreign memory that stays")
		g.of(k).pinned = true
		return append(list, &Escape{Kind: []EscapeKind{XKeep, XSend, XField, XVar, XParam, XStruct}[g.n(6)], Path: Of(n.v), ID: g.id()}, g.probe())
	}
	return append(list, &Use{Op: OSum, Args: []Path{Of(n.v)}}, g.probe())
}

// doSnapshot copies a struct through a pointer and overwrites a field of the original.
func (g *generator) doSnapshot() []Stmt {
	if !g.wraps() {
		return nil
	}
	list, p := g.pairOf(g.res())
	g.tag("struct pointer")
	p.v.Fixed = true
	point := func(of *known) *Var {
		q := g.fresh(KPairPtr, p.v.Res)
		q.Fixed = true
		g.merge(g.declare(q), of)
		list = append(list, &Assign{Decl: true, Dst: []Path{Of(q)}, Src: []Path{Of(of.v)}})
		return q
	}
	q := point(p)
	g.of(p).pinned = true // the copy holds the buffers as well
	if g.chance(0.5) {
		g.tag("snapshot")
		v := g.fresh(KPair, p.v.Res)
		v.Fixed = true
		g.merge(g.declare(v), p)
		i := g.n(2)
		m := &Make{Dst: At(q, i), N: g.site(q.Res), Via: g.via(q.Res), Err: ECheck, Fail: g.ret(&Return{Fail: true}), ErrID: g.id()}
		return append(list, &Assign{Decl: true, Dst: []Path{Of(v)}, Src: []Path{Of(q)}}, m,
			&Use{Op: OFill, Args: []Path{At(q, i)}, X: 6, Init: true}, g.probe(),
			&Use{Op: OSum, Args: []Path{At(v, i)}}, &Use{Op: OSum, Args: []Path{At(q, g.n(2))}}, g.probe())
	}
	g.tag("struct copied through pointers")
	more, o := g.pairOf(p.v.Res)
	list = append(list, more...)
	o.v.Fixed = true
	r := point(o)
	g.of(o).pinned = true
	g.merge(o, p)
	list = append(list, &Assign{Dst: []Path{Of(r)}, Src: []Path{Of(q)}, Store: true}, g.probe())
	for i := range 2 {
		if g.chance(0.7) {
			list = append(list, &Use{Op: []Op{OSum, OFill}[g.n(2)], Args: []Path{At([]*Var{p.v, q, r, o.v}[g.n(4)], i)}, X: 2}, g.probe())
		}
	}
	return list
}

// doMention names a buffer where nothing reads it.
func (g *generator) doMention() []Stmt {
	if g.hoisted() {
		return nil
	}
	k := g.pick(func(k *known) bool { return k.v.Kind == KBuf && solid(k.v) })
	if k == nil {
		return nil
	}
	s := &Mention{Path: Of(k.v), How: MentionKind(g.n(int(mentionKinds))), ID: g.id()}
	g.tag([...]string{"constant branch", "constant branch", "dead copy", "dead copy"}[s.How])
	return []Stmt{g.probe(), s, g.probe()}
}

// thrown ends a function that recovers with a panic whose value is a buffer.
func (g *generator) thrown(f *Func) []Stmt {
	k := g.pick(func(k *known) bool { return g.owned(k) && g.movable(k) && !k.v.Cell })
	if k == nil {
		return nil
	}
	f.Catch = true
	g.tag("panic value that holds")
	g.of(k).pinned = true
	return []Stmt{&If{Cond: g.cond(), Then: []Stmt{&Panic{With: Of(k.v)}}}, g.probe()}
}

// doPart makes two structs that share a field, which the free of neither gives back.
func (g *generator) doPart() []Stmt {
	if !g.wraps() {
		return nil
	}
	g.tag("destructor and a shared field")
	res := g.res()
	if g.p.Insist && res == RMat {
		g.tag("free that insists")
	}
	list, common := g.made(res)
	var parts []*Var
	for range 2 {
		more, own := g.made(res)
		v := g.fresh(KPairPtr, res)
		v.Form, v.Fixed = partForm, true
		list = append(list, more...)
		list = append(list, &Wrap{V: v, Src: Of(own.v), Common: Of(common.v)})
		parts = append(parts, v)
		g.merge(own, common)
	}
	g.of(common).pinned = true
	use := func(p Path) Stmt { return &Use{Op: []Op{OSum, OFill, OLen}[g.n(3)], Args: []Path{p}, X: 5} }
	list = append(list, use(At(parts[0], g.n(2))), g.probe())
	for i, v := range parts {
		if g.chance(0.7) {
			list = append(list, &Free{Path: At(v, 0), How: FPart})
		}
		if i == 0 {
			list = append(list, use(At(parts[1], 1)), g.probe())
		}
	}
	if g.chance(0.5) {
		list = append(list, use(Of(common.v)))
	}
	g.of(common).gone = true
	return append(list, g.probe())
}
