package gen

// Control flow in the interpreter.

import "slices"

func (m *machine) list(f *frame, list []Stmt) sig {
	for i := 0; i < len(list); i++ {
		s := m.stmt(f, list[i])
		if s.kind == sGoto {
			if j := slices.IndexFunc(list, func(t Stmt) bool {
				l, ok := t.(*Label)
				return ok && l.Name == s.label
			}); j >= 0 {
				i = j
				continue
			}
		}
		if s.kind != sNext {
			return s
		}
	}
	return next
}

// through lets a loop or switch take its own break and continue; stop says the
// construct is left.
func through(s sig, label string) (_ sig, stop bool) {
	mine := s.label == "" || s.label == label
	switch {
	case s.kind == sNext, s.kind == sContinue && mine:
		return next, false
	case s.kind == sBreak && mine:
		return next, true
	}
	return s, true
}

func (m *machine) cond(f *frame, c *Cond) (bool, sig) {
	switch c.Op {
	case CDraw:
		return m.tape.Next(2) == 1, next
	case CMore:
		return m.tape.More(), next
	case CFlag:
		return f.flags[c.Var], next
	case CNever:
		return false, next
	case CSet:
		return c.N == 1 || f.objects(c.Path)[0] != nil, next
	case CNil:
		o := f.objects(c.Path)
		if c.Path.V.Res == RBuffer {
			touch(o)
		}
		return o[0] != nil, next
	case CTemp:
		n := len(m.trace.Events)
		if s := m.temporary(f, c.N); s.kind != sNext {
			return false, s
		}
		sum := m.trace.Events[n].Value
		m.trace.Events = m.trace.Events[:n]
		return sum > 0, next
	case CPos:
		objs := f.look(c.Path)
		fail, pan := m.op()
		if pan {
			return false, sig{kind: sPanic}
		}
		return !fail && total(f.value(c.Path.V), objs) > 0, next
	case CLen:
		objs := f.look(c.Path)
		return length(objs[0])%2 == 0, next
	case CNot:
		x, s := m.cond(f, c.X)
		return !x, s
	}
	x, s := m.cond(f, c.X)
	if s.kind != sNext || c.Op == CAnd && !x || c.Op == COr && x {
		return x, s
	}
	return m.cond(f, c.Y)
}

func (m *machine) loop(f *frame, s *Loop) sig {
	n := 0
	if s.Kind != LWhile && s.Kind != LEver {
		n = m.tape.Next(s.N)
	}
	for i := 0; ; i++ {
		f.during(m, s)
		switch s.Kind {
		case LWhile:
			ok, sg := m.cond(f, s.Cond)
			if sg.kind != sNext {
				return sg
			}
			if !ok {
				return next
			}
		case LEver:
		default:
			if i >= n {
				return next
			}
		}
		if sg, stop := through(m.list(f, s.Body), s.Label); stop {
			return sg
		}
		if m.steps++; m.steps > stepLimit {
			panic(errTooLong)
		}
	}
}

// items returns what s ranges over, one value for each iteration.
func (m *machine) items(f *frame, s *Each) []*value {
	var list []*value
	if s.Seq != QNone { // each half of the buffer
		if s.Lit != nil {
			f.env[s.X] = f.value(s.Lit[0].V).clone()
		}
		touch(f.value(s.X).bufs)
		for i, o := range f.value(s.X).bufs {
			if n := length(o); i == 0 && o != nil {
				list = append(list, &value{bufs: []*object{o}, hi: n - n/2}, &value{bufs: []*object{o}, lo: n / 2})
			}
		}
		return list
	}
	if s.Lit != nil {
		x := &value{}
		for _, p := range s.Lit {
			x.bufs = append(x.bufs, f.objects(p)[0])
		}
		f.env[s.X] = x
	}
	all := slices.Clone(f.value(s.X).bufs)
	for _, o := range all {
		list = append(list, &value{bufs: []*object{o}, pins: all})
	}
	return list
}

// header runs a loop that makes a buffer in its header.
func (m *machine) header(f *frame, s *For) sig {
	if sg := m.stmt(f, s.Make); sg.kind != sNext {
		return sg
	}
	for {
		f.during(m, s)
		if !m.tape.More() {
			return next
		}
		if sg, stop := through(m.list(f, s.Body), s.Label); stop {
			return sg
		}
		if sg := m.stmt(f, s.Post); sg.kind != sNext {
			return sg
		}
	}
}

func (m *machine) choose(f *frame, s *Switch) sig {
	at := -1
	switch s.Kind {
	case SDraw:
		n := len(s.Cases)
		if d := m.tape.Next(n + 1); d < n {
			at = d
		}
		if s.Default && (at < 0 || at == n-1) {
			at = n - 1
		}
	case SLen:
		objs := f.objects(s.Subject)
		touch(objs)
		if length(objs[0])%2 == 0 {
			at = 0
		} else if s.Default {
			at = len(s.Cases) - 1
		}
	case STyped:
		f.env[s.V] = f.value(s.Subject.V).clone()
		at = 0
	case SBool:
		for i := range s.Cases {
			if s.Default && i == len(s.Cases)-1 || m.tape.Next(2) == 1 {
				at = i
				break
			}
		}
	case SSelect:
		at = len(s.Cases) - 1
		if m.tape.Next(2) == 1 {
			at = 0
		}
	}
	if at < 0 {
		return next
	}
	for {
		sg := m.list(f, s.Cases[at])
		if sg.kind == sNext && at < len(s.Fall) && s.Fall[at] {
			at++
			continue
		}
		if sg.kind == sBreak && (sg.label == "" || sg.label == s.Label) {
			return next
		}
		return sg
	}
}

func (m *machine) leave(f *frame, s *Return) sig {
	m.ret, m.retInt, m.retErr = nil, 0, s.Fail
	if s.Path.V != nil {
		if f.fn != nil && f.fn.Result == RHeld && !s.Fail && s.Path.V.Kind != KErr {
			touch(f.objects(s.Path)) // fmt asks the new error for its text
		}
		if s.Temp != "" {
			m.retInt = f.temp[s.Temp]
			return sig{kind: sReturn}
		}
		if s.Sum {
			objs := f.look(s.Path)
			fail, pan := m.op()
			if pan {
				return sig{kind: sPanic}
			}
			m.retInt = -1
			if !fail {
				m.retInt = total(f.value(s.Path.V), objs)
			}
		} else if !s.Fail || f.fn != nil && f.fn.beside() {
			v := f.value(s.Path.V)
			if s.Path.Field >= 0 {
				v = &value{bufs: slices.Clone(f.objects(s.Path))}
			} else if s.Path.V.Kind != KPairPtr {
				v = v.clone()
			}
			if f.fn != nil && f.fn.Result == RTwo && len(v.bufs) == 1 {
				v = &value{bufs: []*object{v.bufs[0], v.bufs[0]}}
			}
			m.ret = v
		}
	}
	return sig{kind: sReturn}
}

func (m *machine) callStmt(f *frame, s *Call) sig {
	fn := s.Fn
	if s.Via != VDirect && m.tape.Next(2) == 1 {
		fn = s.Other
	}
	var args []*value
	for _, a := range s.Args {
		v := f.value(a.V)
		touch(f.objects(a))
		switch {
		case a.Field >= 0:
			v = &value{bufs: slices.Clone(f.objects(a)), pins: v.pins}
		case a.V.Kind != KPairPtr:
			v = v.clone()
		}
		args = append(args, v)
	}
	m.lend(fn, args, 1)
	sg := m.call(fn, args)
	m.lend(fn, args, -1)
	ret, n, fail := m.ret, m.retInt, m.retErr
	if sg.kind == sPanic {
		return sg
	}
	callee := m.p.Funcs[fn]
	if callee.Result == RInt {
		m.out(n)
		return next
	}
	if s.Dst != nil {
		if ret == nil {
			ret = &value{bufs: []*object{nil, nil}[:min(2, max(1, s.Dst.Locs()))]}
			if s.Dst.Kind == KSlice || s.Dst.Kind == KStack {
				ret.bufs = nil
			}
		}
		if s.Decl {
			f.env[s.Dst] = ret
		} else {
			f.set(s.Dst, ret)
		}
	}
	if s.Err != EInvert {
		f.told(s, s.Err, s.Decl, fail)
	} else {
		if sg := m.list(f, s.Mid); sg.kind != sNext {
			return sg
		}
		if !fail {
			return m.list(f, s.Ok)
		}
	}
	if fail {
		return m.list(f, s.Fail)
	}
	return next
}
