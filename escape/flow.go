package escape

// Flow: which values may be a buffer, share its memory or hold it, and what
// every use of them does. An object is one buffer at a time: a site, a
// parameter, or a phi into which each predecessor hands a buffer over.
//
// Members of an object are found by following every use of every member. A use
// that is not understood is an escape: there is no other way out of the switch.

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

type memberKind uint8

const (
	mWhole  memberKind = iota // the handle itself, or a pointer to the variable that holds it
	mView                     // shares its memory, owns nothing
	mHolder                   // a struct, slice, literal or interface that holds the handle
	mMaybe                    // perhaps the handle: an element of a holder, a phi of several
)

type objectKind uint8

const (
	objSite objectKind = iota
	objParam
	objPhi
)

type eventKind uint8

const (
	evUse    eventKind = iota
	evFree             // the program frees it
	evMove             // ownership leaves: it escapes, is handed on
	evReturn           // returned
	evDefer            // a deferred call will free it
	evBorrow           // a view is handed out of the function: not a use, an escape of what it views
	evRetain           // one more free is owed
	evGive             // handed over to a collection
	evFill             // a collection that owned nothing gets its first element
)

type event struct {
	kind   eventKind
	when   When
	call   *value // for conditions
	m      memberKind
	repeat bool
	res    int    // evReturn
	why    string // evMove
	callee string
	at     *value
	ours   bool // planned: not the program's
}

// An object is one buffer at a time.
type object struct {
	id      int
	kind    objectKind
	def     *value
	members map[*value]memberKind
	order   []*value
	events  map[*value][]event // by instruction
	from    map[*value]*value  // member → the member it came from, for paths
	errRes  *value             // the error of the call that makes it
	armed   bool
	partial bool             // may be owned where the error is not nil
	moves   map[*block][]int // owner phis: none here; objects moved on edges into phis
	nOwn    int              // members that come from def; the rest lead to elements
	coll    bool             // a collection: freed element by element
	complex string           // why it is not decided
	sink    *value
	fields  bool

	group *group
	slot  int // index in group.objs
	buf   *Buffer
}

type flow struct {
	f      *fn
	p      *pkg
	objs   []*object
	byDef  map[*value]*object
	owner  map[*value]bool // phis that own
	live   map[*value]map[*block]bool
	useful map[*value]int8
	groups []*group

	elems  map[*value]bool       // elements of loops that discharge
	marks  map[*value]*discharge // and where these loops end
	stores map[*value][]*value   // collection → what is stored in its elements
}

func analyze(f *fn) *flow {
	w := &flow{f: f, p: f.p, byDef: map[*value]*object{}, owner: map[*value]bool{}, live: map[*value]map[*block]bool{}, useful: map[*value]int8{},
		elems: map[*value]bool{}, marks: map[*value]*discharge{}, stores: map[*value][]*value{}}
	if f.declined != "" {
		return w
	}
	w.discharges()
	w.sites()
	if len(w.objs) == 0 {
		return w
	}
	w.phis()
	for _, o := range w.objs {
		w.check(o)
	}
	w.group()
	return w
}

func (w *flow) add(k objectKind, def *value) *object {
	o := &object{id: len(w.objs), kind: k, def: def}
	w.objs = append(w.objs, o)
	w.byDef[def] = o
	return o
}

// sites finds the values that come into being here, and the parameters.
func (w *flow) sites() {
	for _, v := range w.f.params {
		if !plain(v.typ0()) {
			w.add(objParam, v)
		}
	}
	for _, b := range w.f.rpo {
		for _, v := range b.instrs {
			switch v.op {
			case opOut:
				o := w.add(objSite, v)
				o.errRes = v.args[0].call.errRes
			case opCall:
				for i, r := range v.call.results {
					if i < len(v.call.sum.Res) && v.call.sum.Res[i].Owned && len(v.call.sum.Res[i].Fields) == 0 {
						o := w.add(objSite, r)
						o.errRes = v.call.errRes
						o.armed = v.call.sum.Res[i].Armed
						o.partial = v.call.sum.Res[i].Partial
					}
				}
				if w.arms(v) {
					if d := origin(v.args[0]); w.byDef[d] == nil && (d.op == opPack || d.op == opAddr) {
						o := w.add(objSite, d)
						o.armed = true
					}
				}
			}
		}
	}
}

// arms reports whether v is a call of runtime.SetFinalizer or AddCleanup with
// a function that only releases what it is given.
func (w *flow) arms(v *value) bool {
	if v.fn == nil || v.fn.Pkg() == nil || v.fn.Pkg().Path() != "runtime" || len(v.args) < 2 {
		return false
	}
	switch v.fn.Name() {
	case "SetFinalizer":
		f := v.args[1]
		for f.op == opCopy {
			f = f.args[0]
		}
		switch f.op {
		case opFunc, opBound:
			s := w.p.summaryOf(f.fn)
			return len(s.Args) > 0 && s.Args[0].Freed.K == Always && s.Args[0].Escapes.K == Never
		case opClosure:
			return w.p.litReleases(f.lit)
		}
	case "AddCleanup":
		return w.p.isResource(v.args[0].typ0())
	}
	return false
}

// weakPointer reports whether v is weak.Make.
func weakPointer(v *value) bool {
	return v.fn != nil && v.fn.Pkg() != nil && v.fn.Pkg().Path() == "weak" && v.fn.Name() == "Make"
}

// disarms reports whether v is runtime.SetFinalizer(x, nil).
func disarms(v *value) bool {
	return v.fn != nil && v.fn.Pkg() != nil && v.fn.Pkg().Path() == "runtime" && v.fn.Name() == "SetFinalizer" &&
		len(v.args) == 2 && v.args[1].op == opNil
}

// origin strips what does not change the object.
func origin(v *value) *value {
	for {
		switch v.op {
		case opCopy:
			v = v.args[0]
			continue
		case opAddr:
			if len(v.args) == 1 && v.place != nil && len(v.place.root.leaves) == 1 && !isPointer(v.args[0].typ0()) {
				v = v.args[0]
				continue
			}
		case opResult:
			c := v.args[0]
			if v.index < len(c.call.sum.Res) {
				if r := c.call.sum.Res[v.index]; r.Must && r.Is != 0 && r.Is&(r.Is-1) == 0 {
					for j := range c.args {
						if c.operandIs(j, r.Is) {
							v = c.args[j]
							break
						}
					}
					if v != c.args[0] || c.call.params[0] >= -1 {
						if v.op != opResult || v.args[0] != c {
							continue
						}
					}
				}
			}
		}
		return v
	}
}

// operandIs reports whether operand j of call v stands for an argument in mask.
func (v *value) operandIs(j int, mask uint64) bool {
	i := v.call.params[j]
	if i < -1 {
		return false
	}
	if v.call.sum.Recv {
		i++
	}
	return i >= 0 && i < 64 && mask>>i&1 == 1
}

// phis decides which phis own: each operand hands over a buffer, or nil, that
// is not used otherwise from there on. It starts from all and takes away.
func (w *flow) phis() {
	var cand []*value
	in := map[*value]bool{}
	stores := map[*value][]*value{} // collection → opStore into it
	for _, b := range w.f.rpo {
		for _, v := range b.instrs {
			switch {
			case v.op == opPhi && !plain(v.typ0()) && w.isUseful(v), w.ownerOp(v):
				cand = append(cand, v)
				in[v] = true
			case v.op == opStore && len(v.args) == 2 && w.p.collects(v.args[1].typ):
				r := origin(v.args[1])
				stores[r] = append(stores[r], v)
			}
		}
	}
	owned := func(a *value) bool {
		if plain(a.typ0()) {
			return true // the key of a map, not an element
		}
		r := origin(a)
		if r.op == opNil || in[r] {
			return true
		}
		o := w.byDef[r]
		return o != nil && o.kind == objSite
	}
	for again := true; again; {
		again = false
		for _, v := range cand {
			if !in[v] {
				continue
			}
			ok := !slices.ContainsFunc(v.args, func(a *value) bool { return !owned(a) })
			for _, st := range stores[v] {
				ok = ok && owned(st.args[0]) && st.note != "copied into a slice"
			}
			if !ok {
				in[v] = false
				again = true
			}
		}
	}
	// A cycle of phis that no site enters owns nothing.
	reached := map[*value]bool{}
	for again := true; again; {
		again = false
		for _, v := range cand {
			if !in[v] || reached[v] {
				continue
			}
			hit := w.ownerOp(v) && (len(v.args) > puts(v) || len(stores[v]) > 0)
			for _, a := range v.args {
				r := origin(a)
				hit = hit || reached[r] || w.byDef[r] != nil
			}
			hit = hit || len(stores[v]) > 0
			if hit {
				reached[v] = true
				again = true
			}
		}
	}
	// An empty collection owns nothing, but what it grows into does.
	var owners []*value
	for _, v := range cand {
		if in[v] && (reached[v] || w.ownerOp(v)) {
			owners = append(owners, v)
			w.owner[v] = true
			o := w.add(objPhi, v)
			o.coll = w.p.collects(v.typ)
			for _, st := range stores[v] {
				w.stores[v] = append(w.stores[v], st.args[0])
			}
		}
	}
	for _, o := range w.objs {
		if o.kind == objSite && w.p.collects(o.def.typ0()) {
			o.coll = true
			for _, st := range stores[o.def] {
				w.stores[o.def] = append(w.stores[o.def], st.args[0])
				if !owned(st.args[0]) {
					o.complex = "something that is not owned is stored in it"
				}
			}
		}
	}
	for {
		for _, o := range w.objs {
			if o.members == nil {
				w.web(o)
			}
		}
		bad := w.conflict(owners)
		if bad == nil {
			break
		}
		// bad is an alias, not an owner: what flows into it keeps its objects.
		dirty := map[*object]bool{}
		w.disown(bad, dirty)
		for o := range dirty {
			o.members = nil
		}
		for _, o := range w.objs {
			if o.coll {
				o.members = nil
			}
		}
		keep := owners[:0]
		for _, v := range owners {
			if w.owner[v] {
				keep = append(keep, v)
			}
		}
		owners = keep
	}
	for i, o := range w.objs {
		o.id = i
	}
}

// disown makes v an alias. A phi that v flows into as an owner loses its owner
// too, as v has none to hand over.
func (w *flow) disown(v *value, dirty map[*object]bool) {
	if !w.owner[v] {
		return
	}
	delete(w.owner, v)
	w.objs = slices.DeleteFunc(w.objs, func(o *object) bool { return o.def == v })
	delete(w.byDef, v)
	for _, o := range w.objs {
		for _, a := range v.args {
			if origin(a) == o.def || o.members[a] == mWhole && o.members != nil && containsKey(o.members, a) {
				dirty[o] = true
			}
		}
	}
	for _, b := range w.f.rpo {
		for _, u := range b.instrs {
			if w.owner[u] {
				for _, a := range u.args {
					if origin(a) == v {
						w.disown(u, dirty)
						break
					}
				}
			}
		}
	}
}

func containsKey(m map[*value]memberKind, v *value) bool { _, ok := m[v]; return ok }

// conflict returns an owner phi to which some edge does not hand over alone.
func (w *flow) conflict(owners []*value) *value {
	for _, v := range owners {
		if v.op != opPhi {
			// What the collection was must not be used any more; its elements may.
			if puts(v) == 1 && len(v.args) > 0 {
				o := w.byDef[origin(v.args[0])]
				if o == nil {
					continue
				}
				for _, m := range o.order[:o.nOwn] {
					if m != v && w.liveAfter(m, v.blk, v.at) && m.blk.order >= 0 && !(m.op == opPhi && w.owner[m]) {
						return v
					}
				}
			}
			continue
		}
		for i, a := range v.args {
			r := origin(a)
			if r.op == opNil {
				continue
			}
			o := w.byDef[r]
			if o == nil {
				return v
			}
			// Handed over twice on the same edge?
			for _, u := range v.blk.instrs {
				if u.op != opPhi {
					break
				}
				if u != v && w.owner[u] && origin(u.args[i]) == r {
					return v
				}
			}
			// Used otherwise afterwards?
			for _, m := range o.order[:o.nOwn] {
				if m == v {
					continue
				}
				if m.op == opPhi && m.blk == v.blk {
					if k, ok := o.members[m.args[i]]; ok && w.isUseful(m) {
						_ = k
						return v
					}
					continue
				}
				if w.liveIn(m, v.blk) {
					return v
				}
			}
		}
	}
	return nil
}

// web finds o's members and events.
func (w *flow) web(o *object) {
	o.members = map[*value]memberKind{}
	o.order = nil
	o.events = map[*value][]event{}
	o.from = map[*value]*value{}
	if o.complex != "something that is not owned is stored in it" {
		o.complex = ""
	}
	o.sink = nil
	w.member(o, o.def, mWhole, nil)
	if d := o.def; d.op == opResult && o.kind == objSite {
		for i, r := range d.args[0].call.results {
			if i < len(d.args[0].call.sum.Res) && d.index < 64 && d.args[0].call.sum.Res[i].Of>>d.index&1 == 1 {
				w.member(o, r, mView, d)
			}
		}
	}
	follow := func(from int) {
		for i := from; i < len(o.order); i++ {
			m := o.order[i]
			for _, u := range m.users {
				w.use(o, m, o.members[m], u)
			}
			if len(o.order) > 4000 {
				o.complex = "more than 4000 aliases"
				return
			}
		}
	}
	follow(0)
	o.nOwn = len(o.order)
	if o.coll {
		for _, e := range w.given(o) {
			w.member(o, e, mView, nil)
		}
		follow(o.nOwn)
	}
}

func (w *flow) member(o *object, v *value, k memberKind, from *value) {
	old, ok := o.members[v]
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
		// Users were visited with the old claim: visit again.
		for i, x := range o.order {
			if x == v {
				o.order = append(append(o.order[:i:i], o.order[i+1:]...), v)
				return
			}
		}
		return
	}
	o.members[v] = k
	o.order = append(o.order, v)
	if from != nil {
		o.from[v] = from
	}
}

func (o *object) event(at *value, e event) {
	e.at = at
	for _, x := range o.events[at] {
		if x.kind == e.kind && x.when == e.when && x.why == e.why && x.res == e.res && x.m == e.m {
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
		case k == mWhole && !w.p.isResource(o.def.typ0()) && w.p.holdsResource(o.def.typ0()):
			w.member(o, u, mMaybe, m) // one of several things it holds
		case k == mWhole, k == mView:
			w.member(o, u, mView, m)
		default:
			w.member(o, u, mMaybe, m)
		}
		o.use(u)
	case opElem:
		o.use(u)
	case opPure:
		o.use(u)
		if k != mHolder && !plain(u.typ0()) || integer(u.typ0()) && (k == mView || !plain(m.typ0())) {
			w.member(o, u, mView, m)
		}
	case opCmp, opNot, opDiscard, opGap:
	case opPack, opClosure:
		if u.op == opPack && w.gives(o, m, k, u) {
			return
		}
		if u.op == opPack && k != mView && u.note == "literal" && elemType(u.typ0()) != nil {
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
		case k == mView:
			w.member(o, u, mView, m)
		default:
			w.member(o, u, mHolder, m)
		}
	case opBound:
		kk := mHolder
		if k == mView {
			kk = mView
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
	case opResult, opOut: // of a call that is itself a member: none
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
		if d := w.marks[u]; d != nil && k != mView {
			kk := k
			if k == mHolder {
				kk = mWhole
			}
			o.event(u, event{kind: d.kind, when: When{K: Always}, m: kk, repeat: d.repeat, why: "each element: " + d.why})
		}
	case opRecv, opUse:
		o.use(u)
	case opStore:
		if len(u.args) > 1 && u.args[0] != m {
			o.use(u)
			if o.coll && k != mView {
				if k == mWhole && slices.Contains(w.stores[o.def], u.args[0]) {
					o.event(u, event{kind: evFill})
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
		o.move(u, k, u.note)
	case opSend:
		if u.args[0] == m {
			o.move(u, k, onChannel)
		} else {
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

// gives reports whether u, an operation that makes a collection, takes over o's
// handle; if so it notes the event.
func (w *flow) gives(o *object, m *value, k memberKind, u *value) bool {
	if !w.owner[u] || u == o.def || k != mWhole || origin(m) != o.def {
		return w.owner[u] && k == mView && o.coll // an element of ours that goes on into a collection that came from us
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
			if k == mHolder || k == mMaybe {
				o.move(u, k, "captured by a function literal that is not followed")
			} else {
				o.use(u)
			}
			continue
		}
		if weakPointer(u) {
			o.use(u) // a weak pointer is no owner and keeps nothing
			continue
		}
		if (w.arms(u) || disarms(u)) && k == mWhole {
			o.use(u)
			continue
		}
		e := ci.sum.arg(pi)
		kk := k
		deferred := u.op == opDefer || ci.deferred
		switch {
		case e.Freed.K != Never:
			when := w.settle(e.Freed, u)
			if when.K == Never {
				o.use(u)
				break
			}
			if k == mMaybe {
				when = When{K: Maybe}
			}
			ev := event{kind: evFree, when: when, call: u, m: kk, repeat: e.Repeatable}
			if deferred {
				ev.kind = evDefer
			}
			if own := w.byDef[origin(a)]; k == mView && (own != nil && own != o || !types.Identical(deref(a.typ0()), deref(o.def.typ0()))) {
				// Something else that looks into our memory.
				if own != nil {
					o.use(u)
				} else {
					o.event(u, event{kind: evUse, why: "free"})
				}
				break
			}
			if k == mView && o.coll {
				o.complex = "freed through a view at " + w.p.line(u.pos)
			}
			o.event(u, ev)
		case e.Retained && a.op == opAddr && k == mWhole:
			o.use(u)
			o.event(u, event{kind: evMove, when: When{K: Always}, call: u, m: kk, why: "overwritten by " + ci.name, callee: ci.name})
		case e.Retained:
			o.use(u)
			o.event(u, event{kind: evRetain, call: u, m: kk})
		default:
			if !deferred {
				o.use(u)
			} else {
				o.event(u, event{kind: evUse})
			}
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
		if e.Writes && (k != mWhole || a.op == opAddr) && !ci.sum.Unknown {
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
			if re.Is>>ai&1 == 1 {
				kind := k
				if k == mWhole && !re.Must {
					kind = mMaybe
				}
				w.member(o, r, kind, m)
			} else if re.Views>>ai&1 == 1 {
				if k == mHolder {
					w.member(o, r, mMaybe, m)
				} else {
					w.member(o, r, mView, m)
				}
			}
		}
	}
}

// handoff says to whom o goes if all that ever happens to it is to be handed to
// an owner that is sure to use or free it; "" if that is not so.
func (o *object) handoff() string {
	to := ""
	for _, evs := range o.events {
		for _, e := range evs {
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

const (
	byGoroutine = "used by another goroutine"
	onChannel   = "sent on a channel"
	toPool      = "put back into a pool"
)

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
	for v.op == opCopy {
		v = v.args[0]
	}
	if v.op != opConst {
		return false, false
	}
	if v.note == "bool" {
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

// isUse reports whether instruction u, which has v as operand, needs v there
// (and not only hands it to a member of the same web).
func propagates(u *value) bool {
	switch u.op {
	case opSet, opCmp, opNot, opDiscard, opGap, opCopy, opPack, opClosure, opAddr, opBound, opPhi:
		return true
	}
	return false
}

// isUseful reports whether v leads to a use at all.
func (w *flow) isUseful(v *value) bool {
	if s := w.useful[v]; s != 0 {
		return s == 1
	}
	// Iterative: chains are long in generated code.
	seen := map[*value]bool{v: true}
	stack := []*value{v}
	found := false
	for len(stack) > 0 && !found {
		x := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, u := range x.users {
			switch {
			case u.op == opSet && u.place.root.exposed != "":
				found = true
			case !propagates(u):
				found = true
			case (u.op == opCopy || u.op == opPack || u.op == opClosure || u.op == opAddr || u.op == opBound || u.op == opPhi) && !seen[u]:
				if w.useful[u] == 1 {
					found = true
				} else if w.useful[u] == 0 {
					seen[u] = true
					stack = append(stack, u)
				}
			}
		}
	}
	if found {
		w.useful[v] = 1
		return true
	}
	for x := range seen {
		w.useful[x] = 2
	}
	return false
}

// liveIn reports whether v is used on some path from the entry of b, by an
// instruction that needs it, before it is defined again.
func (w *flow) liveIn(v *value, b *block) bool { return w.liveBlocks(v)[b] }

func (w *flow) liveBlocks(v *value) map[*block]bool {
	if s, ok := w.live[v]; ok {
		return s
	}
	s := map[*block]bool{}
	w.live[v] = s
	var stack []*block
	mark := func(b *block) {
		// v is needed in b, before any definition in b.
		if !s[b] {
			s[b] = true
			stack = append(stack, b)
		}
	}
	out := func(b *block) {
		if b != v.blk {
			mark(b)
		}
	}
	for _, u := range v.users {
		switch {
		case u.op == opPhi:
			if w.isUseful(u) {
				for i, a := range u.args {
					if a == v {
						out(u.blk.preds[i])
					}
				}
			}
		case u.op == opSet && u.place.root.exposed == "":
		case u.op == opCmp || u.op == opNot || u.op == opDiscard || u.op == opGap:
		case propagates(u) && u.op != opSet && !w.isUseful(u):
		default:
			if u.blk != v.blk || v.op == opPhi && false {
				mark(u.blk)
			}
		}
	}
	for len(stack) > 0 {
		b := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, p := range b.preds {
			out(p)
		}
	}
	return s
}

// check finds what keeps o from being decided one instance at a time.
func (w *flow) check(o *object) {
	if o.complex != "" {
		return
	}
	b := o.def.blk
	if o.kind == objParam {
		return
	}
	pos := indexOf(b, o.def)
	for _, m := range o.order[:o.nOwn] {
		if m == o.def {
			continue
		}
		if !w.liveIn(m, b) && !(m.op == opPhi && m.blk == b && o.def.op != opPhi && w.liveAfter(m, b, pos)) {
			continue
		}
		if m.blk == b && indexOf(b, m) > pos && !w.liveIn(m, b) {
			continue
		}
		o.complex = "an earlier one is still in use when the next is made"
		return
	}
}

// liveAfter reports whether v, defined in b before index pos, is needed after.
func (w *flow) liveAfter(v *value, b *block, pos int) bool {
	for _, u := range v.users {
		if u.blk == b && u.op != opPhi && !((u.op == opSet && u.place.root.exposed == "") || u.op == opCmp || u.op == opDiscard || u.op == opNot) && indexOf(b, u) > pos {
			return true
		}
	}
	for _, s := range b.succs {
		if w.liveIn(v, s) {
			return true
		}
		for i, p := range s.preds {
			if p == b {
				for _, u := range s.instrs {
					if u.op == opPhi && u.args[i] == v && w.isUseful(u) {
						return true
					}
				}
			}
		}
	}
	return false
}

func indexOf(_ *block, v *value) int { return v.at }

// path lists the stations from o's site to value v, for people.
func (w *flow) path(o *object, v *value) []Step {
	var steps []Step
	for m := v; m != nil && m != o.def; m = o.from[m] {
		if s := stepText(w.p, m); s != "" && m.pos.IsValid() {
			steps = append(steps, Step{Pos: m.pos, Text: s})
		}
		if len(steps) > 20 {
			break
		}
	}
	slices.Reverse(steps)
	return steps
}

func stepText(p *pkg, m *value) string {
	switch m.op {
	case opPart:
		return "viewed (" + m.note + ")"
	case opPack:
		return "put into " + types.TypeString(m.typ0(), p.qualifier)
	case opClosure:
		return "captured by a function literal"
	case opBound:
		return "bound as " + p.funcName(m.fn)
	case opAddr:
		return "its address is taken"
	case opAppend:
		return "appended to a slice"
	case opResult:
		return "result of " + m.args[0].call.name
	}
	return ""
}

func (o *object) String() string {
	return fmt.Sprintf("object %d (%s)", o.id, opNames[o.def.op])
}

var _ = token.NoPos
