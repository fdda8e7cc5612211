package gen

// Liveness across calls, literals and jumps.

func (l *Liveness) call(s *Call, out Set, c liveCtx) Set {
	in := out
	if s.Err == EInvert {
		in = l.block(s.Mid, l.block(s.Ok, out, c).or(l.block(s.Fail, out, c)), c)
	}
	if s.Dst != nil {
		in = in.without(Of(s.Dst))
	}
	fail := in
	if s.Err == ECheck || s.Err == EWrap || s.Err == EShadow {
		fail = l.block(s.Fail, in, c)
		if s.Dst != nil {
			fail = fail.without(Of(s.Dst))
		}
	}
	return in.or(fail).with(s.Args...)
}

// killed is what body assigns before anybody reads it, on all paths on which it
// returns: after a panic nobody after the call reads anything.
func (l *Liveness) killed(body []Stmt) Set {
	var all Set
	for i := range all {
		all[i] = ^uint64(0)
	}
	sub := newLiveness(l.flags, l.less)
	sub.lits = l.lits
	var in Set
	for !sub.done {
		sub.done = true
		in = sub.block(body, all, liveCtx{lit: &all})
	}
	return all.minus(in)
}

// assigned is what body may assign.
func assigned(body []Stmt) Set {
	var all Set
	Walk(body, func(s Stmt) bool {
		switch s := s.(type) {
		case *Make:
			all = all.with(s.Dst)
		case *Assign:
			all = all.with(s.Dst...)
		}
		return true
	})
	return all
}

func (l *Liveness) jump(s *Jump, c liveCtx) Set {
	if s.Kind == JGoto {
		return l.goes[s.Label]
	}
	for i := len(c.targets) - 1; i >= 0; i-- {
		t := c.targets[i]
		if s.Label != "" && t.label != s.Label {
			continue
		}
		if s.Kind == JBreak {
			return t.brk
		}
		if t.loop {
			return t.cnt
		}
	}
	panic("gen: jump without a target")
}
