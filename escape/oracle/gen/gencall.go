package gen

// Actions that call, hand on or share buffers.

func (g *generator) doJoin() []Stmt {
	if g.hoisted() || g.f.fn.Generic {
		return nil
	}
	k := g.pick(func(k *known) bool { return k.v.Kind == KBuf && solid(k.v) && k.v.Class == g.f.lit })
	if k == nil {
		return nil
	}
	g.tag("joined goroutine")
	s := &Join{Kind: JoinKind(g.n(3)), Arg: Of(k.v), X: 1 + g.n(30), ID: g.id()}
	if s.Kind == JErr {
		g.tag("errgroup")
	}
	if g.chance(0.5) {
		s.Mid = append(s.Mid, g.probe())
	}
	group := g.find(k.group)
	if o := g.pick(func(o *known) bool {
		return handle(o.v) && solid(o.v) && g.find(o.group) != group && !(g.of(o).param && g.of(k).param)
	}); o != nil {
		s.Mid = append(s.Mid, &Use{Op: OLen, Args: []Path{Of(o.v)}}, g.probe())
	}
	return []Stmt{s}
}

// literal generates the body of a function literal.
func (g *generator) literal(loop bool) []Stmt {
	f := g.f
	loops, depth, lit, nest := f.loops, f.depth, f.lit, f.nest
	f.lits++
	f.loops, f.lit = nil, f.lits
	f.nest++
	if loop {
		f.depth++
	}
	budget := f.budget
	f.budget = min(budget, 2+g.n(4))
	spent := f.budget
	body := g.block(nil)
	f.budget += budget - spent
	f.loops, f.depth, f.lit, f.nest = loops, depth, lit, nest
	return body
}

func (g *generator) doClosure() []Stmt {
	if g.f.lit > 0 || g.f.nest > 2 {
		return nil
	}
	g.tag("closure")
	v := g.fresh(KFunc, RBuffer)
	body := g.literal(true)
	k := g.declare(v)
	// The closure is dead when what it captures is.
	Walk(body, func(s Stmt) bool {
		for _, p := range Reads(s) {
			if o := g.lookup(p.V); o != nil {
				g.merge(k, o)
				p.V.Fixed = true
			}
		}
		return true
	})
	g.of(k).pinned = true
	lit := &Closure{V: v, Body: body}
	if g.chance(0.08) {
		g.tag("result leads to a literal")
		lit.Wrap = WrapKind(1 + g.n(3))
	}
	list := []Stmt{lit}
	for range g.n(3) {
		list = append(list, &CallVar{V: v})
		if g.chance(0.5) {
			list = append(list, g.probe())
		}
	}
	return list
}

// lookup returns what is known of v, nil if it is not in scope.
func (g *generator) lookup(v *Var) *known {
	for _, s := range g.f.scopes {
		for _, k := range s {
			if k.v == v {
				return k
			}
		}
	}
	return nil
}

func (g *generator) doCallVar() []Stmt {
	k := g.pick(func(k *known) bool { return k.v.Kind == KFunc && g.f.lit == 0 })
	if k == nil {
		return nil
	}
	s := &CallVar{V: k.v}
	if g.chance(0.3) {
		g.tag("closure lent")
		s.Kind = CLend
	}
	return []Stmt{s}
}

func (g *generator) doInline() []Stmt {
	if g.f.lit > 0 || g.f.nest > 2 {
		return nil
	}
	s := &Inline{Kind: InlineKind(g.n(2)), N: 4}
	if s.Kind == ILend && g.f.lits%2 == 1 {
		s.Kind = ITimes
	}
	g.tag([...]string{"literal called", "literal lent", "literal called in turn"}[s.Kind])
	s.Body = g.literal(s.Kind != INow)
	return []Stmt{s}
}

// doCall calls another function of the program.
func (g *generator) doCall() []Stmt {
	self := g.f.fn
	recurse := self.Index > 0 && g.f.again && !self.Recover && self.Result <= RErr
	for _, m := range g.modes[self.Index] {
		recurse = recurse && m == borrows
	}
	i := self.Index
	if below := len(g.p.Funcs) - self.Index - 1; !recurse && below == 0 {
		return nil
	} else if !recurse {
		i += 1 + g.n(below)
	}
	fn := g.p.Funcs[i]
	if self.Generic && !fn.Generic || self.Help && !fn.Help {
		return nil
	}
	s := &Call{Fn: i, ErrID: g.id()}
	var moved, args []*known
	for j, p := range fn.Params {
		m := g.modes[i][j]
		q, k := g.operand(func(k *known) bool {
			if k.v.Res != p.Res || !solid(k.v) {
				return false
			}
			if m != borrows {
				return k.v.Kind == KBuf && g.movable(k) && !k.v.Param && !moving(g, moved, k)
			}
			return p.Kind == KBuf && !moving(g, moved, k)
		})
		if p.Kind != KBuf {
			k = g.pick(func(k *known) bool {
				return k.v.Kind == p.Kind && k.v.Res == p.Res && solid(k.v) && !moving(g, moved, k)
			})
			if k != nil {
				q = Of(k.v)
			}
		}
		if k == nil {
			return nil
		}
		if m != borrows {
			for _, a := range args {
				if g.find(a.group) == g.find(k.group) {
					return nil
				}
			}
			moved = append(moved, k)
		}
		args = append(args, k)
		s.Args = append(s.Args, q)
	}
	for _, k := range moved {
		g.of(k).gone = true
	}
	g.tag("call")
	if fn.Result == RErr && g.chance(0.7) {
		s.Err = ECheck
		if g.chance(0.8) {
			s.Fail = g.fail(true)
		}
	}
	kinds := map[ResultKind]Kind{RBuf: KBuf, RPair: KPair, RSlice: KSlice, RPairPtr: KPairPtr, RStack: KStack, RHeld: KErr, RTwo: KTwo, RAny: KAny}
	if kind, ok := kinds[fn.Result]; ok {
		if g.chance(0.04) {
			g.tag("result dropped")
			return []Stmt{s}
		}
		if fn.Result != RHeld && g.chance(0.04) {
			g.tag("assigned to blank")
			s.Dst, s.Err, s.Fail = g.newVar(blank, kind, fn.Res), ECheck, g.fail(true)
			return []Stmt{s}
		}
		s.Decl = true
		if fn.Result == RBuf && g.chance(0.1) || fn.Beside && g.chance(0.4) {
			return g.unasked(s, fn)
		}
		if fn.Result != RHeld && g.chance(0.06) && !fn.Twin && !fn.Half && !g.alias[i] && !g.hoisted() && !g.deep() {
			return g.later(s, fn, kind)
		}
		if fn.Result != RHeld {
			s.Err = ECheck
			if x := g.n(10); x < 2 && !g.hoisted() {
				s.Err = []OnErr{EWrap, EShadow}[x]
				g.tag([]string{"wrapped error", "shadowed error"}[x])
			}
			s.Fail = g.fail(true)
		}
		s.Dst = g.fresh(kind, fn.Res)
		s.Dst.Fixed = kind == KPairPtr
		if g.alias[i] {
			s.Dst.Param = true
		} else {
			args = nil
		}
		if fn.Half {
			return append([]Stmt{s}, g.half(s.Dst)...)
		}
		if fn.May {
			return append([]Stmt{s}, g.tested(s.Dst, true, args...)...)
		}
		k := g.declare(s.Dst)
		if fn.Twin {
			g.twin(k)
		}
		for _, a := range args {
			g.merge(k, a)
		}
	}
	if recurse {
		g.tag("recursion")
		return []Stmt{&If{Cond: &Cond{Op: CMore}, Then: []Stmt{s}}}
	}
	return []Stmt{s}
}

func moving(g *generator, moved []*known, k *known) bool {
	for _, m := range moved {
		if g.find(m.group) == g.find(k.group) {
			return true
		}
	}
	return false
}

// doDispatch calls one of two functions through a value or an interface.
func (g *generator) doDispatch() []Stmt {
	if g.hoisted() {
		return nil
	}
	var list []int
	for i := g.f.fn.Index + 1; i < len(g.p.Funcs); i++ {
		f := g.p.Funcs[i]
		if f.Result == RErr && len(f.Params) == 1 && f.Params[0].Kind == KBuf && f.Params[0].Res == RBuffer &&
			!f.Generic && !g.f.fn.Generic && !g.f.fn.Help {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return nil
	}
	i, j := list[g.n(len(list))], list[g.n(len(list))]
	if g.modes[i][0] != borrows || g.modes[j][0] != borrows {
		return nil
	}
	p, k := g.operand(func(k *known) bool { return k.v.Res == RBuffer && solid(k.v) })
	if k == nil {
		return nil
	}
	s := &Call{Fn: i, Other: j, Args: []Path{p}, Via: VValue, ErrID: g.id()}
	if g.chance(0.5) && !g.p.Funcs[i].Help && !g.p.Funcs[j].Help {
		s.Via = VIface
		g.tag("interface method")
	} else {
		g.tag("function value")
	}
	if g.chance(0.5) {
		s.Err, s.Fail = ECheck, g.fail(true)
	}
	return []Stmt{s}
}

func (g *generator) doEscape() []Stmt {
	k := g.pick(func(k *known) bool {
		return (k.v.Kind == KBuf || k.v.Kind == KFreer || k.v.Kind == KGetter) && g.movable(k) && !k.v.Param && solid(k.v)
	})
	if k == nil {
		return nil
	}
	kind := EscapeKind(g.n(7))
	switch k.v.Kind {
	case KFreer:
		g.tag("free handed on")
		kind = []EscapeKind{XKeep, XSend, XField, XCleanup}[g.n(4)]
	case KGetter:
		g.tag("getter handed on")
		kind = XGot
	}
	if kind == XQueue && k.v.Res == RMat {
		kind = XKeep
	}
	if kind == XCleanup && g.f.fn.Generic {
		kind = XSend
	}
	if k.v.Kind == KBuf && !g.f.fn.Generic && !g.f.fn.Help && g.chance(0.2) {
		kind = []EscapeKind{XList, XTold}[g.n(2)]
	}
	if kind != XKeep && kind != XGot || g.chance(0.5) {
		g.of(k).gone = true
	} else {
		g.of(k).pinned = true
	}
	g.tag("escape")
	g.tag([...]string{"kept in a global", "sent to others", "stored in a parameter", "goroutine", "sync.Pool", "test cleanup", "captured by a queued function", "kept in a global",
		"kept by the standard library", "kept by a method that fmt calls"}[kind])
	return []Stmt{&Escape{Kind: kind, Path: Of(k.v)}}
}

func (g *generator) doSelect() []Stmt {
	k := g.pick(func(k *known) bool { return k.v.Kind == KBuf && g.movable(k) && !k.v.Param && solid(k.v) })
	if k == nil || g.deep() || g.f.fn.Generic {
		return nil
	}
	g.tag("select send")
	g.f.loops = append(g.f.loops, "")
	s := &Select{Path: Of(k.v)}
	if g.chance(0.5) {
		s.Others = []Stmt{&Use{Op: OSum, Args: []Path{Of(k.v)}}}
	}
	g.of(k).gone = true
	s.Sent = g.block(nil)
	s.Others = append(s.Others, g.block(nil)...)
	g.f.loops = g.f.loops[:len(g.f.loops)-1]
	return []Stmt{s}
}

func (g *generator) doPass() []Stmt {
	k := g.pick(func(k *known) bool { return k.v.Kind == KBuf && g.movable(k) && !k.v.Param && solid(k.v) })
	if k == nil || g.hoisted() {
		return nil
	}
	g.tag("local channel")
	v := g.fresh(KBuf, k.v.Res)
	g.of(k).gone = true
	n := g.declare(v)
	n.v = v
	return []Stmt{&Pass{Src: Of(k.v), Dst: v}}
}

func (g *generator) doTemp() []Stmt {
	if g.f.fn.Generic {
		return nil
	}
	g.tag("temporary")
	if g.chance(0.4) {
		return []Stmt{&Use{Op: OChain, N: g.site(RMat)}}
	}
	return []Stmt{&Use{Op: OTemp, N: g.site(RBuffer)}}
}

// doAgain jumps back.
func (g *generator) doAgain() []Stmt {
	if !g.f.fn.Hoist || !g.top() || g.f.flags != nil {
		return nil
	}
	g.tag("backward goto")
	l := g.label()
	list := []Stmt{&Label{Name: l}}
	add, _ := g.made(g.res())
	list = append(list, add...)
	if x := g.doUse(); x != nil {
		list = append(list, x...)
	}
	return append(list, &If{Cond: &Cond{Op: CMore}, Then: []Stmt{g.probe(), &Jump{JGoto, l}}})
}

// later calls fn and tests the error only after something else.
func (g *generator) later(s *Call, fn *Func, kind Kind) []Stmt {
	g.tag("error tested later")
	s.Dst, s.Err = g.fresh(kind, fn.Res), EInvert
	s.Dst.Fixed = kind == KPairPtr
	s.Mid = append(g.doUse(), g.probe())
	g.push()
	if fn.May {
		s.Ok = g.tested(s.Dst, true)
	} else {
		g.declare(s.Dst)
	}
	if n := len(s.Ok); n == 0 || !leaves(s.Ok[n-1]) {
		s.Ok = append(s.Ok, g.block(nil)...)
	}
	g.pop()
	if g.chance(0.4) {
		s.Fail = g.fail(true)
	}
	return []Stmt{s}
}
