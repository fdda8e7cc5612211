package escape

// The web of an object: its members, and what each use of them does.

import (
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
)

type event struct {
	kind   eventKind
	when   When
	call   *value // for conditions
	m      memberKind
	repeat bool
	pure   bool   // a free that does nothing else: the callee reads the buffer no more
	res    int    // evReturn
	why    string // evMove
	callee string
	at     *value
	ours   bool // planned: not the program's

	own *object // the buffer by whose own name the event happens: it concerns us once that was handed over
}

// web finds o's members and events.
func (w *flow) web(o *object) {
	o.members = map[*value]memberKind{}
	o.order, o.open = nil, nil
	o.places, o.vars = nil, nil
	o.events = map[*value][]event{}
	o.from = map[*value]*value{}
	o.told = nil
	if o.complex != "something that is not owned is stored in it" { // said before the web is known
		o.complex = ""
	}
	o.sink, o.puts = nil, nil
	o.apart = false
	w.member(o, o.def, mWhole, nil)
	if d := o.def; d.op == opResult && o.kind == objSite {
		for i, r := range d.args[0].call.results {
			if i < len(d.args[0].call.sum.Res) && d.index < 64 && d.args[0].call.sum.Res[i].Of>>d.index&1 == 1 {
				w.member(o, r, mView, d)
			}
		}
		w.adopted(o, d.args[0])
	}
	follow := func() {
		for i := 0; i < len(o.open); i++ {
			m := o.open[i]
			for _, u := range m.users {
				w.use(o, m, o.members[m], u)
			}
			if len(o.order) > 4000 {
				o.complex = "more than 4000 aliases"
				return
			}
		}
		o.open = o.open[:0]
	}
	follow()
	o.nOwn = len(o.order)
	if o.coll {
		for _, e := range w.given(o) {
			w.member(o, e, mView, nil)
			// its other names: a variable that a literal captures is read anew each time
			w.member(o, origin(e), mView, nil)
		}
		follow()
	}
	if w.leftBefore(o) {
		o.complex = "put into a collection that may have left before"
	}
}

func (w *flow) member(o *object, v *value, k memberKind, from *value) {
	old, ok := o.members[v]
	if o.tells(v, from) {
		w.tell(o, v)
	}
	if ok && (old == k || old == mMaybe) {
		return
	}
	if ok {
		// Reached in two ways: the weaker claim holds.
		if old == mView && k == mWhole || old == mWhole && k == mView {
			k = mMaybe
		} else if k == mWhole || k == mView {
			k = max(old, k)
		}
		if old == k {
			return
		}
		o.members[v] = k
		o.open = append(o.open, v) // its users may have been visited with the old claim
		return
	}
	o.members[v] = k
	o.order = append(o.order, v)
	if w.in != nil {
		w.in[v] = append(w.in[v], o)
	}
	o.open = append(o.open, v)
	if from != nil {
		o.from[v] = from
	}
}

func (o *object) event(at *value, e event) {
	e.at = at
	for _, x := range o.events[at] {
		if x.kind == e.kind && x.when == e.when && x.why == e.why && x.res == e.res && x.m == e.m && x.own == e.own {
			return
		}
	}
	o.events[at] = append(o.events[at], e)
}

func (o *object) use(at *value) { o.event(at, event{kind: evUse}) }

func (o *object) move(at *value, m memberKind, why string) {
	o.event(at, event{kind: evMove, when: When{K: Always}, m: m, why: why})
}

// use follows one use u of member m.
func (w *flow) use(o *object, m *value, k memberKind, u *value) {
	if k != mView && w.readsName(m, u) {
		o.mention(u)
	}
	switch u.op {
	case opSet:
		if ex := u.place.root.exposed; ex != "" {
			o.move(u, k, ex)
		}
	case opCopy:
		w.member(o, u, k, m)
	case opPart:
		if w.elems[u] && k != mView {
			o.use(u) // what happens to it is told where the loop ends
			return
		}
		switch {
		case k == mWhole && (o.holder && w.p.holdsResource(u.typ0()) || !w.p.isResource(o.def.typ0()) && w.p.holdsResource(o.def.typ0())):
			w.member(o, u, mMaybe, m) // one of several things it holds
		case u.note.Kind == report.Iterated && !w.p.plain(u.typ0()):
			w.member(o, u, mMaybe, m) // what an iterator yields that looks at us
		case k == mWhole, k == mView:
			w.member(o, u, mView, m)
		default:
			w.member(o, u, mMaybe, m)
		}
		o.use(u)
	case opElem:
		o.use(u)
		switch {
		case !o.told[m]:
		case len(u.args) > 1: // copy
			if u.args[1] == m {
				o.move(u, k, "copied as a number")
			}
		default:
			w.member(o, u, mView, m)
		}
	case opPure:
		o.use(u)
		if k != mHolder && !w.p.plain(u.typ0()) || integer(u.typ0()) && (k == mView || !w.p.plain(m.typ0())) || o.told[m] {
			w.member(o, u, mView, m)
		}
	case opCmp, opNot, opDiscard, opGap:
	case opClosure:
		if k == mView || !isFunc(m.typ0()) {
			k = mView // it only looks at us, else its variable is exposed
		}
		w.member(o, u, k, m)
	case opPack:
		if w.gives(o, m, k, u) || w.idle[u] && !o.coll && !isArray(u.typ0()) {
			return
		}
		if k != mView && u.note.Kind == report.Literal && elemType(u.typ0()) != nil && !(w.loose[u] && !o.coll) {
			o.move(u, k, "put into "+types.TypeString(u.typ0(), w.p.qualifier))
			return
		}
		kk := mHolder
		if k == mView {
			kk = mView
		}
		w.member(o, u, kk, m)
	case opAddr:
		switch {
		case k == mWhole && len(u.args) == 1 && (u.place.root.obj == nil || len(u.place.path) == len(u.place.root.leaves[0].path)):
			w.member(o, u, mWhole, m)
		case k == mView, k == mMaybe:
			w.member(o, u, k, m)
		default:
			w.member(o, u, mHolder, m)
		}
	case opBound:
		kk := mHolder
		switch {
		case w.p.borrows(u.fn):
			kk = mView
		case k == mView || k == mMaybe:
			kk = k
		}
		w.member(o, u, kk, m)
	case opPhi:
		if w.owner[u] && u != o.def {
			if !w.handsOver(o, u, m) {
				w.member(o, u, mMaybe, m)
			}
			return
		}
		if u == o.def {
			// Around a loop, back into itself.
			if k != mWhole {
				o.complex = "the next one may look into it"
			}
			return
		}
		kk := k
		if k == mWhole {
			for _, a := range u.args {
				r := origin(a)
				if r != o.def && r.op != opNil && r != u {
					kk = mMaybe
				}
			}
		}
		w.member(o, u, kk, m)
	case opCall, opDefer, opGo:
		w.useCall(o, m, k, u)
	case opResult:
	case opOut:
		if len(u.args) > 1 && u.args[1] == m && k == mView {
			w.member(o, u, mView, m) // a field of a result that views us
		}
	case opAppend:
		if w.gives(o, m, k, u) {
			return
		}
		if len(u.args) > 0 && u.args[0] == m {
			if o.coll && k == mWhole {
				w.member(o, u, mMaybe, m)
			} else {
				w.member(o, u, k, m)
			}
			o.use(u)
			if o.coll && len(u.args) > 1 {
				o.complex = "something that is not owned is stored in it"
			}
			return
		}
		if (k == mWhole || k == mMaybe) && w.loose[u] && !o.coll {
			if !w.holds(o, u, m) {
				o.move(u, k, "appended to a slice that is not followed")
			}
			o.mention(u)
			return
		}
		if k == mWhole || k == mMaybe {
			o.move(u, k, "appended to a slice that does not own all it holds")
			return
		}
		if k == mView {
			w.member(o, u, mView, m)
		} else {
			w.member(o, u, mHolder, m)
		}
	case opLoopFree:
		if d := w.marks[u]; d != nil && k == mView && o.coll {
			// A copy of it, or a part of one: some of its elements, or all.
			o.event(u, event{kind: d.kind, when: When{K: Maybe}, m: mMaybe, repeat: d.repeat, pure: d.pure, why: "each element: " + d.why})
		} else if d != nil && k != mView {
			kk := k
			if k == mHolder {
				kk = mWhole
			}
			if k == mHolder && (w.isLoose(m) || !o.inside(m)) { // it may not be in there
				o.event(u, event{kind: d.kind, when: When{K: Maybe}, m: mMaybe, repeat: d.repeat, pure: d.pure, why: "each element: " + d.why})
				return
			}
			o.event(u, event{kind: d.kind, when: When{K: Always}, m: kk, repeat: d.repeat, pure: d.pure, why: "each element: " + d.why})
		}
	case opRecv, opUse:
		switch {
		case o.coll && k == mWhole && u.note.Kind == report.Cleared:
			o.event(u, event{kind: evMove, when: When{K: Always}, m: k, why: byClear})
		case o.coll && k == mWhole && u.note.Kind == report.Deleted:
			o.event(u, event{kind: evUse, why: byDelete})
		case u.op == opRecv && k == mHolder:
			// A handle is copied; what it is used for then counts.
		case w.p.plain(m.typ0()) && !o.told[m] && (u.note.Kind == report.Joined || u.note.Kind == report.Deferred):
			// a number, which says nothing about the buffer any more
		case u.note.Kind == report.Looked:
			o.mention(u)
		case u.note.Kind == report.NumberKey:
			if o.told[m] {
				o.move(u, k, "stored as a key")
			}
		default:
			o.use(u)
		}
		if u.op == opRecv && o.told[m] {
			w.member(o, u, mView, m)
		}
		if u.op == opRecv && k == mHolder && !w.p.plain(u.typ0()) {
			w.member(o, u, mMaybe, m)
		}
	case opHold:
		if w.p.plain(m.typ0()) && !o.told[m] {
			return
		}
		o.event(u, event{kind: evUse, why: u.note.String()})
	case opStore:
		if len(u.args) > 1 && u.args[0] != m {
			o.use(u)
			if o.holder && k != mView && o.kind != objParam && w.p.holdsResource(u.args[0].typ0()) {
				if q := w.byDef[origin(u.args[0])]; origin(u.args[0]).op != opNil && (q == nil || q.kind != objSite) {
					o.complex = "something is stored in a field of it"
				}
			}
			w.look(o, w.byDef[origin(u.args[0])])
			if q := w.byDef[origin(u.args[0])]; k != mView && !w.p.plain(u.args[0].typ0()) && (q == nil || q.mayNil || q.errRes != nil) && w.insists(o) {
				o.complex = "a field of it gets what may be nil, which its free does not accept"
			}
			if o.coll && k != mView {
				if k == mWhole && slices.Contains(w.stores[o.def], u.args[0]) {
					o.event(u, event{kind: evFill, own: w.byDef[origin(u.args[0])]})
				} else if w.p.collects(u.args[1].typ) {
					o.complex = "something is stored in a part of it"
				}
			}
			return
		}
		if o.coll && k == mView && len(u.args) > 1 && slices.Contains(w.stores[origin(u.args[1])], m) {
			return // how it came into us, or into what came from us
		}
		if k == mWhole && len(u.args) > 1 {
			if r := origin(u.args[1]); (w.owner[r] || w.byDef[r] != nil && w.byDef[r].coll) && origin(m) == o.def && slices.Contains(w.stores[r], m) {
				o.event(u, event{kind: evGive})
				return
			}
		}
		if len(u.args) > 1 && k != mView && w.holds(o, u.args[1], m) {
			o.puts = append(o.puts, u)
			o.mention(u)
			return
		}
		o.move(u, k, u.note.String())
	case opSend:
		if u.args[0] == m {
			if k != mView && w.holds(o, u.args[1], m) {
				o.puts = append(o.puts, u)
				o.mention(u)
				return
			}
			o.move(u, k, onChannel)
		} else if k != mHolder {
			o.use(u)
		}
	case opReturn:
		for i, a := range u.args {
			if a == m {
				o.event(u, event{kind: evReturn, res: i, m: k})
			}
		}
	case opPanic:
		o.move(u, k, "in the value of a panic")
	default:
		o.move(u, k, "used in a way that is not understood")
	}
}

// insists reports whether a way to free o goes wrong where what it frees holds nothing.
func (w *flow) insists(o *object) bool {
	return slices.ContainsFunc(w.p.freersOf(o.def.typ0()), func(f *freer) bool { return f.insists })
}

// inside reports whether o itself is in what m holds, and not only one of several
// that o may be among.
func (o *object) inside(m *value) bool {
	if m.op != opPack {
		return true // told where it was made
	}
	return slices.ContainsFunc(m.args, func(a *value) bool { k, ok := o.members[a]; return ok && k != mMaybe })
}

// gives reports whether u, an operation that makes a collection, takes over o's
// handle; if so it notes the event.
func (w *flow) gives(o *object, m *value, k memberKind, u *value) bool {
	if !w.owner[u] || u == o.def || k != mWhole || origin(m) != o.def {
		// an element of ours that goes on into a collection that came from us
		return w.owner[u] && k == mView && o.coll
	}
	o.event(u, event{kind: evGive})
	return true
}

// handsOver reports whether o's whole handle goes into phi u on each edge on
// which member m does.
func (w *flow) handsOver(o *object, u, m *value) bool {
	for _, a := range u.args {
		if a == m && origin(a) != o.def {
			return false
		}
	}
	return true
}
