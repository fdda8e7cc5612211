package gen

// What the statements of astmore.go do in the interpreter.

// keep notes that somebody has the objects, who may read them at any time from here on.
func keep(list []*object) {
	touch(list)
	for _, o := range list {
		if o != nil {
			o.kept = true
		}
	}
}

// read notes that so many goroutines more may read the objects.
func read(list []*object, by int) {
	for _, o := range list {
		if o != nil {
			o.readers += by
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
		x := f.look(s.Arg)
		read(x, 1)
		if s.After { // the Wait does not wait for it
			keep(x)
			break
		}
		f.groups[s.V] = append(f.groups[s.V], x...)
	case *Wait:
		read(f.groups[s.V], -1)
		delete(f.groups, s.V)
	case *Wrap:
		x := &value{bufs: []*object{f.objects(s.Src)[0]}}
		if s.Common.V != nil {
			x.bufs = append(x.bufs, f.objects(s.Common)[0])
		}
		f.env[s.V] = x
	case *Hold:
		m.holds++
		sg := m.list(f, s.Body)
		m.holds--
		return sg
	case *State:
		closed := f.value(s.V).closed
		switch s.V.loudly() {
		case LLock:
			m.out(1)
		case LClose, LTally:
			m.out(int64(closed))
		case LCache, LSem:
			m.out(int64(1 - closed))
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
	case *Recur:
		return m.recur(f, s, m.tape.Next(s.N), &value{bufs: []*object{nil}})
	case *Deeper:
		return m.deeper(f, s)
	case *Mention:
	case *Temp:
		if s.Cond != nil {
			v, sg := m.cond(f, s.Cond)
			f.flags[s.Name] = v
			return sg
		}
		objs := f.look(s.Path)
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

// meanwhile runs what comes before the goroutine of s, which has x, is joined.
func (m *machine) meanwhile(f *frame, s *Join, x []*object) sig {
	if f.groups == nil {
		f.groups = map[*Var][]*object{}
	}
	of := &Var{}
	f.groups[of] = x
	read(x, 1)
	sg := m.list(f, s.Mid)
	if sg.kind == sNext {
		read(x, -1)
		delete(f.groups, of)
	}
	return sg
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
	x := f.value(v)
	switch v.loudly() {
	case LPrint, LHook:
		m.out(int64(v.Loc))
	case LLock:
		if m.holds > 0 {
			panic(errLoud)
		}
	case LClose, LSem:
		if x.closed > 0 {
			panic(errLoud)
		}
	}
	if v.loudly() != LCache || x.closed == 0 {
		x.closed++
	}
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
