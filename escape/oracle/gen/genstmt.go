package gen

import "fmt"

// action returns the statements of one random action; most need a variable of
// some kind in scope, and another is tried if there is none.
func (g *generator) action() []Stmt {
	for range 20 {
		x := g.n(total_)
		for _, a := range actions {
			if x -= a.weight; x < 0 {
				if res := a.do(g); len(res) > 0 {
					return res
				}
				break
			}
		}
	}
	list, _ := g.made(g.res())
	return list
}

type action struct {
	weight int
	do     func(*generator) []Stmt
}

var (
	actions []action
	total_  int
)

func init() {
	actions = []action{
		{18, (*generator).doMake},
		{40, (*generator).doUse},
		{4, (*generator).doRemake},
		{8, (*generator).doAlias},
		{4, (*generator).doPhi},
		{3, (*generator).doSwap},
		{4, (*generator).doPair},
		{4, (*generator).doField},
		{1, (*generator).doArray},
		{3, (*generator).doSlice},
		{6, (*generator).doContainer},
		{1, (*generator).doMap},
		{10, (*generator).doIf},
		{7, (*generator).doLoop},
		{4, (*generator).doSwitch},
		{3, (*generator).doJump},
		{2, (*generator).doReturn},
		{1, (*generator).doPanic},
		{3, (*generator).doFree},
		{3, (*generator).doDefer},
		{2, (*generator).doDeferUse},
		{3, (*generator).doJoin},
		{4, (*generator).doClosure},
		{5, (*generator).doCallVar},
		{3, (*generator).doInline},
		{9, (*generator).doCall},
		{5, (*generator).doDispatch},
		{3, (*generator).doEscape},
		{2, (*generator).doSelect},
		{1, (*generator).doPass},
		{1, (*generator).doTemp},
		{2, (*generator).doCorrelated},
		{4, (*generator).doAgain},
		{1, (*generator).doExit},
	}
	for _, a := range actions {
		total_ += a.weight
	}
}

func (g *generator) res() Res {
	if !g.f.fn.Generic && g.chance(0.25) {
		g.tag("pointer resource")
		return RMat
	}
	return RBuffer
}

func (g *generator) top() bool { return g.f.nest == 0 && g.f.lit == 0 }

// hoisted reports whether a declaration here would be jumped over.
func (g *generator) hoisted() bool { return g.f.fn.Hoist && g.top() }

// first gives a buffer its first contents.
func (g *generator) first(v *Var) []Stmt {
	return []Stmt{&Use{Op: OFill, Args: []Path{Of(v)}, X: 1 + g.n(9), Init: true}}
}

func (g *generator) via(res Res) Via {
	if res == RMat {
		return VMake
	}
	// Called once for each site, after the site.
	v := []Via{VMake, VMake, VMake, VMake, VNew, VGeneric, VAdopt}[g.n(7)]
	if v != VMake {
		g.tag("wrapped maker")
	}
	g.p.Sites[len(g.p.Sites)-1].Adopted = v == VAdopt
	return v
}

// made makes a buffer that is there afterwards, with contents.
func (g *generator) made(res Res) ([]Stmt, *known) {
	v := g.fresh(KBuf, res)
	m := &Make{Dst: Of(v), Decl: true, N: g.site(res), Via: g.via(res), ErrID: g.id(), T: g.chance(0.2)}
	switch x := g.n(10); {
	case x == 0:
		m.Err = EMust
	case x == 1:
		m.Err = EWrap
		g.tag("wrapped error")
	default:
		m.Err = ECheck
		g.tag("error tuple")
	}
	if m.Err != EMust {
		m.Fail = g.fail(true)
	}
	k := g.declare(v)
	return append([]Stmt{m}, g.first(v)...), k
}

func (g *generator) doMake() []Stmt {
	res := g.res()
	switch g.n(14) {
	case 0: // the error is ignored: the buffer may not be there
		if res == RMat {
			return nil
		}
		g.tag("ignored error")
		v := g.fresh(KBuf, res)
		v.MaySkip = true
		m := &Make{Dst: Of(v), Decl: true, N: g.site(res), Via: g.via(res), Err: EDiscard}
		g.declare(v)
		return append([]Stmt{m}, g.first(v)...)
	case 1: // used where the error is nil
		g.tag("inverted test")
		v := g.fresh(KBuf, res)
		v.Depth, v.Class = g.f.depth, g.f.lit
		m := &Make{Dst: Of(v), Decl: true, N: g.site(res), Via: g.via(res), Err: EInvert, ErrID: g.id()}
		if g.hoisted() {
			return nil
		}
		g.push()
		g.declare(v)
		m.Ok = append(g.first(v), g.block(nil)...)
		g.pop()
		if g.chance(0.3) {
			m.Fail = g.fail(true)
		}
		return []Stmt{m}
	case 2: // contents not specified
		v := g.fresh(KBuf, res)
		v.Undef = true
		m := &Make{Dst: Of(v), Decl: true, N: g.site(res), Via: g.via(res), Err: ECheck, Fail: g.fail(true), ErrID: g.id()}
		g.declare(v)
		return []Stmt{m}
	}
	list, _ := g.made(res)
	return list
}

// doRemake makes a buffer into a variable that held another.
func (g *generator) doRemake() []Stmt {
	k := g.pick(func(k *known) bool {
		return k.v.Kind == KBuf && !k.v.Fixed && !k.v.Param && solid(k.v) && k.v.Class == g.f.lit && g.f.lit == 0 && k.v != g.f.fn.Clean
	})
	if k == nil {
		return nil
	}
	g.tag("reassigned")
	m := &Make{Dst: Of(k.v), N: g.site(k.v.Res), Via: g.via(k.v.Res), Err: ECheck, ErrID: g.id()}
	m.Fail = g.ret(&Return{Fail: true})
	if g.chance(0.1) {
		m.Err, m.Fail = EMust, nil
	}
	if !g.of(k).pinned && g.f.depth == k.v.Depth {
		k.group = len(g.f.groups)
		g.f.groups = append(g.f.groups, group{up: k.group})
	}
	return append([]Stmt{m}, g.first(k.v)...)
}

// operand returns a path to one handle: a variable, a field or an element.
func (g *generator) operand(want func(*known) bool) (Path, *known) {
	k := g.pick(func(k *known) bool {
		return (handle(k.v) || k.v.Kind == KPair || k.v.Kind == KPairPtr || k.v.Kind == KArray) && want(k)
	})
	switch {
	case k == nil:
		return Path{}, nil
	case handle(k.v):
		return Of(k.v), k
	case k.v.Kind == KPair || k.v.Kind == KPairPtr:
		g.tag("struct field")
	}
	return At(k.v, g.n(2)), k
}

func (g *generator) doUse() []Stmt {
	k := g.pick(func(k *known) bool { return k.v.Kind != KFunc && k.v.Kind != KSlice && k.v.Kind != KMap })
	if k == nil {
		return nil
	}
	u := &Use{X: 1 + g.n(50), T: g.chance(0.15)}
	if u.T {
		g.tag("several streams")
	}
	var ops []Op
	p := Of(k.v)
	switch k.v.Kind {
	case KView:
		ops = []Op{OFill, OSum, OLen}
	case KRaw, KMethod, KFiller:
		ops = []Op{OFill}
	case KAny:
		ops = []Op{OFill, OSum, OPrint}
	case KPair, KPairPtr, KArray:
		p = At(k.v, g.n(2))
		ops = []Op{OFill, OSum, OLen, OLook}
	default:
		ops = []Op{OFill, OFill, OSum, OSum, OLen, OPrint, OKeep, OLook}
		if k.v.Res == RBuffer {
			ops = append(ops, OSet, OExpr, OLaunch)
		}
		ops = append(ops, OMove)
	}
	if k.v.MaySkip || k.v.Undef {
		ops = []Op{OFill, OLen}
		if k.v.Kind == KRaw || k.v.Kind == KMethod || k.v.Kind == KFiller || k.v.Kind == KAny {
			ops = []Op{OFill}
		}
	}
	if k.v.MaySkip && !k.v.Undef && handle(k.v) {
		ops = append(ops, OSum)
	}
	u.Op = ops[g.n(len(ops))]
	u.Args = []Path{p}
	switch u.Op {
	case OMove:
		q, other := g.operand(func(o *known) bool { return solid(o.v) && o.v.Res == k.v.Res })
		if other == nil {
			return nil
		}
		u.Args = append(u.Args, q)
	case OLaunch:
		g.tag("queued function")
	case OKeep:
		g.tag("keepalive")
	case OLook:
		g.tag("constant argument")
	case OExpr:
		g.tag("method expression")
	}
	if g.chance(0.4) && u.Op != OSum && u.Op != OLen && u.Op != OPrint && u.Op != OKeep && u.Op != OLook && !k.v.MaySkip && k.v.Kind != KRaw {
		u.Err = ECheck
		if g.chance(0.7) {
			u.Fail = g.fail(true)
		}
	}
	return []Stmt{u}
}

// doAlias gives a buffer another name, of the same kind or another.
func (g *generator) doAlias() []Stmt {
	p, k := g.operand(func(k *known) bool { return !k.v.MaySkip && k.v.Class == g.f.lit })
	if k == nil {
		return nil
	}
	kinds := []Kind{KBuf, KAny}
	if k.v.Res == RBuffer {
		kinds = []Kind{KBuf, KBuf, KView, KView, KView, KRaw, KMethod, KFiller, KAny, KEmbed, KPtr}
	}
	kind := kinds[g.n(len(kinds))]
	a := &Assign{Decl: true}
	if g.f.fn.Generic && (kind == KEmbed || kind == KFiller) {
		return nil
	}
	switch kind {
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
	v.Undef, v.Fixed = k.v.Undef, kind == KPtr
	a.Dst, a.Src = []Path{Of(v)}, []Path{p}
	n := g.declare(v)
	g.merge(n, k)
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
	b := g.pick(func(k *known) bool {
		return k != a && k.v.Res == a.v.Res && (g.owned(k) || k.v.Param && k.v.Kind == KBuf && g.chance(0.1))
	})
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

// pairOf makes a pair of two buffers.
func (g *generator) pairOf(res Res) ([]Stmt, *known) {
	g.tag("struct")
	if g.chance(0.4) || res == RMat {
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
	if g.chance(0.5) {
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
	return list
}

// sliceOf builds a slice of fresh buffers.
func (g *generator) sliceOf(res Res) ([]Stmt, *known) {
	g.tag("slice")
	v := g.fresh(KSlice, res)
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
	list, _ := g.sliceOf(g.res())
	return list
}

// doContainer reads a container.
func (g *generator) doContainer() []Stmt {
	k := g.pick(func(k *known) bool { return k.v.Kind == KSlice || k.v.Kind == KMap || k.v.Kind == KArray })
	if k == nil {
		return nil
	}
	if k.v.Kind == KSlice && g.movable(k) && !k.v.Param && g.chance(0.25) {
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
	get := &Get{Dst: v, V: k.v, Key: g.n(2)}
	if k.v.Kind == KSlice && !k.v.Param && !k.v.Fixed && k.v.Class == g.f.lit && g.f.lit == 0 && g.chance(0.3) {
		g.tag("re-slice")
		get.Pop, get.Key = true, 0
	}
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
	return append(append(list, l...), &Put{V: v, Key: len(c.Src), Src: Of(b.v)})
}

// cond returns a condition.
func (g *generator) cond() *Cond {
	switch g.n(8) {
	case 0:
		if k := g.pick(func(k *known) bool { return (k.v.Kind == KBuf || k.v.Kind == KEmbed) && solid(k.v) }); k != nil {
			g.tag("use in condition")
			if k.v.Kind == KBuf && g.chance(0.3) {
				return &Cond{Op: CLen, Path: Of(k.v)}
			}
			return &Cond{Op: CPos, Path: Of(k.v)}
		}
	case 1:
		g.tag("short circuit")
		return &Cond{Op: []CondOp{CAnd, COr}[g.n(2)], X: g.cond(), Y: g.cond()}
	case 2:
		return &Cond{Op: CNot, X: g.cond()}
	case 3:
		if n := len(g.f.flags); n > 0 && g.f.nest == 0 {
			g.tag("correlated")
			return &Cond{Op: CFlag, Var: g.f.flags[g.n(n)]}
		}
	}
	return &Cond{Op: CDraw}
}
