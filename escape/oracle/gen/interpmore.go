package gen

// What the statements of astmore.go do in the interpreter.

// keep notes that somebody has the objects for as long as the program runs.
func keep(list []*object) {
	for _, o := range list {
		if o != nil {
			o.kept = true
		}
	}
}

// abandoned is what leaving f means for goroutines that it has not joined.
func (f *frame) abandoned() {
	for _, list := range f.groups {
		keep(list)
	}
}

func (m *machine) other(f *frame, s Stmt) sig {
	switch s := s.(type) {
	case *Group:
		f.regroup(s.V)
	case *Regroup:
		f.regroup(s.V)
	case *Spawn:
		x := f.objects(s.Arg)
		touch(x)
		if s.After {
			keep(x)
		}
		f.groups[s.V] = append(f.groups[s.V], x...)
	case *Wait:
		delete(f.groups, s.V)
	case *Wrap:
		x := &value{bufs: []*object{f.objects(s.Src)[0]}}
		if s.Common.V != nil {
			x.bufs = append(x.bufs, f.objects(s.Common)[0])
		}
		f.env[s.V] = x
	case *Hold:
		return m.list(f, s.Body)
	case *State:
		closed := f.value(s.V).closed
		switch s.V.loudly() {
		case LLock:
			m.out(1)
		case LClose, LTally:
			m.out(flag(closed))
		case LCache, LSem:
			m.out(flag(!closed))
		}
	case *Step:
		fail, pan := m.op()
		switch {
		case pan:
			return sig{kind: sPanic}
		case fail:
			return m.list(f, s.Fail)
		}
		o := m.newObject(s.N)
		fill(o, 0, 0, stepped)
		f.value(s.V).bufs[0] = o
	case *Mention:
	case *Temp:
		if s.Cond != nil {
			v, sg := m.cond(f, s.Cond)
			f.flags[s.Name] = v
			return sg
		}
		objs := f.objects(s.Path)
		touch(objs)
		fail, pan := m.op()
		if pan {
			return sig{kind: sPanic}
		}
		if f.temp == nil {
			f.temp = map[string]int64{}
		}
		f.temp[s.Name] = -1
		if !fail {
			f.temp[s.Name] = total(f.value(s.Path.V), objs)
		}
	default:
		panic("gen: unknown statement")
	}
	return next
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// regroup gives v no goroutines: those that it had run on.
func (f *frame) regroup(v *Var) {
	if f.groups == nil {
		f.groups = map[*Var][]*object{}
	}
	keep(f.groups[v])
	delete(f.groups, v)
}

// stepped is what the elements of a node's next buffer are.
const stepped = 7

// loudly is what the free of v does beside releasing.
func (v *Var) loudly() LoudKind { return LoudKind(v.Form) }

// loud does what the free of v does beside releasing.
func (m *machine) loud(f *frame, v *Var) {
	if v.Kind != KLoud {
		return
	}
	switch v.loudly() {
	case LPrint, LHook:
		m.out(int64(v.Loc))
	}
	f.value(v).closed = true
}

// textSum is the sum of the bytes of the objects.
func textSum(objs []*object) int64 {
	var n int64
	for _, o := range objs {
		if o == nil {
			continue
		}
		for _, x := range o.data {
			for u := uint64(x); u > 0; u >>= 8 {
				n += int64(u & 0xff)
			}
		}
	}
	return n
}
