package gen

// The actions of the generator, and those that make and use single buffers.

// action returns the statements of one random action; most need a variable of
// some kind in scope, and another is tried if there is none.
func (g *generator) action() []Stmt {
	for range 20 {
		x := g.n(weights)
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
	weights int
)

func init() {
	// Frequent in real programs first; what is rare there still occurs in a
	// program of a hundred, which a test checks.
	actions = []action{
		{400, (*generator).doUse},
		{180, (*generator).doMake},
		{100, (*generator).doIf},
		{90, (*generator).doCall},
		{80, (*generator).doAlias},
		{70, (*generator).doLoop},
		{60, (*generator).doContainer},
		{40, (*generator).doSwitch},
		{40, (*generator).doRemake},
		{40, (*generator).doClosure},
		{40, (*generator).doCallVar},
		{40, (*generator).doPhi},
		{30, (*generator).doSwap},
		{30, (*generator).doPair},
		{8, (*generator).doMaybe},
		{4, (*generator).doBlank},
		{8, (*generator).doTyped},
		{6, (*generator).doHalf},
		{6, (*generator).doShadow},
		{8, (*generator).doFreer},
		{6, (*generator).doGetter},
		{6, (*generator).doTwin},
		{14, (*generator).doTake},
		{40, (*generator).doField},
		{20, (*generator).doSlice},
		{30, (*generator).doJump},
		{30, (*generator).doFree},
		{38, (*generator).doDefer},
		{30, (*generator).doJoin},
		{30, (*generator).doInline},
		{30, (*generator).doEscape},
		{70, (*generator).doDispatch},
		{20, (*generator).doReturn},
		{20, (*generator).doCorrelated},
		{40, (*generator).doAgain},
		{10, (*generator).doPanic},
		{10, (*generator).doSelect},
		{6, (*generator).doArray},
		{13, (*generator).doDeferUse},
		{40, (*generator).doDeferGuard},
		{4, (*generator).doTemp},
		{4, (*generator).doExit},
		{3, (*generator).doPass},
		{2, (*generator).doMap},
		{1, (*generator).doKeys},
		{1, (*generator).doBox},
		{6, (*generator).doOver},
		{3, (*generator).doHeader},
		{10, (*generator).doLiteralRange},
		{14, (*generator).doDeferLook},
		{24, (*generator).doDeferAll},
		{3, (*generator).doCleanup},
		{30, (*generator).doSpawn},
		{14, (*generator).doLoud},
		{5, (*generator).doNode},
		{4, (*generator).doSelf},
		{6, (*generator).doText},
		{6, (*generator).doSnapshot},
		{10, (*generator).doMention},
		{5, (*generator).doPart},
		{1, (*generator).doRecur},
	}
	for _, a := range actions {
		weights += a.weight
	}
}

func (g *generator) res() Res {
	if !g.f.fn.Generic && g.chance(0.25) {
		g.tag("pointer resource")
		if g.p.Tex {
			g.tag("freed by a function")
		}
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
	case x == 2:
		m.Err = EShadow
		g.tag("shadowed error")
	default:
		m.Err = ECheck
		g.tag("error tuple")
	}
	if m.Err != EMust {
		m.Fail = g.fail(true)
	}
	g.found(m)
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
		g.tag("made in a header")
		g.found(m)
		loops := g.f.loops
		if m.Case = g.chance(0.4) && m.Via != VFound; m.Case {
			g.f.loops = append(loops[:len(loops):len(loops)], "")
		}
		g.push()
		g.declare(v)
		m.Ok = append(g.first(v), g.block(nil)...)
		g.pop()
		if g.chance(0.3) {
			m.Fail = g.fail(true)
		}
		g.f.loops = loops
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
		if g.f.lit > 0 && k.v.Class == 0 && g.f.fn.Hoist {
			return false
		}
		return k.v.Kind == KBuf && !k.v.Fixed && !k.v.Param && solid(k.v) && k.v.Class == 0 && k.v != g.f.fn.Clean
	})
	if k == nil {
		return nil
	}
	if g.f.lit > 0 {
		g.tag("cell")
		k.v.Cell = true
	}
	return g.remake(k)
}

func (g *generator) remake(k *known) []Stmt {
	g.tag("reassigned")
	m := &Make{Dst: Of(k.v), N: g.site(k.v.Res), Via: g.via(k.v.Res), Err: ECheck, ErrID: g.id()}
	m.Fail = g.ret(&Return{Fail: true})
	if g.chance(0.1) || k.v.Class != g.f.lit { // a literal that returns would leave it without a buffer
		m.Err, m.Fail = EMust, nil
	}
	if !g.of(k).pinned && g.f.depth == k.v.Depth && g.f.lit == 0 {
		k.group = len(g.f.groups)
		g.f.groups = append(g.f.groups, group{up: k.group})
	}
	g.found(m)
	return append([]Stmt{m}, g.first(k.v)...)
}

// operand returns a path to one handle: a variable, a field or an element.
func (g *generator) operand(want func(*known) bool) (Path, *known) {
	k := g.pick(func(k *known) bool {
		return (handle(k.v) || k.v.fields() || k.v.Kind == KArray) && want(k)
	})
	switch {
	case k == nil:
		return Path{}, nil
	case handle(k.v):
		return Of(k.v), k
	case k.v.fields():
		g.tag("struct field")
	}
	return At(k.v, g.n(2)), k
}

func (g *generator) doUse() []Stmt {
	k := g.pick(func(k *known) bool {
		switch k.v.Kind {
		case KFunc, KSlice, KMap, KKeys, KSeq, KStack, KFreer:
			return false
		}
		return true
	})
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
	case KText:
		ops = []Op{OSum}
	case KAny, KErr:
		ops = []Op{OFill, OSum, OPrint}
	case KPair, KPairPtr, KArray, KTwo:
		p = At(k.v, g.n(2))
		ops = []Op{OFill, OSum, OLen, OLook}
	default:
		ops = []Op{OFill, OFill, OSum, OSum, OLen, OPrint, OKeep, OLook}
		if k.v.Res == RBuffer {
			ops = append(ops, OSet, OExpr, OLaunch)
		}
		ops = append(ops, OMove)
		if k.v.Kind == KGetter {
			ops = []Op{OTwice, OSum, OFill}
		}
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
	case OTwice:
		g.tag("getter handed on")
	case OExpr:
		g.tag("method expression")
	}
	if g.chance(0.4) && u.Op != OSum && u.Op != OLen && u.Op != OPrint && u.Op != OKeep && u.Op != OLook && u.Op != OTwice && !k.v.MaySkip && k.v.Kind != KRaw {
		u.Err = ECheck
		if g.chance(0.7) {
			u.Fail = g.fail(true)
		}
	}
	return []Stmt{u}
}

// cond returns a condition.
func (g *generator) cond() *Cond {
	switch g.n(9) {
	case 8:
		if !g.f.fn.Generic && g.chance(0.15) {
			g.tag("temporary in a header")
			res := Res(g.n(2))
			return &Cond{Op: CTemp, N: g.site(res), Res: res}
		}
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
