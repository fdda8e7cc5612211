package escape

// Loose collections: local slices, arrays, maps and channels that hold buffers
// but cannot own them, because a buffer in them is also freed, returned or
// replaced by its own name, because not all they hold is owned, or because they hold
// it as the key of a map. What they hold
// keeps its own object; it is in use for as long as they are, unless nobody looks
// into them.

import (
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/report"
)

// loosen decides which collections are loose; it reports whether there are new
// ones, so that webs have to be followed again.
func (w *flow) loosen() bool {
	any := false
	add := func(v *value) {
		if !w.loose[v] {
			w.loose[v] = true
			any = true
		}
	}
	var owners []*value // collections that own, in source order
	for _, b := range w.f.rpo {
		for _, v := range b.instrs {
			switch {
			case v.op == opPack && v.note.Kind == report.Made && w.localChan(v), w.keyed(v):
				add(v)
			case !w.ownerOp(v) && !(v.op == opPhi && w.owner[v] && w.p.collects(v.typ)):
			case w.owner[v]:
				owners = append(owners, v)
			default:
				add(v)
			}
		}
	}
	for _, tree := range w.trees(owners) {
		switch {
		case slices.ContainsFunc(tree, func(v *value) bool { return w.f.tight[v] }):
			continue
		case w.unread(tree):
			for _, v := range tree {
				w.idle[v] = true
			}
		case !w.better(tree):
			continue
		}
		w.loosened = append(w.loosened, looseTree{tree, w.givenTo(tree)})
		for _, v := range tree {
			w.disown(v, nil)
			if w.ownerOp(v) {
				add(v)
			}
		}
	}
	w.bury()
	return any
}

// trees groups collections that become one another.
func (w *flow) trees(owners []*value) [][]*value {
	parent := map[*value]*value{}
	var find func(v *value) *value
	find = func(v *value) *value {
		for parent[v] != nil {
			if up := parent[parent[v]]; up != nil {
				parent[v] = up
			}
			v = parent[v]
		}
		return v
	}
	owns := setOf(owners)
	for _, v := range owners {
		for i, a := range v.args {
			if r := origin(a); (v.op == opPhi || i < puts(v)) && owns[r] && find(r) != find(v) {
				parent[find(r)] = find(v)
			}
		}
	}
	index := map[*value]int{}
	var out [][]*value
	for _, v := range owners {
		r := find(v)
		i, ok := index[r]
		if !ok {
			i = len(out)
			index[r] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], v)
	}
	return out
}

func setOf(vs []*value) map[*value]bool {
	m := make(map[*value]bool, len(vs))
	for _, v := range vs {
		m[v] = true
	}
	return m
}

// A looseTree is collections that became loose although they could own, and what
// is put into them.
type looseTree struct {
	tree  []*value
	given []*value
}

// givenTo lists what is put into the collections of a tree.
func (w *flow) givenTo(tree []*value) []*value {
	var given []*value
	for _, v := range tree {
		given = append(given, w.stores[v]...)
		for i, a := range v.args {
			if v.op != opPhi && i >= puts(v) && !w.p.plain(a.typ0()) {
				given = append(given, a)
			}
		}
	}
	return given
}

// unread reports whether nobody looks into the collections of a tree: buffers are
// put into them, and that is all. They keep nothing in use.
func (w *flow) unread(tree []*value) bool {
	in := setOf(tree)
	for _, v := range tree {
		stored := setOf(w.stores[v])
		for _, u := range v.users {
			switch {
			case in[u] && (u.op == opPhi || u.args[0] == v && !slices.Contains(u.args[1:], v)):
			case u.op == opSet && u.place.root.exposed == "", u.op == opDiscard, u.op == opGap, u.op == opCmp:
			case u.op == opStore && len(u.args) == 2 && u.args[1] == v && u.args[0] != v && stored[u.args[0]]:
			default:
				return false
			}
		}
	}
	return true
}

// better reports whether the buffers in a tree of collections are better freed
// one by one: the collection stays here, its buffers are made as often as it is,
// and one of them has a life of its own, or all have names and the collection has none.
func (w *flow) better(tree []*value) bool {
	depth := -1
	apart := w.nameless(tree)
	for _, v := range tree {
		o := w.byDef[v]
		if o == nil {
			return false
		}
		if v.op == opPack {
			if depth >= 0 && v.blk.loopDepth != depth {
				return false
			}
			depth = v.blk.loopDepth
		}
		apart = apart || o.apart || !w.isUseful(v) || v.op == opAppend && v.note.Kind == report.Put
		stays := true
		o.eachEvent(func(e event) {
			switch {
			case e.own != nil, (e.kind == evReturn || e.kind == evMove) && e.m == mView, (e.kind == evFree || e.kind == evDefer) && e.m == mMaybe:
				apart = true // by its own name
			case e.kind != evUse && e.kind != evFill && e.kind != evGive:
				stays = false
			}
		})
		if !stays {
			return false
		}
	}
	for _, a := range w.givenTo(tree) {
		r := origin(a)
		o := w.byDef[r]
		if r.op == opNil {
			continue
		}
		if o == nil || o.coll || o.kind == objParam || r.blk.loopDepth != depth {
			return false
		}
		gives := 0
		var give *value
		o.eachEvent(func(e event) {
			switch e.kind {
			case evGive:
				gives++
				give = e.at
			case evUse:
			default:
				apart = true
			}
		})
		apart = apart || gives > 1 || give != nil && o.usedAfter(give)
	}
	return apart && depth >= 0
}

// nameless reports whether no variable holds a collection of a tree, as that of a literal that is
// ranged over, while variables hold all that is in it.
func (w *flow) nameless(tree []*value) bool {
	for _, v := range tree {
		o := w.byDef[v]
		if o == nil {
			return false
		}
		if o.put(); len(o.places) > 0 {
			return false
		}
	}
	for _, a := range w.givenTo(tree) {
		o := w.byDef[origin(a)]
		if o == nil {
			continue
		}
		if o.put(); len(o.places) == 0 {
			return false
		}
	}
	return true
}

// usedAfter reports whether o is used by its own name after instruction v.
func (o *object) usedAfter(v *value) bool {
	found := false
	o.eachEvent(func(e event) {
		found = found || e.kind == evUse && e.at != v && (e.at.blk == v.blk && e.at.at > v.at || e.at.blk != v.blk && reaches(v.blk, e.at.blk))
	})
	return found
}

// localChan reports whether v makes a channel of buffers that stays here: it is
// sent to and received from, and nothing else.
func (w *flow) localChan(v *value) bool {
	ch, ok := v.typ0().Underlying().(*types.Chan)
	if !ok || !w.p.holdsResource(ch.Elem()) {
		return false
	}
	seen := map[*value]bool{v: true}
	stack := []*value{v}
	for len(stack) > 0 {
		m := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, u := range m.users {
			switch u.op {
			case opSet:
				if u.place.root.exposed != "" {
					return false
				}
			case opCopy:
				if !seen[u] {
					seen[u] = true
					stack = append(stack, u)
				}
			case opSend:
				if u.args[0] == m {
					return false
				}
			case opRecv, opUse, opHold, opLoopFree, opCmp, opDiscard, opElem:
			default:
				return false
			}
		}
	}
	return true
}

// keyed reports whether v makes a map that may have buffers as keys, and none as
// elements.
func (w *flow) keyed(v *value) bool {
	if v.op != opPack || v.note.Kind != report.Made && v.note.Kind != report.Literal {
		return false
	}
	m, ok := v.typ0().Underlying().(*types.Map)
	return ok && !w.p.plain(m.Key()) && !w.p.holdsResource(m.Elem())
}

// holders lists what an element that is stored into collection v can be read
// through; false if that is not known.
func (w *flow) holders(v *value) ([]*value, bool) {
	seen := map[*value]bool{}
	var out []*value
	stack := []*value{origin(v)}
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if v.op == opNil || seen[v] {
			continue
		}
		seen[v] = true
		switch {
		case len(seen) > 200:
			return nil, false
		case v.op == opPhi:
			for _, a := range v.args {
				stack = append(stack, origin(a))
			}
		case v.op == opAppend && w.loose[v]:
			if len(v.args) > 0 {
				stack = append(stack, origin(v.args[0]))
			}
		case !w.loose[v]:
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

// fresh reports whether the loose collection h is made anew before each buffer o
// that goes into it, so that it cannot hold an earlier one.
func (w *flow) fresh(h *value, o *object) bool {
	if !w.loose[h] || h.op == opPhi || h.blk == nil {
		return false
	}
	if h.blk == o.def.blk {
		return h.at < o.def.at
	}
	return !w.reachesAround(w.f.rpo[0], o.def.blk, h.blk) &&
		!slices.ContainsFunc(o.def.blk.succs, func(s *block) bool { return w.reachesAround(s, o.def.blk, h.blk) })
}

// reachesAround reports whether a path leads from a to b around x.
func (w *flow) reachesAround(a, b, x *block) bool {
	seen := map[*block]bool{x: true}
	stack := []*block{a}
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[v] {
			continue
		}
		if v == b {
			return true
		}
		seen[v] = true
		stack = append(stack, v.succs...)
	}
	return false
}

// isLoose reports whether v is a loose collection.
func (w *flow) isLoose(v *value) bool {
	_, ok := w.holders(v)
	return ok
}

// holds makes every name of collection c a holder of o.
func (w *flow) holds(o *object, c, m *value) bool {
	if o.coll || origin(m) != o.def || o.members[m] != mWhole {
		return false
	}
	if w.idle[origin(c)] {
		return true
	}
	hs, ok := w.holders(c)
	if !ok || len(hs) == 0 {
		return false
	}
	for _, h := range hs {
		w.member(o, h, mHolder, m)
	}
	return true
}

// leftBefore reports whether a collection may have left when o is put into it: whoever
// has it then finds o in it, though o had not been made when it left.
func (w *flow) leftBefore(o *object) bool {
	for x, evs := range o.events {
		if !slices.ContainsFunc(evs, func(e event) bool { return e.kind == evMove && e.m != mWhole }) {
			continue
		}
		for _, u := range o.puts {
			if c := origin(u.args[1]); u != x && w.passes(x, u, c) {
				return true
			}
		}
	}
	return false
}

// passes reports whether a path leads from instruction x to u without making c anew, unless
// c is one of several.
func (w *flow) passes(x, u, c *value) bool {
	if x.blk == u.blk && x.at < u.at {
		return c.op == opPhi || c.blk != x.blk || c.at < x.at || u.at < c.at
	}
	around := c.blk
	if c.op == opPhi {
		around = nil
	}
	return slices.ContainsFunc(x.blk.succs, func(s *block) bool { return w.reachesAround(s, u.blk, around) })
}
