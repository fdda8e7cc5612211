package gen

// What operations on buffers do in the interpreter.

func (m *machine) use(f *frame, s *Use) sig {
	if s.Op == OTemp || s.Op == OChain {
		return m.temporary(f, s.N)
	}
	p := s.Args[0]
	v := f.value(p.V)
	objs := f.objects(p)
	for _, a := range s.Args {
		if s.Op == OPrint || s.Op == OKeep {
			touch(f.objects(a))
		} else {
			f.look(a)
		}
	}
	if p.V.Kind == KErr && objs[0] == nil {
		return next // no error
	}
	switch s.Op {
	case OSum:
		if p.V.Kind == KText {
			m.out(textSum(objs))
			return next
		}
		return m.sum(f, v, p, false)
	case OLen:
		if objs[0] == nil {
			m.out(0)
		} else {
			m.out(int64(len(objs[0].data) - v.lo - v.hi))
		}
		return next
	case OPrint, OKeep, OLook:
		return next
	case OTwice:
		m.sum(f, v, p, true)
		return m.sum(f, v, p, true)
	}
	fail := false
	if !s.Init {
		var pan bool
		if fail, pan = m.op(); pan {
			return sig{kind: sPanic}
		}
	}
	if fail {
		if s.Err == ECheck {
			return m.list(f, s.Fail)
		}
		return next
	}
	switch s.Op {
	case OFill, OSet, OExpr:
		for i, o := range objs {
			if p.V.Kind == KRaw && o != nil {
				o.data[v.lo] = int64(s.X)
				continue
			}
			if i == 0 || p.Field < 0 && p.V.Kind != KPair && p.V.Kind != KPairPtr {
				fill(o, v.lo, v.hi, int64(s.X))
			}
		}
	case OLaunch:
		if o := objs[0]; o != nil {
			for i := v.lo; i < len(o.data)-v.hi; i++ {
				o.data[i] += int64(s.X)
			}
		}
	case OMove:
		src := f.objects(s.Args[1])
		if objs[0] != nil && src[0] != nil {
			copy(objs[0].data, src[0].data)
		}
	}
	return next
}

// sum prints the sum of what v holds; quiet sums are no operation.
func (m *machine) sum(f *frame, v *value, p Path, quiet bool) sig {
	objs := v.bufs
	if p.V != nil {
		objs = f.objects(p)
	}
	touch(objs)
	if !quiet {
		fail, pan := m.op()
		if pan {
			return sig{kind: sPanic}
		}
		if fail {
			m.out(-1)
			return next
		}
	}
	m.out(total(v, objs))
	return next
}

func length(o *object) int {
	if o == nil {
		return 0
	}
	return len(o.data)
}

func total(v *value, objs []*object) int64 {
	var n int64
	for _, o := range objs {
		if o == nil {
			continue
		}
		for _, x := range o.data[v.lo : len(o.data)-v.hi] {
			n += x
		}
	}
	return n
}
