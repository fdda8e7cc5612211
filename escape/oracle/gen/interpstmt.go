package gen

// What each statement does in the interpreter.

import "slices"

func (m *machine) stmt(f *frame, s Stmt) sig {
	if m.steps++; m.steps > stepLimit {
		panic(errTooLong)
	}
	f.during(m, s)
	switch s := s.(type) {
	case *Make:
		return m.make(f, s)
	case *Zero:
		f.env[s.V] = &value{bufs: []*object{nil, nil}[:s.V.Locs()]}
	case *Clear:
		f.value(s.Path.V).bufs[max(0, s.Path.Field)] = nil
	case *Resize:
		return m.resize(f, s)
	case *For:
		return m.header(f, s)
	case *Assign:
		m.assign(f, s)
	case *Compose:
		x := &value{}
		if s.V.Kind == KMap {
			x.bufs = make([]*object, 8)
		}
		for i, src := range s.Src {
			o := f.objects(src)
			if s.V.Kind == KMap {
				x.bufs[i] = o[0]
			} else {
				x.bufs = append(x.bufs, o[0])
			}
		}
		if (s.V.Kind == KArray || s.V.fields()) && len(x.bufs) < 2 {
			x.bufs = append(x.bufs, make([]*object, 2-len(x.bufs))...)
		}
		f.env[s.V] = x
	case *Append:
		x := f.value(s.V).clone()
		x.bufs = append(x.bufs, f.objects(s.Src)[0])
		f.set(s.V, x)
	case *Put:
		x := f.value(s.V).clone()
		x.bufs[s.Key] = f.objects(s.Src)[0]
		f.set(s.V, x)
	case *Get:
		x := f.value(s.V)
		if s.Key < len(x.bufs) && (s.V.Kind != KMap || x.bufs[s.Key] != nil) {
			f.env[s.Dst] = &value{bufs: []*object{x.bufs[s.Key]}, pins: slices.Clone(x.bufs)}
			switch {
			case s.Pop && s.Last:
				n := len(x.bufs) - 1
				f.env[s.Dst] = &value{bufs: []*object{x.bufs[n]}, pins: slices.Clone(x.bufs)}
				f.set(s.V, &value{bufs: slices.Clone(x.bufs[:n])})
			case s.Pop:
				f.set(s.V, &value{bufs: slices.Clone(x.bufs[1:])})
			}
			return m.list(f, s.Body)
		}
	case *Use:
		return m.use(f, s)
	case *If:
		ok, sg := m.cond(f, s.Cond)
		if sg.kind != sNext {
			return sg
		}
		if ok {
			return m.list(f, s.Then)
		}
		return m.list(f, s.Else)
	case *Flag:
		if s.Of.V != nil {
			f.flags[s.Name] = f.objects(s.Of)[0] != nil
		} else {
			f.flags[s.Name] = m.tape.Next(2) == 1
		}
	case *Loop:
		return m.loop(f, s)
	case *Each:
		for _, x := range m.items(f, s) {
			f.during(m, s)
			f.env[s.V] = x
			if sg, stop := through(m.list(f, s.Body), s.Label); stop {
				return sg
			}
		}
	case *Switch:
		return m.choose(f, s)
	case *Jump:
		return sig{[...]sigKind{JBreak: sBreak, JContinue: sContinue, JGoto: sGoto}[s.Kind], s.Label}
	case *Label:
	case *Return:
		return m.leave(f, s)
	case *Panic:
		if s.With.V != nil {
			keep(f.objects(s.With)) // whoever recovers it has it
		}
		m.abandon()
		return sig{kind: sPanic}
	case *Defer:
		objs := slices.Clone(f.objects(s.Path))
		cell := f.value(s.Path.V) // the variable: each iteration may have its own
		if s.Kind == DLook {
			f.look(s.Path)
			f.held = append(f.held, objs...)
		}
		f.defers = append(f.defers, func() sig {
			f.cur, f.low = Set{}, Set{}
			switch s.Kind {
			case DLook:
				m.sum(f, &value{bufs: objs}, Path{Field: -1}, true)
				f.held = f.held[:len(f.held)-len(objs)]
				return next
			case DLit:
				objs = cell.at(s.Path.Field)
				if f.fn.hoists(s.Path.V) {
					objs = f.objects(s.Path)
				}
			case DNil, DAll, DClose:
				objs = f.objects(s.Path)
			}
			if s.Kind == DGuard && f.done[s.name()] {
				return next
			}
			if s.Kind == DUse || s.Kind == DGuard {
				f.cur = f.cur.with(s.Path)
				f.low = f.cur
				f.look(s.Path)
				return m.sum(f, f.value(s.Path.V), s.Path, true)
			}
			for _, o := range objs {
				if s.Kind == DNil && o == nil {
					continue
				}
				m.release(o, s.Path, s.Mine)
			}
			return next
		})
	case *Done:
		if f.done == nil {
			f.done = map[string]bool{}
		}
		f.done[s.Of.name()] = true
	case *Free:
		if s.How == FTold {
			f.look(s.Path)
		}
		for _, o := range f.objects(s.Path) {
			m.release(o, s.Path, s.Mine)
		}
		m.loud(f, s.Path.V)
	case *FreeAll:
		for _, o := range f.value(s.V).bufs {
			m.free(o)
		}
	case *Join:
		x := f.look(s.Arg)
		fill(x[0], 0, 0, int64(s.X))
		return m.meanwhile(f, s, x)
	case *Closure:
		f.env[s.V] = &value{once: s.Wrap == WOnce}
		f.lits[s.V] = s
	case *CallVar:
		var lit *Closure
		for g := f; g != nil && lit == nil; g = g.parent {
			lit = g.lits[s.V]
		}
		// What the literal assigns is needed for sure neither before nor after, nor while it runs: it
		// may be dead on the way through the literal that is taken.
		at := m.a.with(f.index, f.flags).At[s]
		f.low = at.In.minus(at.In.minus(at.Out)).minus(assigned(lit.Body))
		v := f.value(s.V)
		if v.once && v.done {
			return next
		}
		v.done = true
		sub := &frame{index: f.index, env: map[*Var]*value{}, flags: f.flags, parent: f, lits: f.lits}
		m.stack = append(m.stack, sub)
		sg := m.list(sub, lit.Body)
		m.stack = m.stack[:len(m.stack)-1]
		if sg.kind == sPanic {
			return sg
		}
	case *Inline:
		calls := 1
		if s.Kind == ITimes {
			calls = m.tape.Next(s.N)
			f.during(m, s)
		}
		for range calls {
			n := len(f.defers)
			sg := m.list(f, s.Body)
			for i := len(f.defers) - 1; i >= n; i-- {
				f.defers[i]()
			}
			f.defers = f.defers[:n]
			if sg.kind == sPanic {
				return sg
			}
		}
	case *Call:
		return m.callStmt(f, s)
	case *Probe:
		f.cur = m.a.live[f.index].At[s].Out
		f.low = m.a.with(f.index, f.flags).At[s].Out
		m.event(EProbe, int64(s.ID))
	case *Escape:
		keep(f.objects(s.Path))
		if s.Kind == XQueue {
			fail, pan := m.op()
			if pan {
				return sig{kind: sPanic}
			}
			_ = fail
		}
	case *Block:
		return m.list(f, s.Body)
	case *Select:
		if m.tape.Next(2) == 1 {
			keep(f.objects(s.Path))
			sg, _ := through(m.list(f, s.Sent), "")
			return sg
		}
		sg, _ := through(m.list(f, s.Others), "")
		return sg
	case *Pass:
		f.env[s.Dst] = f.value(s.Src.V).clone()
	default:
		return m.other(f, s)
	}
	return next
}

func (m *machine) make(f *frame, s *Make) sig {
	none := s.Via == VMaybe && m.tape.Next(2) == 0
	fail, pan := false, false
	if !none {
		fail, pan = m.op()
	}
	if fail && s.Err == EMust {
		m.abandon()
		pan = true
	}
	if pan {
		return sig{kind: sPanic}
	}
	var o *object
	if !fail && !none {
		o = m.newObject(s.N)
	}
	if s.Via != VFound && !s.apart() {
		f.told(s, s.Err, s.Decl, fail)
	}
	if s.Dst.Field >= 0 {
		x := f.value(s.Dst.V)
		y := x.clone()
		y.bufs[s.Dst.Field] = o
		if s.Dst.V.Kind == KPairPtr {
			*x = *y
		} else {
			f.set(s.Dst.V, y)
		}
	} else if s.Decl {
		f.env[s.Dst.V] = &value{bufs: []*object{o}}
	} else {
		x := f.value(s.Dst.V)
		if s.Dst.V.Fixed && f.knows(s.Dst.V) {
			*x = value{bufs: []*object{o}}
		} else {
			f.set(s.Dst.V, &value{bufs: []*object{o}})
		}
	}
	switch {
	case fail:
		return m.list(f, s.Fail)
	case s.Err == EInvert:
		return m.list(f, s.Ok)
	}
	return next
}

func (m *machine) assign(f *frame, s *Assign) {
	var vals []*value
	for i, src := range s.Src {
		d := s.Dst[i]
		v := f.value(src.V)
		switch {
		case d.V.Kind == KPtr, d.V.Kind == KGetter, d.V.Kind == KPairPtr && src.V.Kind == KPair:
			vals = append(vals, v) // shares the variable
			continue
		case src.Field >= 0:
			v = &value{bufs: slices.Clone(f.objects(src)), pins: v.pins}
		default:
			v = v.clone()
		}
		if d.V.Kind == KView || d.V.Kind == KRaw {
			touch(v.bufs)
			v.lo += s.Lo
			v.hi += s.Hi
		}
		if d.V.Kind == KText && v.bufs[0] == nil {
			panic(errInvalid) // it asks for the memory
		}
		if d.V.Kind == KErr && src.V.Kind != KErr {
			touch(v.bufs) // fmt asks the new error for its text
		}
		vals = append(vals, v)
	}
	for i, d := range s.Dst {
		if d.Field >= 0 {
			y := f.value(d.V).clone()
			y.bufs[d.Field] = vals[i].bufs[0]
			if d.V.Kind == KPairPtr {
				*f.value(d.V) = *y
			} else {
				f.set(d.V, y)
			}
		} else if s.Store {
			*f.value(d.V) = *vals[i].clone()
		} else if s.Decl {
			f.env[d.V] = vals[i]
		} else {
			f.set(d.V, vals[i])
		}
	}
}

// temporary makes a buffer of n elements that has no name and prints its sum.
func (m *machine) temporary(f *frame, n int) sig {
	fail, pan := m.op()
	if fail {
		m.abandon()
	}
	if fail || pan {
		return sig{kind: sPanic}
	}
	o := m.newObject(n)
	fill(o, 0, 0, int64(n))
	f.temps = []*object{o}
	sg := m.sum(f, &value{bufs: f.temps}, Path{Field: -1}, false)
	f.temps = nil
	return sg
}

// resize gives a box a new buffer.
func (m *machine) resize(f *frame, s *Resize) sig {
	fail, pan := m.op()
	switch {
	case pan:
		return sig{kind: sPanic}
	case fail:
		return m.list(f, s.Fail)
	}
	o := m.newObject(s.N)
	fill(o, 0, 0, boxed)
	x := f.value(s.V)
	m.free(x.bufs[0])
	*x = value{bufs: []*object{o}}
	return next
}

// boxed is what the elements of a box are after it was resized.
const boxed = 6

func fill(o *object, lo, hi int, x int64) {
	if o == nil {
		return
	}
	for i := lo; i < len(o.data)-hi; i++ {
		o.data[i] = x
	}
}
