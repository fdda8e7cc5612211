package escape

// The plan: where each object is freed. One forward pass over the blocks in
// which the group is alive carries the state of each object; at the first gap
// at which an object is owned and no longer needed, a free is planned.
//
// Where nothing happens between a gap and the end of its block, the free may
// sink into the block where paths join, if it is due on all of them: that is
// the same moment, reads better, and is the only place for the exit of a loop.

import (
	"container/heap"
	"maps"
	"slices"
)

type freePoint struct {
	obj   *object
	gap   *value // opGap
	isNil bool   // the object may be nil here
}

type planner struct {
	g       *group
	accept  map[*block][]bool // per object: a free that is due may be handed into the block
	plan    []freePoint
	issues  []issue
	exits   []exitState
	at      map[*value][]exitState // by return
	unfixed map[*object]*value     // owned at an exit: no place was found
	dry     bool                   // plan nothing: what the program does by itself
	repeats map[*object]bool       // freeing twice is harmless
	record  bool
	placed  map[gapKey]bool
	nothing []state
	bad     string
	before  map[gapKey][]state // the states at planned deferred frees
	defers  map[*object]bool   // these have such a free: they must not leave behind it
	forbid  map[gapKey]bool    // free not here: see postpone
	rounds  map[*block]bool    // ends of loops in which nothing is owned: see unseen
	named   bool               // frees may stand in literals that have a name
	inside  insidePlan         // frees in a literal that a deferred statement calls
}

type gapKey struct {
	o *object
	v *value
}

// An issue is a use or free in a wrong state.
type issue struct {
	obj   *object
	at    *value
	ev    event
	must  bool // in every state that can reach it
	st    state
	reach state
}

// exitState is the state of the objects at a return.
type exitState struct {
	ret *value
	st  []state // before the return itself
}

// exitsAt lists the states at one return.
func (pl *planner) exitsAt(ret *value) []exitState {
	if pl.at == nil {
		pl.at = map[*value][]exitState{}
		for _, e := range pl.exits {
			pl.at[e.ret] = append(pl.at[e.ret], e)
		}
	}
	return pl.at[ret]
}

func (g *group) newPlanner(dry bool) *planner {
	pl := &planner{g: g, dry: dry, accept: map[*block][]bool{}, unfixed: map[*object]*value{}, repeats: map[*object]bool{}, forbid: map[gapKey]bool{}}
	for _, o := range g.objs {
		pl.repeats[o] = g.w.repeatable(o)
	}
	return pl
}

// run carries states forward until they settle, taking back hopes of sinking
// that do not hold. It reports why not, if they do not settle.
func (pl *planner) run() string {
	for range 200 {
		if why := pl.settle(); why != "" {
			return why
		}
		if pl.dry || !pl.refuse() {
			pl.record = true
			pl.placed, pl.inside.reached = map[gapKey]bool{}, map[gapKey][]state{}
			pl.plan, pl.issues, pl.exits, pl.at = nil, nil, nil, nil
			clear(pl.unfixed)
			pl.bad = ""
			pl.visit()
			pl.record = false
			if pl.bad != "" {
				return pl.bad
			}
			if pl.dry || len(pl.unfixed) == 0 || !pl.postpone() {
				return ""
			}
		}
	}
	return "no consistent place for its frees was found"
}

// postpone forbids frees that come too early for a path that joins theirs
// without a place of its own; it reports whether there was one.
func (pl *planner) postpone() bool {
	g := pl.g
	any := false
	done := map[*object]bool{}
	for _, b := range g.entered() {
		for j, o := range g.objs {
			if done[o] {
				continue
			}
			var all state
			for c := range g.n {
				all |= g.in[b][j*g.n+c]
			}
			// Where nothing is owned any more, states are not carried on: none.
			if all&sOwned == 0 || all&(sInserted|sNone) == 0 || !pl.mixes(b, j) {
				continue
			}
			for _, fp := range pl.plan {
				if fp.obj == o && !pl.forbid[gapKey{o, fp.gap}] && reaches(fp.gap.blk, b) {
					pl.forbid[gapKey{o, fp.gap}] = true
					done[o] = true // what follows suffers from this one
				}
			}
			if !done[o] {
				continue
			}
			any = true
			// What flows together here may be due here now.
			if a := pl.accept[b]; a != nil {
				a[j] = g.w.inScope(o, headGapOf(b, 0))
			}
		}
	}
	return any
}

// mixes reports whether paths that have freed object j and paths that own it
// meet in b; around a loop they may come back mixed already.
func (pl *planner) mixes(b *block, j int) bool {
	for k := range b.preds {
		if all := pl.handed(b, k, j); all&sOwned != 0 && all&(sInserted|sNone) != 0 {
			return false
		}
	}
	return true
}

// handed is the state of object j, under any condition, on entry of b from its
// k-th predecessor.
func (pl *planner) handed(b *block, k, j int) state {
	g := pl.g
	out := g.out[b.preds[k]]
	if out == nil {
		if g.inReg[b.preds[k]] {
			return 0
		}
		out = pl.none()
	}
	in := make([]state, len(g.objs)*g.n)
	pl.cross(b.preds[k], succIndex(b, k), out, in)
	var all state
	for c := range g.n {
		all |= in[j*g.n+c]
	}
	return all
}

// reaches reports whether a path leads from a to b without leaving through
// a's own loop head.
func reaches(a, b *block) bool {
	seen := map[*block]bool{}
	stack := []*block{a}
	for len(stack) > 0 {
		x := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if x == b {
			return true
		}
		if seen[x] || x.order > b.order {
			continue
		}
		seen[x] = true
		stack = append(stack, x.succs...)
	}
	return false
}

// accepts reports whether the free of object j may be due on entry of b.
func (pl *planner) accepts(b *block, j int) bool {
	a := pl.accept[b]
	if a == nil {
		a = make([]bool, len(pl.g.objs))
		ok := b.forked && headGap(b, 0)
		for i, o := range pl.g.objs {
			a[i] = ok && pl.g.w.inScope(o, headGapOf(b, 0))
		}
		pl.accept[b] = a
	}
	return a[j]
}

// headGap reports whether a gap comes before anything happens in b, or in what
// it falls through to.
func headGap(b *block, depth int) bool { return headGapOf(b, depth) != nil }

// headGapOf returns that gap, or nil.
func headGapOf(b *block, depth int) *value {
	if len(b.gaps) > 0 && b.gaps[0] < b.firstEffect {
		return b.instrs[b.gaps[0]]
	}
	if b.firstEffect < len(b.instrs) || depth > 8 || len(b.succs) != 1 {
		return nil
	}
	return headGapOf(b.succs[0], depth+1)
}

// settle computes the states on entry and exit of every block that is reached.
func (pl *planner) settle() string {
	g := pl.g
	// Exits matter for parameters wherever they are.
	full := g.full || g.objs[0].kind == objParam || pl.inside.stmt != nil
	g.in, g.out = map[*block][]state{}, map[*block][]state{}
	work := map[*block]bool{}
	beyond := 0 // blocks seen in which nothing of the group is alive
	for _, b := range g.region {
		if g.within == nil || g.within[b] {
			work[b] = true
		}
	}
	pl.rounds = map[*block]bool{}
	for sweep := 0; len(work) > 0; sweep++ {
		if sweep > 60 {
			return "the states of its variables do not settle"
		}
		var order []*block
		for b := range work {
			order = append(order, b)
		}
		slices.SortFunc(order, func(a, b *block) int { return a.order - b.order })
		// Sweep in order, following blocks that come up on the way.
		var up blockHeap
		for len(order)+len(up) > 0 {
			var b *block
			if len(order) > 0 && (len(up) == 0 || order[0].order < up[0].order) {
				b, order = order[0], order[1:]
			} else {
				b = heap.Pop(&up).(*block)
			}
			if !work[b] {
				continue
			}
			delete(work, b)
			in := pl.enter(b)
			if sweep > 0 || g.out[b] != nil {
				if slices.Equal(in, g.in[b]) && g.out[b] != nil {
					continue
				}
			}
			g.in[b] = in
			out := pl.through(b, in)
			if slices.Equal(out, g.out[b]) {
				continue
			}
			still := g.out[b] == nil && quiet(out) && !full
			if g.out[b] == nil && !g.inReg[b] {
				beyond++
			}
			still = still || beyond > maxBeyond && !full && pl.hopeless(out)
			g.out[b] = out
			for _, s := range b.succs {
				if g.within != nil && !g.within[s] {
					continue
				}
				if (still || pl.dry && !full) && !g.inReg[s] && g.in[s] == nil {
					continue // nothing to place there
				}
				if !work[s] {
					work[s] = true
					if s.order > b.order {
						heap.Push(&up, s)
					}
				}
			}
		}
		if len(work) == 0 {
			work = pl.unseen()
		}
	}
	return ""
}

// maxBeyond bounds the blocks through which what cannot be freed any more is followed to
// the exit at which it is still owned. In a long function that would be all that comes
// after, for each buffer; then it is taken to get to the first exit that a path leads to.
const maxBeyond = 32

// hopeless reports whether what is owned is so together with another state, under each
// combination: nothing that happens later makes it due.
func (pl *planner) hopeless(st []state) bool {
	g := pl.g
	for j, o := range g.objs {
		for _, s := range st[j*g.n : (j+1)*g.n] {
			if s&sOwned != 0 && s&^pl.dueIn(o) == 0 {
				return false
			}
		}
	}
	return true
}

// dueIn is the states in which o may be freed. What the program frees may be freed again
// where that is harmless; what a planned deferred call will free is not freed by another
// planned one.
func (pl *planner) dueIn(o *object) state {
	switch {
	case pl.repeats[o] && pl.defers[o]:
		return sOwned | sNil | sFreed | sPerhaps
	case pl.repeats[o]:
		return sOwned | sNil | sFreed | sDeferred | sPerhaps
	}
	return sOwned | sNil
}

// quiet reports whether nothing is owned in any state.
func quiet(st []state) bool {
	for _, s := range st {
		if s&sOwned != 0 {
			return false
		}
	}
	return true
}

// entered lists the blocks that states got to, in order.
func (g *group) entered() []*block {
	return slices.SortedFunc(maps.Keys(g.in), func(a, b *block) int { return a.order - b.order })
}

// visit goes through the settled blocks once more and records.
func (pl *planner) visit() {
	g := pl.g
	for _, b := range g.entered() {
		in := g.in[b]
		n := len(pl.exits)
		out := pl.through(b, in)
		for i, s := range b.succs {
			if s.order <= b.order && !b.doomed { // what a loop carries on is taken, or lost
				pl.cross(b, i, out, make([]state, len(out)))
			}
		}
		for _, s := range b.succs {
			if g.inReg[s] || g.in[s] != nil || g.within != nil || pl.dry {
				continue
			}
			for j, o := range g.objs { // it was not followed
				if o.kind != objParam && pl.unfixed[o] == nil && !quiet(out[j*g.n:(j+1)*g.n]) {
					if at := g.w.f.exitAfter(s); at != nil {
						pl.unfixed[o] = at
					}
				}
			}
		}
		if len(b.succs) > 0 || b.doomed {
			continue
		}
		if len(b.instrs) == 0 {
			continue
		}
		if last := b.instrs[len(b.instrs)-1]; last.op == opReturn && len(pl.exits) == n {
			pl.exits = append(pl.exits, exitState{ret: last, st: out})
		}
		for j, o := range g.objs {
			for c := range g.n {
				if out[j*g.n+c]&sOwned != 0 && pl.unfixed[o] == nil && o.kind != objParam {
					pl.unfixed[o] = b.instrs[len(b.instrs)-1]
				}
			}
		}
	}
}
