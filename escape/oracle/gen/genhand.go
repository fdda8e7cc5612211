package gen

// Actions that hand functions on which lead to a buffer: method values of its free, and
// getters.

// doFreer takes the free of a buffer as a value, and calls it later.
func (g *generator) doFreer() []Stmt {
	k := g.pick(func(k *known) bool {
		return (k.v.Kind == KBuf || k.v.Kind == KEmbed) && g.movable(k) && !k.v.Param && solid(k.v) && k.v != g.f.fn.Clean
	})
	if k == nil || g.hoisted() {
		return nil
	}
	g.tag("free handed on")
	if g.chance(0.4) {
		g.tag("user free")
		g.of(k).gone = true
		return []Stmt{&Free{Path: Of(k.v), How: []FreeHow{FDo, FLater, FOwn, FOnce}[g.n(4)]}, g.probe()}
	}
	v := g.fresh(KFreer, k.v.Res)
	list := []Stmt{&Assign{Decl: true, Dst: []Path{Of(v)}, Src: []Path{Of(k.v)}}}
	n := g.declare(v)
	g.merge(n, k)
	if g.chance(0.3) {
		return list // another action calls it, or nobody does
	}
	for range g.n(3) {
		add := g.action()
		if len(add) > 0 && leaves(add[len(add)-1]) {
			break
		}
		list = append(list, add...)
	}
	if g.of(n).gone || g.of(n).pinned { // k may hold another one by now
		return list
	}
	g.tag("user free")
	g.of(n).gone = true
	return append(list, &Free{Path: Of(v), How: g.how(v)}, g.probe())
}

// once reports whether a getter made in this way calls its literal once alone.
func once(how int) bool { return how%4 == 1 }

// doGetter hands a function on that returns what a variable holds.
func (g *generator) doGetter() []Stmt {
	k := g.pick(func(k *known) bool {
		return k.v.Kind == KBuf && g.movable(k) && !k.v.Param && !k.v.Cell && solid(k.v) && k.v != g.f.fn.Clean
	})
	if k == nil || g.f.fn.Hoist {
		return nil
	}
	g.tag("getter handed on")
	v := g.fresh(KGetter, k.v.Res)
	v.Fixed = true
	a := &Assign{Decl: true, Dst: []Path{Of(v)}, Src: []Path{Of(k.v)}, How: g.n(12)}
	k.v.Fixed, k.v.Once = true, k.v.Once || once(a.How)
	list := []Stmt{a}
	g.merge(g.declare(v), k)
	switch g.n(4) {
	case 0:
		g.tag("user free")
		g.of(k).gone = true
		list = append(list, &Free{Path: Of(v), How: g.how(v)})
	case 1:
		g.tag("escape")
		g.tag("kept in a global")
		if g.chance(0.5) {
			g.of(k).gone = true
		} else {
			g.of(k).pinned = true
		}
		list = append(list, &Escape{Kind: XGot, Path: Of(v)})
	default:
		list = append(list, &Use{Op: OTwice, Args: []Path{Of(v)}})
	}
	return append(list, g.probe())
}

// how draws who calls the free of v.
func (g *generator) how(v *Var) FreeHow {
	switch v.Kind {
	case KFreer:
		return []FreeHow{FPlain, FPlain, FDo, FLater, FOwn, FOnce}[g.n(6)]
	case KAny:
		if v.Res == RMat && !g.p.Tex && g.chance(0.8) {
			g.tag("freed through an interface")
			return FIface
		}
	case KGetter:
		return []FreeHow{FPlain, FGot, FGotOwn}[g.n(3)]
	case KBuf, KEmbed:
		if g.chance(0.1) {
			g.tag("free handed on")
			return []FreeHow{FDo, FLater, FOwn, FOnce}[g.n(4)]
		}
	}
	return FPlain
}
