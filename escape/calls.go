package escape

// What calls do to the members of an object.

import (
	"go/types"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// useCall follows member m into call u.
func (w *flow) useCall(o *object, m *value, k memberKind, u *value) {
	ci := u.call
	if ci.goes || u.op == opGo {
		o.move(u, k, byGoroutine)
		return
	}
	for j, a := range u.args {
		if a != m {
			continue
		}
		pi := ci.params[j]
		if pi == -2 {
			switch {
			case k == mHolder || k == mMaybe:
				o.move(u, k, "captured by a function literal that is not followed")
			case slices.ContainsFunc(u.args, func(a *value) bool { return w.p.takesBuffers(a.typ0()) && a != m }):
				o.move(u, k, "handed to a function by "+ci.name)
			default:
				o.use(u)
			}
			tells := w.p.returnsAddress(a)
			for _, r := range ci.results { // it may return us
				if (!w.p.plain(r.typ0()) || tells && !w.p.isNumber(r.typ0())) && !isError(r.typ0()) {
					w.member(o, r, mMaybe, m)
				}
				if tells && !w.p.isNumber(r.typ0()) {
					w.tell(o, r)
				}
			}
			continue
		}
		if weakPointer(u) {
			o.use(u) // a weak pointer is no owner and keeps nothing
			continue
		}
		if (w.arms(u) || disarms(u)) && (k == mWhole || j > 0 && k == mView) {
			o.use(u) // the clean-up of what it is, or of a part of it
			continue
		}
		e := ci.sum.arg(pi)
		if isFunc(a.typ0()) && (k == mHolder || k == mMaybe) && e.borrow() {
			o.move(u, k, "in a function value that "+ci.name+" may call")
			continue
		}
		if o.told[m] && (e.Keeps || encodes(u.fn)) || isFunc(a.typ0()) && e.Keeps && w.p.returnsAddress(a) {
			o.move(u, k, "an address, passed to "+ci.name+" as a number")
		}
		k := k
		if e.Freed.K != Never && w.gathers(o, a) {
			k = mWhole
		}
		kk := k
		deferred := u.op == opDefer || ci.deferred
		switch {
		case e.Freed.K != Never:
			when := w.settle(e.Freed, u)
			if when.K == Never {
				o.use(u)
				break
			}
			if k == mMaybe || k == mHolder && (w.isLoose(a) || !o.inside(origin(a))) {
				when = When{K: Maybe}
			}
			if o.lentSince(u) {
				when = When{K: Maybe}
				if kk == mWhole && !e.Repeatable {
					kk = mMaybe // perhaps it is freed once, as it should be
					for x := u.blk.lent; x != nil && x != o.def.blk.lent; x = x.up {
						o.move(x.after, mMaybe, byLent)
					}
				}
			}
			ev := event{kind: evFree, when: when, call: u, m: kk, repeat: e.Repeatable, pure: ci.sum.Decided && w.byFreer(o, event{at: u})}
			if deferred {
				ev.kind = evDefer
			}
			if own := w.byDef[origin(a)]; k == mView && (own != nil && own != o || o.inField(m) || !types.Identical(deref(a.typ0()), deref(o.def.typ0()))) {
				// Something else that looks into our memory.
				o.apart = o.apart || o.coll && k == mView
				if own != nil {
					w.look(o, own)
					why := ""
					if types.Identical(deref(a.typ0()), deref(o.def.typ0())) {
						// Headers of one kind share what they show by reference counts:
						// which of them goes first is their own affair.
						why = byHeader
					}
					o.event(u, event{kind: evUse, why: why})
					if o.coll && !e.Repeatable && w.isGiven(o, own) {
						// One of ours, if it is in us by then: the rest is not
						// freed element by element any more.
						ev.when, ev.m, ev.own = When{K: Maybe}, mMaybe, own
						o.event(u, ev)
					}
				} else if !ci.sum.Decided && contains(a.typ0(), o.def.typ0()) {
					// It may have been put into a field there, which is freed with it.
					o.event(u, event{kind: evMove, when: when, call: u, m: kk, why: "passed to " + ci.name + ", which may free it", callee: ci.name})
				} else if own == nil && isField(m) && types.Identical(deref(a.typ0()), deref(o.def.typ0())) {
					// Read from what holds ours, or from ours, as the next of a ring: it may be ours.
					ev.when, ev.m = When{K: Maybe}, mMaybe
					o.event(u, ev)
				} else {
					o.event(u, event{kind: evUse, why: "free"})
					if own == nil && !o.inField(m) {
						// What is left to free, only the author knows.
						o.event(u, event{kind: evMove, when: when, call: u, m: kk, why: byView, callee: ci.name})
					}
				}
				break
			}
			if k == mView && o.coll {
				o.complex = "freed through a view at " + report.At(u.pos)
			}
			o.event(u, ev)
		case e.Retained && a.op == opAddr && k == mWhole:
			o.use(u)
			o.event(u, event{kind: evMove, when: When{K: Always}, call: u, m: kk, why: "overwritten by " + ci.name, callee: ci.name})
		case e.Retained:
			o.use(u)
			o.event(u, event{kind: evRetain, call: u, m: kk})
		default:
			ev := event{kind: evUse}
			if e.Looks && k != mHolder {
				ev.why = byLook
			}
			o.event(u, ev)
		}
		if e.Escapes.K != Never {
			when := w.settle(e.Escapes, u)
			if when.K != Never {
				why := "passed to " + ci.name
				if e.Via != "" && !strings.HasPrefix(e.Via, ci.name) {
					why += ": " + e.Via
				} else {
					why += ", which may keep it"
				}
				o.event(u, event{kind: evMove, when: when, call: u, m: kk, why: why, callee: ci.name})
			}
		}
		if len(e.Fields) > 0 && e.Freed.K == Never && k != mView {
			o.event(u, event{kind: evFree, when: When{K: Maybe}, call: u, m: mMaybe, why: "a part"})
		}
		if e.Writes && (k != mWhole || a.op == opAddr || o.holder || o.coll) && !ci.sum.Unknown {
			o.move(u, k, "passed to "+ci.name+", which may change what holds it")
		}
		ai := pi
		if ci.sum.Recv {
			ai++
		}
		for i, r := range ci.results {
			if i >= len(ci.sum.Res) || ai < 0 || ai >= 64 {
				continue
			}
			re := ci.sum.Res[i]
			if re.Shows>>ai&1 == 1 && (o.told[m] || isFunc(a.typ0()) && w.p.returnsAddress(a)) {
				w.member(o, r, mView, m)
				w.tell(o, r)
			}
			if (re.Is|re.Views)>>ai&1 == 1 && isFunc(a.typ0()) && !isFunc(r.typ0()) {
				w.member(o, r, mMaybe, m) // what a function that looks at us returned
			} else if re.Is>>ai&1 == 1 {
				kind := k
				if k == mWhole && !re.Must {
					kind = mMaybe
				}
				w.member(o, r, kind, m)
			} else if re.Views>>ai&1 == 1 {
				if k == mHolder && !re.Owned { // what looks into a holder may be what it holds
					w.member(o, r, mMaybe, m)
				} else {
					w.member(o, r, mView, m)
				}
			}
		}
	}
}

// gathers reports whether v puts all fields of o together again, a struct that a variable
// holds which is followed field by field.
func (w *flow) gathers(o *object, v *value) bool {
	if v.op != opPack || v.note.Kind != report.Struct || !types.Identical(v.typ0(), o.def.typ0()) ||
		len(v.place.path) > 0 {
		return false
	}
	leaves := v.place.root.leaves
	return len(leaves) == len(v.args) && !slices.ContainsFunc(leaves, func(p *place) bool {
		part := v.args[slices.Index(leaves, p)].find()
		return part.op != opPart && part.op != opElem || !part.names(report.Part, p.name) || part.args[0].find() != o.def
	})
}

// contains reports whether a struct of type t, or what t points to, has a field of
// type want, a pointer to it or a collection of it.
func contains(t, want types.Type) bool {
	s, ok := deref(t).Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for i := range s.NumFields() {
		f, ft := s.Field(i), s.Field(i).Type()
		if e := elemType(ft); e != nil {
			ft = e
		}
		if types.Identical(deref(ft), deref(want)) || f.Embedded() && contains(ft, want) {
			return true
		}
	}
	return false
}

// inField reports whether view m of o was read from a field: even of o's own
// type, as the next of a list is, it is another buffer.
func (o *object) inField(m *value) bool {
	for ; m != nil && m != o.def; m = o.from[m] {
		if m.op == opPart && m.note.Kind == report.Field {
			return true
		}
	}
	return false
}

// isField reports whether m is read from a field: of o, or of something that holds o.
func isField(m *value) bool { return m.op == opPart && m.note.Kind == report.Field }

// handoff says to whom o goes if all that ever happens to it is to be handed to
// an owner that is sure to use or free it; "" if that is not so, as where it was
// retained before, so that each has a reference.
func (o *object) handoff() string {
	to := ""
	for _, evs := range o.events {
		for _, e := range evs {
			if e.kind == evRetain {
				return ""
			}
			if e.kind != evMove {
				continue
			}
			why := e.why
			switch {
			case why == byGoroutine, why == onChannel:
			case e.callee == "(*sync.Pool).Put":
				why = toPool
			default:
				return ""
			}
			if to != "" && to != why {
				return ""
			}
			to = why
		}
	}
	return to
}

// settle decides a condition on a constant argument.
func (w *flow) settle(when When, call *value) When {
	if when.K != IfTrue && when.K != IfFalse {
		return when
	}
	for j, a := range call.args {
		i := call.call.params[j]
		if call.call.sum.Recv {
			i++
		}
		if i != int(when.Arg) || call.call.params[j] < -1 {
			continue
		}
		if b, ok := constBool(w.p, a); ok {
			if b == (when.K == IfTrue) {
				return When{K: Always}
			}
			return When{}
		}
	}
	return when
}

func constBool(p *pkg, v *value) (bool, bool) {
	for v.op == opCopy && !v.opaque() {
		v = v.args[0]
	}
	if v.op != opConst {
		return false, false
	}
	if v.note.Kind == report.Bool {
		return v.index == 1, true
	}
	if v.expr != nil {
		if tv := p.info.Types[v.expr]; tv.Value != nil {
			switch tv.Value.ExactString() {
			case "true":
				return true, true
			case "false":
				return false, true
			}
		}
	}
	return false, false
}
