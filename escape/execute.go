package escape

// Sanity: what one instruction does to the things of a path.

import (
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// touch uses the things that v leads to.
func (s *sanity) touch(at, v *value, w *walk) {
	for _, t := range w.reach(w.vals[v]) {
		if w.things[t].inserted {
			s.fail(at, "used after a planned free")
		}
	}
}

// all adds to ts what collections among them hold.
func (w *walk) all(ts []int) []int {
	for i := 0; i < len(ts); i++ {
		if w.things[ts[i]].box {
			ts = union(ts, w.things[ts[i]].inside)
		}
	}
	return ts
}

// reach adds what they look into as well.
func (w *walk) reach(ts []int) []int {
	for i := 0; i < len(ts); i++ {
		ts = union(ts, w.things[ts[i]].inside)
		ts = union(ts, w.things[ts[i]].sees)
	}
	return ts
}

func isChan(t types.Type) bool {
	_, ok := t.Underlying().(*types.Chan)
	return ok
}

// newBox makes a collection that holds ts and what collections among them hold.
func (w *walk) newBox(v *value, ts []int) []int {
	var inside []int
	for _, t := range w.all(ts) {
		if !w.things[t].box {
			inside = append(inside, t)
		}
	}
	return []int{w.add(thing{box: true, site: v, inside: inside})}
}

func (s *sanity) gone(at, v *value, w *walk) {
	for _, t := range w.reach(w.vals[v]) {
		if w.things[t].deferred {
			s.fail(at, "leaves although a planned deferred call frees it")
		}
		if !w.things[t].gone {
			x := w.change(t)
			x.gone, x.goneAt = true, at
		}
	}
}

func union(a, b []int) []int {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(slices.Clip(a), x)
		}
	}
	return a
}

func (s *sanity) exec(v *value, w *walk) {
	// A value that is computed anew is not what was learned of it before.
	switch {
	case v.op == opPhi:
	case v.op == opResult: // the call says so much of it
		c := v.args[0].call
		if c == nil || v != c.okRes {
			w.hold(v, unknown)
		}
		if c == nil || v != c.errRes {
			w.know(v, unknown)
		}
	default:
		w.hold(v, unknown)
		w.know(v, unknown)
	}
	switch v.op {
	case opPhi, opResult:
	case opCopy, opAddr, opPack, opClosure, opBound:
		var all []int
		for _, a := range v.args {
			all = union(all, w.vals[a])
		}
		if v.op == opBound && !s.p.borrows(v.fn) {
			for _, t := range all {
				w.change(t).bound = true
			}
		}
		switch {
		case v.op == opPack && (v.note.Kind == report.Made || v.note.Kind == report.Literal) &&
			(elemType(v.typ) != nil || isChan(v.typ)):
			all = w.newBox(v, all)
		case s.sites[v] && (v.op != opPack || elemType(v.typ) == nil):
			all = []int{w.add(thing{site: v})}
		}
		w.leadsTo(v, all)
	case opOut:
		w.leadsTo(v, nil)
		if e := v.args[0].call.errRes; e != nil && s.nonNil(w, e) == yes {
			break // made only without an error
		}
		if c := v.args[0].call; len(v.args) > 1 && v.args[1].index < len(c.sum.Res) && c.sum.Res[v.args[1].index].Flagged && s.isTrue(w, c.okRes) == no {
			break
		}
		if s.sites[v] {
			w.leadsTo(v, []int{w.add(thing{site: v})})
		}
	case opPart:
		ts := w.reach(w.vals[v.args[0]])
		s.touch(v, v.args[0], w)
		w.leadsTo(v, ts)
	case opPure, opAppend:
		var all []int
		for _, a := range v.args {
			if v.op != opAppend { // which copies handles and reads no buffer
				s.touch(v, a, w)
			}
			all = union(all, w.vals[a])
		}
		if v.op == opAppend {
			all = w.newBox(v, all)
		}
		w.leadsTo(v, all)
	case opSet:
		w.put(v.place, w.vals[v.args[0]])
		if v.place.root.exposed != "" {
			s.gone(v, v.args[0], w)
		}
	case opCall, opDefer, opGo:
		s.call(v, w, unknown)
	case opStore, opSend, opPanic:
		if (v.op == opStore || v.op == opSend) && len(v.args) == 2 {
			// Into a collection that we know: it is inside now.
			if bs := w.vals[v.args[1]]; len(bs) == 1 && w.things[bs[0]].box && !w.things[bs[0]].gone {
				in := w.change(bs[0])
				in.inside = union(in.inside, w.vals[v.args[0]])
				return
			}
		}
		for _, a := range v.args {
			s.touch(v, a, w)
		}
		s.gone(v, v.args[0], w)
	case opReturn:
		for _, a := range v.args {
			for _, t := range w.reach(w.vals[a]) {
				if w.things[t].deferred {
					s.fail(v, "returned although a planned deferred call frees it")
				}
			}
			s.touch(v, a, w)
			s.gone(v, a, w)
		}
	case opLoopFree:
		if d := s.f.flow.marks[v]; d != nil {
			for _, i := range w.all(w.vals[v.args[0]]) {
				x := w.change(i)
				if x.inserted && !d.repeat {
					s.fail(v, "the program frees it after a planned free")
				}
				x.freed = d.kind == evFree
				x.gone = x.gone || d.kind != evFree
			}
		}
	case opUse, opHold, opElem, opRecv:
		if v.op == opRecv { // a handle is copied
			w.leadsTo(v, w.all(w.vals[v.args[0]]))
			return
		}
		for i, want := range v.wants {
			if t := s.isTrue(w, v.args[len(v.args)-len(v.wants)+i]); t == ofBool(!want) {
				return
			}
		}
		for _, a := range v.args {
			s.touch(v, a, w)
		}
	case opGap:
		for _, p := range s.frees[v] {
			s.free(v, p, w)
		}
	}
}

// free executes one planned statement.
func (s *sanity) free(at *value, p planned, w *walk) {
	if p.keep || p.save {
		return
	}
	ts := w.places[p.place]
	if p.place == nil {
		ts = w.vals[p.obj.def] // its name is made by a hoist
	}
	if p.obj.coll {
		ts = w.all(ts)
	} else if len(ts) > 1 {
		s.fail(at, "%s may be one of several buffers", p.name)
		return
	}
	for _, t := range ts {
		x := w.change(t)
		if x.box {
			continue
		}
		switch {
		case x.inserted, x.deferred:
			s.fail(at, "%s would be freed twice", p.name)
		case x.freed && !p.repeatable:
			s.fail(at, "%s would be freed again", p.name)
		case x.gone && !(p.repeatable && x.freed):
			where := "an unknown place"
			if x.goneAt != nil {
				where = s.p.line(x.goneAt.pos)
			}
			s.fail(at, "%s would be freed after it left at %s", p.name, where)
		}
		if p.deferred {
			x.deferred = true
			continue
		}
		x.inserted = true
	}
}

// call executes a call; failed says whether it returns an error, or false where
// that says the same.
func (s *sanity) call(v *value, w *walk, failed tri) {
	ci := v.call
	if s.removed[v] || weakPointer(v) {
		return
	}
	if v.op == opGo || ci.goes {
		for _, a := range v.args {
			s.touch(v, a, w)
			s.gone(v, a, w)
		}
		return
	}
	deferred := v.op == opDefer || ci.deferred
	for j, a := range v.args {
		if e := ci.sum.arg(ci.params[j]); ci.params[j] == -2 || e.Freed.K != Always || !e.Repeatable || !ci.sum.Decided {
			s.touch(v, a, w) // freeing again is no use
		}
	}
	for j, a := range v.args {
		if ci.params[j] == -2 {
			looks := !slices.ContainsFunc(v.args, func(x *value) bool { return x != a && s.p.takesBuffers(x.typ0()) })
			for _, t := range w.reach(w.vals[a]) {
				looks = looks && !w.things[t].bound
			}
			if !looks {
				s.gone(v, a, w)
			}
			continue
		}
		if s.f.flow.elems[copied(a)] {
			continue // told where the loop ends
		}
		e := ci.sum.arg(ci.params[j])
		applies := func(c When) tri {
			switch c.K {
			case Never:
				return no
			case Always:
				return yes
			case OnSuccess:
				return failed.not()
			case OnError:
				return failed
			case IfTrue, IfFalse:
				if x := condArg(v, c); x != nil {
					t := s.isTrue(w, x)
					if c.K == IfFalse {
						t = t.not()
					}
					return t
				}
			}
			return unknown
		}
		if t := applies(e.Freed); t != no {
			for _, i := range w.all(w.vals[a]) {
				x := w.change(i)
				if (x.inserted || x.deferred) && !e.Repeatable {
					s.fail(v, "the program frees it after a planned free")
				}
				if t == yes && !deferred && (len(w.vals[a]) == 1 || elemType(a.typ) != nil) {
					x.freed = true
				} else {
					x.gone, x.goneAt = true, v
					x.freed = e.Repeatable
				}
			}
		}
		if applies(e.Escapes) != no || e.Retained {
			s.gone(v, a, w)
		}
	}
	for i, r := range ci.results {
		w.leadsTo(r, nil)
		if r == ci.errRes {
			w.know(r, failed)
			continue
		}
		if r == ci.okRes {
			w.hold(r, failed.not())
			continue
		}
		if i >= len(ci.sum.Res) {
			continue
		}
		re := ci.sum.Res[i]
		if re.Owned && len(re.Fields) == 0 && (failed != yes || re.Partial || ci.okRes != nil && !re.Flagged) {
			w.leadsTo(r, []int{w.add(thing{site: r})})
		}
	}
	for i, r := range ci.results {
		if i >= len(ci.sum.Res) {
			continue
		}
		re := ci.sum.Res[i]
		for j, a := range v.args {
			switch {
			case ci.params[j] == -2 && re.Owned && len(re.Fields) == 0: // it is known what the function makes, which may look at it
				if len(w.vals[r]) > 0 {
					own := w.change(w.vals[r][0])
					own.sees = union(own.sees, w.vals[a])
				}
			case ci.params[j] == -2 && !s.p.plain(r.typ0()) && !isError(r.typ0()): // a function that looks at it may return it
				w.leadsTo(r, union(w.vals[r], w.vals[a]))
			case v.operandIs(j, re.Is):
				w.leadsTo(r, union(w.vals[r], w.vals[a]))
			case v.operandIs(j, re.Views) && re.Owned && len(re.Fields) == 0:
				if len(w.vals[r]) == 0 {
					continue // the call failed: there is no view either
				}
				own := w.change(w.vals[r][0])
				own.sees = union(own.sees, w.vals[a])
			case v.operandIs(j, re.Views):
				w.leadsTo(r, union(w.vals[r], w.vals[a]))
			}
		}
		for k, q := range ci.results {
			if k < 64 && re.Of>>k&1 == 1 {
				w.leadsTo(r, union(w.vals[r], w.vals[q]))
			}
		}
	}
}

// end checks what a path leaves behind.
func (s *sanity) end(b *block, w *walk) {
	for _, t := range w.things {
		if !t.box && !t.deferred && s.sites[t.site] && !t.inserted && !t.freed && !t.gone {
			var at *value
			if len(b.instrs) > 0 {
				at = b.instrs[len(b.instrs)-1]
			}
			s.fail(at, "a path to the end does not free what is made at %s", s.p.line(t.site.pos))
		}
	}
}
