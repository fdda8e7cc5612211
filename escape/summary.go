package escape

// From the states at a function's exits to its summary.

import (
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// infer returns the summary of f as its body shows it.
func (p *pkg) infer(f *fn, w *flow) *Summary {
	s := blank(f.sig)
	if f.declined != "" {
		u := worst(f.sig, "not decided: "+f.declined)
		return u
	}
	s.NoReturn = len(f.exits) == 0 || !slices.ContainsFunc(f.exits, func(r *value) bool { return r.blk != nil && r.blk.order >= 0 })
	s.NoReturn = s.NoReturn && !f.panics() // a panic may be recovered further out: what follows counts
	for _, o := range w.objs {
		if o.kind == objParam {
			s.Args[o.def.index] = p.inferArg(w, o, s)
		}
	}
	if e, ok := p.freeing[f.obj]; ok && f.obj != nil && len(s.Args) > 0 {
		s.Args[0] = e
	} else if f.obj != nil {
		for _, v := range f.params {
			e := &s.Args[v.index]
			e.Resets = true
			for _, u := range w.fieldUses(v) {
				if u.frees && u.exit&^(fFreed|fNil) == 0 {
					e.Fields = append(e.Fields, u.field.Name())
					e.Resets = e.Resets && u.exit == fNil
					e.Insists = e.Insists || u.insist
				}
			}
			e.Resets = e.Resets && len(e.Fields) > 0
		}
	}
	for _, v := range f.params {
		f.numbers(v, s)
	}
	p.inferResults(f, w, s)
	s.Puts = f.puts(w, s)
	p.afterRecover(f, w, s)
	s.Recovers = p.recovers(f.body) || f.callsRecovering()
	p.inferCalling(f, s)
	if f.sig.Recv() != nil { // whether it frees may be for a spec to say
		s.Disarms = p.bodyDisarms(f.body)
	}
	return s
}

// inferArg decides what the function does with the parameter o.
func (p *pkg) inferArg(w *flow, o *object, s *Summary) ArgEffect {
	var e ArgEffect
	g := o.group
	o.eachEvent(func(ev event) {
		if ev.kind == evMove && e.Via == "" {
			e.Via = ev.why
		}
		if ev.kind == evFree || ev.kind == evDefer {
			if ev.m == mMaybe && e.Via == "" {
				e.Via = "a part of what it holds is freed there"
			}
			e.Repeatable = ev.repeat
		}
		if ev.kind == evReturn {
			bit := uint64(1) << o.def.index
			if o.def.index >= 64 {
				e.Escapes = When{K: Always}
				return
			}
			r, told := &s.Res[ev.res], o.told[ev.at.args[ev.res]]
			if p.plain(w.f.sig.Results().At(ev.res).Type()) && !told {
				return // a number says something about it, it does not lead there
			}
			r.Tells = r.Tells || told
			switch ev.m {
			case mView, mHolder:
				r.Views |= bit
			default:
				r.Is |= bit
			}
		}
		if ev.kind == evRetain {
			e.Retained = true
		}
	})
	for _, m := range o.order {
		for _, u := range m.users {
			if u.op == opStore && len(u.args) > 1 && u.args[1] == m &&
				(p.holdsResource(u.args[0].typ0()) || o.members[m] == mWhole && u.note.Kind == report.InPointee) {
				e.Writes = e.Writes || !(p.collects(m.typ0()) && w.handedOver(u))
			}
		}
	}
	if n, _ := p.structOf(o.def.typ0()); e.Writes && p.held[n].closed(p) {
		e.Writes = false
	}
	if isPointer(o.def.typ0()) {
		e.NilOK = p.toleratesNil(w.f, o.def)
	}
	e.Looks = p.onlyLooks(w.f, o.def)
	if g.why != "" {
		if e.Via == "" {
			e.Via = g.why
		}
		e.Escapes = When{K: Always}
		return e
	}
	pl := g.dry()
	if pl == nil {
		e.Escapes = When{K: Always}
		e.Via = "not decided"
		return e
	}
	j := g.index(o)
	var freed, gone outcome
	for _, x := range pl.exits {
		for c := range g.n {
			st := x.st[j*g.n+c]
			if st == 0 {
				continue
			}
			class := g.errorOf(x.ret, c)
			f := st&(sFreed|sDeferred) != 0
			nf := st&^(sFreed|sDeferred|sNone) != 0
			f = f || st&sPerhaps != 0
			m := st&sMoved != 0
			nm := st&^(sMoved|sNone) != 0
			freed.add(class, c, f, nf)
			gone.add(class, c, m, nm)
		}
	}
	e.Freed = freed.when(g, w.f, s)
	e.Escapes = gone.when(g, w.f, s)
	if e.Freed.K == Maybe && e.Escapes.K == Never {
		e.Via = "which frees it on some paths"
	}
	if e.Escapes.K == Maybe {
		e.Escapes = When{K: Always}
	}
	if e.Freed.K == Never {
		e.Repeatable = false
	}
	return e
}

// handedOver reports whether what the store st puts into a collection is made here and
// goes nowhere else: the collection owns it, as it owned what was there. Nil will do.
func (w *flow) handedOver(st *value) bool {
	v := origin(st.args[0])
	o := w.byDef[v]
	return v.op == opNil || o != nil && o.kind == objSite && o.onlyInto(st)
}

// outcome gathers on which exits something happened.
type outcome struct {
	yes, no        [3]bool // by the error result: unknown, nil, not nil
	comboY, comboN map[int]bool
}

func (o *outcome) add(err tri, c int, y, n bool) {
	if o.comboY == nil {
		o.comboY, o.comboN = map[int]bool{}, map[int]bool{}
	}
	o.yes[err] = o.yes[err] || y
	o.no[err] = o.no[err] || n
	if y {
		o.comboY[c] = true
	}
	if n {
		o.comboN[c] = true
	}
}

func (o *outcome) when(g *group, f *fn, s *Summary) When {
	anyY := o.yes[0] || o.yes[1] || o.yes[2]
	anyN := o.no[0] || o.no[1] || o.no[2]
	switch {
	case !anyY:
		return When{}
	case !anyN:
		return When{K: Always}
	}
	if !o.yes[unknown] && !o.no[unknown] {
		if o.yes[no] && !o.no[no] && !o.yes[yes] {
			return When{K: OnSuccess}
		}
		if o.yes[yes] && !o.no[yes] && !o.yes[no] {
			return When{K: OnError}
		}
	}
	for i, b := range g.bits {
		if b.nonnil || b.v.op != opParam || b.v.index > 100 {
			continue
		}
		onlyT, onlyF := true, true
		for c := range o.comboY {
			if o.comboN[c] {
				onlyT, onlyF = false, false
			}
			if c>>i&1 == 1 {
				onlyF = false
			} else {
				onlyT = false
			}
		}
		for c := range o.comboN {
			if c>>i&1 == 1 {
				onlyT = false
			} else {
				onlyF = false
			}
		}
		if onlyT {
			return When{K: IfTrue, Arg: int8(b.v.index)}
		}
		if onlyF {
			return When{K: IfFalse, Arg: int8(b.v.index)}
		}
	}
	return When{K: Maybe}
}

func (o *object) eachEvent(do func(event)) {
	for _, evs := range sortedEvents(o) {
		for _, e := range evs {
			do(e)
		}
	}
}

// dry runs the group without planning; nil if it cannot be decided.
func (g *group) dry() *planner {
	if g.live == nil {
		g.liveness()
	}
	pl := g.newPlanner(true)
	if why := pl.run(); why != "" {
		return nil
	}
	return pl
}

// panics reports whether f ends in an explicit panic on some path.
func (f *fn) panics() bool {
	for _, b := range f.rpo {
		if n := len(b.instrs); n > 0 && b.instrs[n-1].op == opPanic {
			return true
		}
	}
	return false
}

// forOthers returns s as it is told to other packages: the places that its texts name are this one's.
func (p *pkg) forOthers(s *Summary) *Summary {
	if s == nil {
		return nil
	}
	c := *s
	c.Args = slices.Clone(s.Args)
	for i := range c.Args {
		c.Args[i].Via, _ = report.Words(c.Args[i].Via, p.line)
	}
	return &c
}
