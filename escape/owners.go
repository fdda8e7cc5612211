package escape

// Owners: which phis and collections own, because every way in hands a buffer
// over and keeps nothing.

import (
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// phis decides which phis own: each operand hands over a buffer, or nil, that
// is not used otherwise from there on. It starts from all and takes away.
func (w *flow) phis() {
	var cand []*value
	in := map[*value]bool{}
	stores := map[*value][]*value{} // collection → opStore into it
	for _, b := range w.f.rpo {
		for _, v := range b.instrs {
			switch {
			case v.op == opPhi && !w.p.plain(v.typ0()) && w.isUseful(v), w.ownerOp(v) && !passing(v):
				cand = append(cand, v)
				in[v] = true
			case v.op == opStore && len(v.args) == 2 && w.p.collects(v.args[1].typ):
				r := origin(v.args[1])
				stores[r] = append(stores[r], v)
			}
		}
	}
	owned := func(a *value) bool {
		if w.p.plain(a.typ0()) {
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
				ok = ok && owned(st.args[0]) && st.note.Kind != report.InSlice
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
	w.users, w.in, w.held, w.looked = map[*value][]*value{}, map[*value][]*object{}, map[*value][]*object{}, map[*value][]*object{}
	for _, v := range cand {
		for _, a := range v.args {
			r := origin(a)
			if us := w.users[r]; len(us) == 0 || us[len(us)-1] != v {
				w.users[r] = append(us, v)
			}
		}
		if in[v] && (reached[v] || w.ownerOp(v)) {
			owners = append(owners, v)
			w.owner[v] = true
			o := w.add(objPhi, v)
			o.coll = w.p.collects(v.typ)
			for _, st := range stores[v] {
				w.store(o, st.args[0])
			}
		}
	}
	for _, o := range w.objs {
		if o.kind == objSite && w.p.collects(o.def.typ0()) {
			o.coll = true
			for _, st := range stores[o.def] {
				w.store(o, st.args[0])
				if !owned(st.args[0]) {
					o.complex = "something that is not owned is stored in it"
				}
			}
		}
	}
	owners = w.reconcile(owners)
	for range 3 {
		if !w.loosen() {
			break
		}
		for _, o := range w.objs {
			o.members = nil
		}
		owners = w.reconcile(slices.DeleteFunc(owners, func(v *value) bool { return !w.owner[v] }))
	}
	w.users, w.in, w.held, w.looked = nil, nil, nil, nil
	for i, o := range w.objs {
		o.id = i
	}
}

// store notes that v is stored in collection o.
func (w *flow) store(o *object, v *value) {
	w.stores[o.def] = append(w.stores[o.def], v)
	w.held[origin(v)] = append(w.held[origin(v)], o)
}

// reconcile follows all webs and disowns what conflicts, the first one each time, until
// nothing does. Only what a decision may have changed is looked at again.
func (w *flow) reconcile(owners []*value) []*value {
	for _, o := range w.objs {
		if o.members == nil {
			w.web(o)
		}
	}
	index := map[*value]int{}
	for i, v := range owners {
		index[v] = i
	}
	var again []int // of those before next, what is to be looked at again, ascending
	for next := 0; len(again) > 0 || next < len(owners); {
		i := next
		if len(again) > 0 {
			i, again = again[0], again[1:]
		} else {
			next++
		}
		v := owners[i]
		if !w.owner[v] || !w.conflicts(v) {
			continue
		}
		// v is an alias, not an owner: what flows into it keeps its objects.
		dirty := map[*object]bool{}
		w.disown(v, dirty)
		for o := range dirty {
			if w.byDef[o.def] == o { // and was not disowned as well
				w.web(o)
			}
		}
		for _, o := range w.in[v] { // it counts for what else these go into
			dirty[o] = true
		}
		for o := range dirty {
			for _, u := range w.users[o.def] {
				if k, ok := index[u]; ok && k < next && w.owner[u] {
					if at, found := slices.BinarySearch(again, k); !found {
						again = slices.Insert(again, at, k)
					}
				}
			}
		}
	}
	w.bury()
	return slices.DeleteFunc(owners, func(v *value) bool { return !w.owner[v] })
}

// bury drops the objects of what owns no more.
func (w *flow) bury() {
	if w.dead {
		w.objs = slices.DeleteFunc(w.objs, func(o *object) bool { return w.byDef[o.def] != o })
		w.dead = false
	}
}

// passing reports whether v is a literal without a variable that calls borrow and
// nobody keeps, as in f([]*Buf{a, b}). It could be freed only under the names of
// its elements, so they stay with those.
func passing(v *value) bool {
	if v.op != opPack || v.note.Kind != report.Literal {
		return false
	}
	for _, u := range v.users {
		switch u.op {
		case opCopy:
			for _, x := range u.users {
				if x.op != opCall {
					return false
				}
			}
		case opCall, opUse, opHold, opDiscard:
		default:
			return false
		}
	}
	return true
}

// disown makes v an alias. A phi that v flows into as an owner loses its owner
// too, as v has none to hand over. Into dirty, if it is not nil, go the objects whose webs
// change.
func (w *flow) disown(v *value, dirty map[*object]bool) {
	if !w.owner[v] {
		return
	}
	delete(w.owner, v)
	delete(w.byDef, v)
	w.dead = true
	if dirty != nil {
		w.met(v, dirty)
	}
	for _, u := range w.users[v] {
		w.disown(u, dirty)
	}
}

// met adds the objects whose webs are others now that v is an alias.
func (w *flow) met(v *value, dirty map[*object]bool) {
	for _, a := range v.args {
		if o := w.byDef[origin(a)]; o != nil {
			dirty[o] = true
		}
		for _, o := range w.in[a] {
			if o.members[a] == mWhole && containsKey(o.members, a) && w.byDef[o.def] == o {
				dirty[o] = true
			}
		}
		w.collections(w.in[a], dirty)
	}
	// Collections that met v in another way.
	w.collections(w.in[v], dirty)
	w.collections(w.held[v], dirty)
	w.collections(w.looked[v], dirty)
	for _, x := range w.stores[v] {
		w.collections(w.in[x], dirty)
	}
}

// look notes that o's web depends on q, if that is an object: while owners are decided.
func (w *flow) look(o, q *object) {
	if w.looked != nil && q != nil {
		w.looked[q.def] = append(w.looked[q.def], o)
	}
}

// collections adds those of the objects that are collections.
func (w *flow) collections(objs []*object, to map[*object]bool) {
	for _, o := range objs {
		if o.coll && w.byDef[o.def] == o {
			to[o] = true
		}
	}
}

func containsKey(m map[*value]memberKind, v *value) bool { _, ok := m[v]; return ok }

// conflicts reports whether to owner v some edge does not hand over alone.
func (w *flow) conflicts(v *value) bool {
	if v.op != opPhi {
		if w.putsTwice(v) {
			return true
		}
		// What the collection was must not be used any more; its elements may.
		if puts(v) == 0 || len(v.args) == 0 {
			return false
		}
		o := w.byDef[origin(v.args[0])]
		return o != nil && slices.ContainsFunc(o.order[:o.nOwn], func(m *value) bool {
			return m != v && w.liveAfter(m, v.blk, v.at) && m.blk.order >= 0 && !(m.op == opPhi && w.owner[m])
		})
	}
	for i, a := range v.args {
		r := origin(a)
		if r.op == opNil {
			continue
		}
		o := w.byDef[r]
		if o == nil {
			return true
		}
		// Handed over twice on the same edge?
		for _, u := range v.blk.instrs {
			if u.op != opPhi {
				break
			}
			if u != v && w.owner[u] && origin(u.args[i]) == r {
				return true
			}
		}
		// Used otherwise afterwards?
		for _, m := range o.order[:o.nOwn] {
			switch {
			case m == v:
			case m.op == opPhi && m.blk == v.blk:
				if containsKey(o.members, m.args[i]) && w.isUseful(m) {
					return true
				}
			case w.liveIn(m, v.blk):
				return true
			}
		}
	}
	return false
}

// putsTwice reports whether v, an operation that makes a collection, puts the
// same thing into it more than once: {b, b}, append(t, t...).
func (w *flow) putsTwice(v *value) bool {
	for i, a := range v.args {
		r := origin(a)
		if r.op == opNil || w.p.plain(a.typ0()) {
			continue
		}
		for _, b := range v.args[:i] {
			if origin(b) == r {
				return true
			}
		}
	}
	return false
}
