package escape

// How states pass from block to block, and where frees are put on the way.

import (
	"slices"

	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// A blockHeap gives blocks in their order.
type blockHeap []*block

func (h blockHeap) Len() int           { return len(h) }
func (h blockHeap) Less(i, j int) bool { return h[i].order < h[j].order }
func (h blockHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *blockHeap) Push(x any)        { *h = append(*h, x.(*block)) }
func (h *blockHeap) Pop() any {
	last := len(*h) - 1
	b := (*h)[last]
	*h = (*h)[:last]
	return b
}

// enter joins what the predecessors hand in.
func (pl *planner) enter(b *block) []state {
	g := pl.g
	in := make([]state, len(g.objs)*g.n)
	for k, p := range b.preds {
		out := g.out[p]
		if out == nil {
			if g.inReg[p] && (g.within == nil || g.within[p]) {
				continue // not reached yet, or never
			}
			if p.order >= b.order && !pl.rounds[p] {
				continue // what a loop carries back is known when its body was seen
			}
			// Nothing of the group is there, or nothing that is owned.
			out = pl.none()
		}
		pl.cross(p, succIndex(b, k), out, in)
	}
	if b.order == 0 {
		for j := range in {
			in[j] |= sNone
		}
	}
	for j, o := range g.objs {
		if o.def.op == opPhi && o.def.blk == b {
			for c := range g.n {
				in[j*g.n+c] &^= sNone
			}
		}
	}
	return in
}

// unseen closes the loops of which what they carry back was never seen, as nothing is owned
// any more inside; it returns the blocks to enter once more.
func (pl *planner) unseen() map[*block]bool {
	g := pl.g
	again := map[*block]bool{}
	for b := range g.in {
		for _, p := range b.preds {
			if p.order >= b.order && g.out[p] == nil && !g.inReg[p] && !pl.rounds[p] {
				pl.rounds[p], again[b] = true, true
			}
		}
	}
	return again
}

func (pl *planner) none() []state {
	if pl.nothing == nil {
		pl.nothing = make([]state, len(pl.g.objs)*pl.g.n)
		for i := range pl.nothing {
			pl.nothing[i] = sNone
		}
	}
	return pl.nothing
}

// succIndex returns which successor edge of b.preds[k] is b's k-th entry.
func succIndex(b *block, k int) int { return b.leaves[k] }

// cross joins into in what passes over the i-th edge out of p.
func (pl *planner) cross(p *block, i int, out, in []state) {
	g := pl.g
	s := p.succs[i]
	k := predIndex(p, i)
	// A test for nil of the object itself, or of what may be the object.
	var tested, maybe []*object
	var nonnil bool
	if p.cond != nil && len(p.succs) == 2 {
		c := p.cond
		neg := false
		for c.op == opNot {
			c, neg = c.args[0], !neg
		}
		x, ok := nilTest(c)
		if ok {
			nonnil = (c.tok.String() == "!=") == (i == 0)
			if neg {
				nonnil = !nonnil
			}
		}
		switch {
		case ok && !saysNil(x):
			// Nil here does not say that there is no buffer, but there is none by that name.
			if o := g.w.byDef[origin(x)]; o != nil && g.index(o) >= 0 && !nonnil && o.freedIn(p.succs[1-i]) {
				maybe = append(maybe, o)
			}
		case ok:
			a := x
			for a.op == opCopy {
				a = a.args[0].find()
			}
			of, pointer := []*value{x}, a.op == opAddr
			if pointer {
				of = a.args // nil, none of its fields was made; not nil, each may be
			}
			for _, v := range of {
				if o := g.w.byDef[origin(v)]; o != nil && g.index(o) >= 0 && !(pointer && nonnil && !o.coll) {
					tested = append(tested, o)
				}
				for _, o := range g.objs {
					if o.freedAs(origin(v)) {
						maybe = append(maybe, o)
					}
				}
			}
		}
	}
	for c := range g.n {
		g.edge(p, i, c, func(cc int) {
			for j, o := range g.objs {
				st := out[j*g.n+c]
				if st == 0 {
					continue
				}
				if !nonnil && slices.Contains(maybe, o) {
					st = moved(st) // as behind the free that the other edge leads to
				}
				if slices.Contains(tested, o) {
					if nonnil && !(o.coll && st == sNil) { // an empty collection is none that is nil
						st &^= sNil
					} else if !nonnil {
						st &^= sOwned | sInserted
						if st == 0 {
							continue
						}
					}
				}
				if t := g.takes(o, s, k); t != nil && st != sNone {
					in[g.index(t)*g.n+cc] |= st
					if t != o && !(o.def.op == opPhi && o.def.blk == s) {
						in[j*g.n+cc] |= sMoved
					}
					continue
				}
				if o.def.op == opPhi && o.def.blk == s {
					if pl.record && st&sOwned != 0 && pl.unfixed[o] == nil {
						pl.unfixed[o] = o.def // made again while the last one is still owned
					}
					continue // a new object of the same phi begins
				}
				in[j*g.n+cc] |= st
			}
			// Phis that get nil on this edge.
			for _, v := range g.w.ownersAt(s) {
				if o := g.w.byDef[v]; g.index(o) >= 0 && origin(v.args[k]).op == opNil {
					in[g.index(o)*g.n+cc] |= sNil
				}
			}
		})
	}
}

// freedAs reports whether the program frees v, which may be o or something else, by a
// name of v.
func (o *object) freedAs(v *value) bool {
	if k, ok := o.members[v]; !ok || k != mMaybe {
		return false
	}
	found := false
	o.eachEvent(func(e event) {
		found = found || (e.kind == evFree || e.kind == evDefer) && !e.ours && e.m == mMaybe &&
			slices.ContainsFunc(e.at.args, func(a *value) bool { return origin(a) == v })
	})
	return found
}

// freedIn reports whether the program frees o in b.
func (o *object) freedIn(b *block) bool {
	return slices.ContainsFunc(b.instrs, func(v *value) bool {
		return slices.ContainsFunc(o.events[v], func(e event) bool { return e.kind == evFree && !e.ours })
	})
}

// through carries states through b; with pl.record set it notes frees and issues.
func (pl *planner) through(b *block, in []state) []state {
	g := pl.g
	st := slices.Clone(in)
	pos := g.pos[b]
	// What is live after each position, from the end.
	lives := make([][]bool, len(pos)+1)
	lives[len(pos)] = g.liveOut(b)
	for k := len(pos) - 1; k >= 0; k-- {
		l := slices.Clone(lives[k+1])
		g.back(b.instrs[pos[k]], l)
		lives[k] = l
	}
	start := 0
	for k := 0; ; k++ {
		end := len(b.instrs)
		if k < len(pos) {
			end = pos[k]
		}
		pl.insert(b, start, end, k == len(pos), st, lives[k])
		if k == len(pos) {
			break
		}
		v := b.instrs[pos[k]]
		pl.step(v, st)
		start = pos[k] + 1
	}
	return st
}

// insert plans frees in the stretch [start, end) of b.
func (pl *planner) insert(b *block, start, end int, last bool, st []state, live []bool) {
	g := pl.g
	if pl.dry || b.doomed {
		return
	}
	first := -1
	i, _ := slices.BinarySearch(b.gaps, start)
	for ; i < len(b.gaps) && b.gaps[i] < end; i++ {
		switch k := b.instrs[b.gaps[i]].gap.kind; {
		case k == rewrite.ElseIf && b.lastEffect < b.gaps[i]:
			continue // the condition does nothing: the heads of its branches will do
		case (k == rewrite.Else || k == rewrite.Default) && len(b.succs) == 1 && len(b.succs[0].preds) == 1 && pl.inScope(headGapOf(b.succs[0], 0)):
			continue // after the statement is the same moment: the branches that are written leave
		}
		first = b.gaps[i]
		break
	}
	if pl.named {
		if i, _ := slices.BinarySearch(b.named, start); i < len(b.named) && b.named[i] < end && (first < 0 || b.named[i] < first) {
			first = b.named[i]
		}
	}
	inside := pl.copiesIn(b, start, end)
	if pl.record {
		for _, i := range inside {
			for j, o := range g.objs {
				pl.inside.reached[gapKey{o, b.instrs[i]}] = slices.Clone(st[j*g.n : (j+1)*g.n])
			}
		}
	}
	if first < 0 && len(inside) == 0 {
		return
	}
	ordinary := first
	for j := len(g.objs) - 1; j >= 0; j-- {
		o := g.objs[j]
		if o.kind == objParam || !pl.due(j, st, live) {
			continue
		}
		first := pl.gapFor(o, b, ordinary, end)
		for _, i := range inside {
			if (first < 0 || i < first) && !pl.forbid[gapKey{o, b.instrs[i]}] {
				first = i
			}
		}
		if first < 0 || pl.forbid[gapKey{o, b.instrs[first]}] {
			continue
		}
		if last && b.lastEffect < first && len(b.succs) == 1 && len(b.succs[0].preds) > 1 && pl.sinks(b, j) {
			continue
		}
		mayNil := g.caution&maybeNil != 0
		for c := range g.n {
			if st[j*g.n+c]&sNil != 0 {
				mayNil = true
			}
		}
		if pl.record && !pl.placed[gapKey{o, b.instrs[first]}] {
			pl.placed[gapKey{o, b.instrs[first]}] = true
			pl.plan = append(pl.plan, freePoint{obj: o, gap: b.instrs[first], isNil: mayNil})
		}
		for c := range g.n {
			if s := st[j*g.n+c]; s&sOwned != 0 {
				st[j*g.n+c] = s&^(sOwned|sPerhaps) | sInserted
			}
		}
	}
}

// copiesIn lists the gaps in the stretch at which a free inside a deferred literal may stand.
func (pl *planner) copiesIn(b *block, start, end int) []int {
	if pl.inside.stmt == nil {
		return nil
	}
	from, _ := slices.BinarySearch(b.copied, start)
	to, _ := slices.BinarySearch(b.copied, end)
	return slices.DeleteFunc(slices.Clone(b.copied[from:to]), func(i int) bool { return b.instrs[i].gap.deferred != pl.inside.stmt })
}

// sinks reports whether the free of object j may be left to b's successor.
func (pl *planner) sinks(b *block, j int) bool {
	return pl.accepts(b.succs[0], j)
}

// due reports whether object j is owned and not needed, whatever the
// conditions are.
func (pl *planner) due(j int, st []state, live []bool) bool {
	g := pl.g
	ok := pl.dueIn(g.objs[j])
	owned := false
	for c := range g.n {
		s := st[j*g.n+c]
		if s == 0 {
			continue
		}
		if s&^ok != 0 || s&(sOwned|sDeferred) != 0 && live[j*g.n+c] {
			return false // a deferred call frees it only when it has been read
		}
		owned = owned || s&sOwned != 0
	}
	return owned
}

// refuse takes back accepts that some predecessor does not honour; it reports
// whether it took one back.
func (pl *planner) refuse() bool {
	g := pl.g
	taken := false
	var blocks []*block
	for b := range pl.accept {
		blocks = append(blocks, b)
	}
	slices.SortFunc(blocks, func(a, b *block) int { return a.order - b.order })
	for _, b := range blocks {
		for j := range g.objs {
			if !pl.accept[b][j] {
				continue
			}
			// Is anything due handed in at all?
			pending, other := false, false
			for k := range b.preds {
				s := pl.handed(b, k, j)
				pending = pending || s&sOwned != 0
				other = other || s&^(sOwned|sNil) != 0
			}
			if pending && other {
				pl.accept[b][j] = false
				taken = true
			}
		}
	}
	return taken
}
