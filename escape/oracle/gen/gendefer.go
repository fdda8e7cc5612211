package gen

// Actions that defer, and buffers that a condition decides about twice.

import "fmt"

// doDefer defers a free.
func (g *generator) doDefer() []Stmt {
	k := g.pick(func(k *known) bool {
		return (k.v.Kind == KBuf || k.v.Kind == KEmbed) && g.movable(k) && !k.v.Param && solid(k.v) && g.f.lit == 0 && k.v != g.f.fn.Clean
	})
	if k == nil || g.f.depth > 0 && g.chance(0.5) || g.hoisted() {
		return nil
	}
	d := &Defer{Kind: []DeferKind{DFree, DFree, DLit, DMethod, DDo}[g.n(5)], Path: Of(k.v), ID: g.id()}
	if k.v.Kind == KEmbed {
		g.tag("promoted free")
	}
	if d.Kind == DLit && (k.v.Res == RMat || g.f.depth > 0) {
		d.Kind = DFree
	}
	if d.Kind == DLit {
		k.v.Fixed = true
		g.tag("deferred literal")
	} else {
		g.tag("deferred free")
	}
	if g.f.depth > 0 {
		g.tag("defer in loop")
	}
	if k.v.Res == RMat {
		k.v.Fixed = true
	}
	g.of(k).pinned = true
	if k.v.Kind == KBuf && !k.v.Fixed && g.chance(0.3) {
		g.tag("receiver evaluated early")
		return append([]Stmt{d}, g.remake(k)...)
	}
	if k.v.Kind == KBuf && g.chance(0.25) {
		return append([]Stmt{d}, g.stored(k)...)
	}
	return []Stmt{d}
}

// stored hands on what a deferred call frees: others hold it until then.
func (g *generator) stored(k *known) []Stmt {
	g.tag("stored after a deferred free")
	g.tag("escape")
	var list []Stmt
	if g.chance(0.5) {
		list = append(list, &Use{Op: []Op{OSum, OFill, OLen}[g.n(3)], Args: []Path{Of(k.v)}, X: 4})
	}
	x := &Escape{Kind: []EscapeKind{XKeep, XSend, XField, XPool}[g.n(4)], Path: Of(k.v)}
	if g.chance(0.4) {
		return append(list, &If{Cond: g.cond(), Then: []Stmt{x}}, g.probe())
	}
	return append(list, x, g.probe())
}

// doDeferUse defers a function that reads the buffer.
func (g *generator) doDeferUse() []Stmt {
	if !g.top() || g.f.fn.Hoist {
		return nil
	}
	k := g.pick(func(k *known) bool {
		return k.v.Kind == KBuf && !k.v.Param && !g.of(k).pinned && solid(k.v) && k.v.Depth == 0
	})
	if k == nil || g.chance(0.5) {
		return nil
	}
	g.tag("deferred use")
	k.v.Fixed = true
	g.of(k).pinned = true
	return []Stmt{&Defer{Kind: DUse, Path: Of(k.v)}}
}

// doDeferLook defers a call that reads what the buffer is now, in a loop as well.
func (g *generator) doDeferLook() []Stmt {
	k := g.pick(func(k *known) bool {
		return k.v.Kind == KBuf && g.movable(k) && !k.v.Param && solid(k.v) && g.f.lit == 0 && k.v != g.f.fn.Clean
	})
	if k == nil || g.hoisted() {
		return nil
	}
	g.tag("deferred read")
	if g.f.depth > 0 {
		g.tag("deferred read in loop")
	}
	d := &Defer{Kind: DLook, Path: Of(k.v), ID: g.id()}
	if !g.f.fn.Hoist && !k.v.Cell && g.chance(0.4) {
		d.Lit = true
		k.v.Fixed = true
	}
	g.of(k).pinned = true
	return []Stmt{d}
}

// doDeferAll defers the free of all that a slice or a struct holds by then.
func (g *generator) doDeferAll() []Stmt {
	if !g.top() || g.f.depth > 0 || g.hoisted() {
		return nil
	}
	k := g.pick(func(k *known) bool {
		switch k.v.Kind {
		case KSlice, KStack, KBox:
		case KPair:
			if !g.p.Closes {
				return false
			}
		default:
			return false
		}
		return g.movable(k) && !k.v.Param && solid(k.v)
	})
	if k == nil {
		return nil
	}
	d := &Defer{Kind: DClose, Path: Of(k.v), ID: g.id()}
	g.tag("deferred clean-up")
	if k.v.Kind == KSlice || k.v.Kind == KStack && g.chance(0.5) {
		d.Kind = DAll
	} else {
		g.tag("struct destructor")
	}
	g.of(k).pinned = true
	return []Stmt{d}
}

// doCleanup defers a free of what may not be there by then: not made yet, or
// handed on.
func (g *generator) doCleanup() []Stmt {
	if !g.top() || g.f.depth > 0 || g.f.fn.Hoist {
		return nil
	}
	g.tag("deferred free of nil")
	v := g.fresh(KBuf, g.res())
	v.Fixed = true
	list := []Stmt{&Zero{V: v}, &Defer{Kind: DNil, Path: Of(v), ID: g.id()}}
	if g.chance(0.5) {
		list = append(list, g.doUse()...)
	}
	m := &Make{Dst: Of(v), N: g.site(v.Res), Via: g.via(v.Res), Err: ECheck, Fail: g.ret(&Return{Fail: true}), ErrID: g.id()}
	made := append([]Stmt{m}, g.first(v)...)
	if v.Res == RBuffer && g.chance(0.3) {
		v.MaySkip = true
		k := g.declare(v)
		g.of(k).pinned = true
		return append(list, &If{Cond: &Cond{Op: CDraw}, Then: made}, g.probe())
	}
	list = append(list, made...)
	k := g.declare(v)
	if g.chance(0.4) {
		list = append(list, g.doUse()...)
		on := []Stmt{&Escape{Kind: []EscapeKind{XKeep, XSend, XField}[g.n(3)], Path: Of(v)}}
		if g.chance(0.7) {
			on = append(on, &Clear{Path: Of(v)})
		} else {
			g.tag("stored after a deferred free")
		}
		g.of(k).gone = true
		if g.chance(0.5) {
			return append(list, &If{Cond: &Cond{Op: CDraw}, Then: on}, g.probe())
		}
		return append(append(list, on...), g.probe())
	}
	g.of(k).pinned = true
	return list
}

// doCorrelated makes a buffer under a condition and uses it under the same one.
func (g *generator) doCorrelated() []Stmt {
	if g.hoisted() {
		return nil
	}
	g.tag("correlated")
	name := fmt.Sprintf("flag%d", g.id())
	if g.f.nest == 0 && g.f.lit == 0 {
		g.f.flags = append(g.f.flags, name)
	}
	v := g.fresh(KBuf, g.res())
	v.MaySkip = true
	m := &Make{Dst: Of(v), N: g.site(v.Res), Via: g.via(v.Res), Err: ECheck, Fail: g.ret(&Return{Fail: true}), ErrID: g.id()}
	made := append([]Stmt{m}, g.first(v)...)
	again := &Cond{Op: CFlag, Var: name}
	if v.Res == RMat && g.chance(0.5) {
		g.tag("nil tested")
		again = &Cond{Op: CNil, Path: Of(v)}
	}
	use := []Stmt{&Use{Op: OSum, Args: []Path{Of(v)}}}
	seen := v.Res == RBuffer // a pointer is used where it is known to be there
	switch x := g.n(4); {
	case x == 0 && g.top() && g.f.depth == 0:
		g.tag("correlated free")
		made = append(made, &Defer{Kind: DFree, Path: Of(v), ID: g.id()})
		seen = false
	case x == 1:
		g.tag("correlated free")
		use = append(use, &Free{Path: Of(v)})
		if g.chance(0.3) {
			use = use[1:]
		}
		seen = false
	}
	list := []Stmt{&Flag{Name: name}, &Zero{V: v}, &If{Cond: &Cond{Op: CFlag, Var: name}, Then: made}, g.probe()}
	if seen {
		g.declare(v)
	} else if g.chance(0.6) {
		list = append(list, g.doUse()...)
	}
	return append(list, &If{Cond: again, Then: use})
}
