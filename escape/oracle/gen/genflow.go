package gen

// Actions that branch, loop, leave and free.

func (g *generator) deep() bool { return g.f.nest >= 4 || g.f.lit > 0 && g.f.nest >= 2 }

func (g *generator) doIf() []Stmt {
	if g.deep() {
		return nil
	}
	s := &If{Cond: g.cond()}
	if s.Cond.Op == CLen {
		s.Init = g.n(2)
	}
	g.tag("branch")
	s.Then = g.block(nil)
	if g.chance(0.4) {
		s.Else = g.block(nil)
	}
	return []Stmt{s}
}

func (g *generator) doLoop() []Stmt {
	if g.deep() {
		return nil
	}
	s := &Loop{Kind: []LoopKind{LCount, LCount, LClause, LWhile, LEver, LFunc}[g.n(6)], N: 2 + g.n(3), Label: g.label()}
	switch s.Kind {
	case LWhile:
		s.Cond = &Cond{Op: CMore}
		if g.chance(0.3) {
			s.Cond = &Cond{Op: CAnd, X: g.cond(), Y: s.Cond}
			if g.chance(0.5) {
				s.Cond.X, s.Cond.Y = s.Cond.Y, s.Cond.X
			}
		}
		g.tag("loop condition")
	case LFunc:
		g.tag("range over func")
	case LEver:
		g.tag("endless loop")
	}
	g.tag("loop")
	g.enter(s.Label)
	s.Body = g.block(nil)
	if s.Kind == LEver {
		stop := &If{Cond: &Cond{Op: CNot, X: &Cond{Op: CMore}}, Then: []Stmt{&Jump{Kind: JBreak}}}
		at := 0
		if len(s.Body) > 0 && !leaves(s.Body[len(s.Body)-1]) && g.chance(0.6) {
			at = g.n(len(s.Body) + 1)
		}
		s.Body = append(s.Body[:at:at], append([]Stmt{stop}, s.Body[at:]...)...)
	}
	g.leave()
	return []Stmt{s}
}

func (g *generator) doSwitch() []Stmt {
	if g.deep() {
		return nil
	}
	s := &Switch{Kind: []SwitchKind{SDraw, SDraw, SLen, STyped, STyped, SBool, SSelect}[g.n(7)], Default: g.chance(0.6), Label: g.label()}
	n := 1 + g.n(3)
	switch s.Kind {
	case SLen:
		k := g.pick(func(k *known) bool { return k.v.Kind == KBuf && solid(k.v) })
		if k == nil {
			return nil
		}
		s.Subject = Of(k.v)
		s.Default = true
		n = 2
	case STyped:
		k := g.pick(func(k *known) bool { return k.v.Kind == KAny && !k.v.MaySkip })
		var before []Stmt
		if k == nil {
			if k = g.pick(g.owned); k == nil {
				return nil
			}
			v := g.fresh(KAny, k.v.Res)
			before = []Stmt{&Assign{Decl: true, Dst: []Path{Of(v)}, Src: []Path{Of(k.v)}}}
			n := g.declare(v)
			g.merge(n, k)
			k = n
		}
		g.tag("type switch")
		s.Subject = Of(k.v)
		s.Default, n = g.chance(0.5), 1
		s.V = g.fresh(KBuf, k.v.Res)
		s.V.Param, s.V.Undef = true, k.v.Undef
		g.f.loops = append(g.f.loops, "")
		g.push()
		g.merge(g.declare(s.V), k)
		s.Cases = append(s.Cases, g.block(func() []Stmt {
			return []Stmt{&Use{Op: OFill, Args: []Path{Of(s.V)}, X: g.n(9)}}
		}))
		g.pop()
		if s.Default {
			s.Cases = append(s.Cases, g.block(nil))
		}
		g.f.loops = g.f.loops[:len(g.f.loops)-1]
		return append(before, s)
	case SSelect:
		s.Default, n = true, 2
		s.Label = ""
		g.tag("select")
	}
	g.tag("switch")
	g.f.loops = append(g.f.loops, "")
	for i := range n {
		body := g.block(nil)
		fall := i+1 < n && (s.Kind == SDraw || s.Kind == SBool) && g.chance(0.2)
		if m := len(body); m > 0 && leaves(body[m-1]) {
			fall = false
		}
		if fall {
			g.tag("fallthrough")
		}
		s.Cases = append(s.Cases, body)
		s.Fall = append(s.Fall, fall)
	}
	g.f.loops = g.f.loops[:len(g.f.loops)-1]
	return []Stmt{s}
}

func (g *generator) doJump() []Stmt {
	j := g.jump()
	if j == nil {
		return nil
	}
	s := &If{Cond: g.cond()}
	g.push()
	g.f.nest++
	if k := g.pick(func(k *known) bool { return handle(k.v) && solid(k.v) }); k != nil && g.chance(0.4) {
		s.Then = append(s.Then, &Use{Op: OSum, Args: []Path{Of(k.v)}})
	}
	g.f.nest--
	g.pop()
	s.Then = append(s.Then, j)
	return []Stmt{s}
}

func (g *generator) doReturn() []Stmt {
	if g.f.nest == 0 {
		return nil
	}
	g.tag("early return")
	if g.f.lit > 0 || g.f.fn.Result == RNone {
		return g.ret(&Return{})
	}
	if g.f.fn.Named {
		if g.chance(0.5) && !g.f.partial {
			return g.ret(&Return{Path: Of(g.f.fn.Clean)})
		}
		return g.ret(&Return{Fail: true})
	}
	if g.chance(0.15) && g.f.fn.Result == RBuf && !g.f.fn.Rescue {
		if list := g.beside(); list != nil {
			return list
		}
	}
	if g.chance(0.1) && g.f.fn.Result == RBuf && g.empty() {
		return g.ret(&Return{})
	}
	if g.chance(0.5) {
		return g.ending()
	}
	return g.ret(&Return{Fail: true})
}

func (g *generator) doPanic() []Stmt {
	if g.f.nest == 0 || g.f.lit > 0 { // a literal that always panics ends its caller too
		return nil
	}
	g.tag("explicit panic")
	return []Stmt{&Panic{X: g.n(9)}}
}

func (g *generator) doExit() []Stmt {
	g.tag("exit")
	return []Stmt{&If{Cond: &Cond{Op: CNever}, Then: []Stmt{&Panic{Exit: true}}}}
}

// doFree frees a buffer that the rest of the program does not use.
func (g *generator) doFree() []Stmt {
	k := g.pick(func(k *known) bool {
		switch k.v.Kind {
		case KBuf, KEmbed, KBox, KFreer, KGetter, KAny:
		case KPair:
			if !g.p.Closes {
				return false
			}
		default:
			return false
		}
		return g.movable(k) && !k.v.Param && (solid(k.v) || k.v.Res == RBuffer) && (k.v.Kind != KBuf || g.chance(0.5))
	})
	if k == nil {
		return nil
	}
	g.tag("user free")
	switch k.v.Kind {
	case KEmbed:
		g.tag("promoted free")
	case KPair, KBox:
		g.tag("struct destructor")
	}
	f := &Free{Path: Of(k.v), How: g.how(k.v)}
	if k.v.Kind == KBuf && g.chance(0.15) && !k.v.MaySkip {
		g.tag("constant argument")
		f.How = FTold
	}
	g.of(k).gone = true
	return []Stmt{f}
}
