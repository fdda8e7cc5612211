package escape

// Owners: which phis and collections own, because every way in hands a buffer
// over and keeps nothing.

import (
	"slices"
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
			case v.op == opPhi && !plain(v.typ0()) && w.isUseful(v), w.ownerOp(v) && !passing(v):
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
	for i, o := range w.objs {
		o.id = i
	}
}

// reconcile follows all webs and disowns what conflicts, until nothing does.
func (w *flow) reconcile(owners []*value) []*value {
	for {
		for _, o := range w.objs {
			if o.members == nil {
				w.web(o)
			}
		}
		bad := w.conflict(owners)
		if bad == nil {
			return owners
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
}

// passing reports whether v is a literal without a variable that calls borrow and
// nobody keeps, as in f([]*Buf{a, b}). It could be freed only under the names of
// its elements, so they stay with those.
func passing(v *value) bool {
	if v.op != opPack || v.note != "literal" {
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
			if w.putsTwice(v) {
				return v
			}
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

// putsTwice reports whether v, an operation that makes a collection, puts the
// same thing into it more than once: {b, b}, append(t, t...).
func (w *flow) putsTwice(v *value) bool {
	for i, a := range v.args {
		r := origin(a)
		if r.op == opNil || plain(a.typ0()) {
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
