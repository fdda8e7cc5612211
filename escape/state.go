package escape

// States: what has become of an object at each point, forward; whether it is
// still needed, backward. Both are kept apart for each combination of a few
// correlated conditions (the error of the call that makes it, flags, tests
// that occur more than once), so that "err != nil" and "if c … if c" cost
// nothing in precision. Work is bounded by the blocks in which the objects of
// a group are alive; inside a block only the instructions that matter to the
// group are visited.

import (
	"fmt"
	"slices"
)

type state = uint8

const (
	sOwned    state = 1 << iota
	sFreed          // by the program
	sMoved          // not ours any more
	sNil            // nothing is owned
	sDeferred       // a deferred call will free it
	sInserted       // by a planned free
	sNone           // not made on this path
	sPerhaps        // beside sOwned: a callee may have freed it
)

// A group is objects that flow into one another, analyzed together.
type group struct {
	next map[*object][]*object // what may become what
	w    *flow
	objs []*object
	bits []bit
	n    int  // combinations: 1 << len(bits)
	full bool // states are wanted everywhere, not only where the group is alive

	within map[*block]bool // … but no further than here, if not nil

	caution caution // what a plan must do without

	eager bool // a free by the program that may be repeated is no reason to wait

	region []*block // in reverse post-order
	inReg  map[*block]bool
	pos    map[*block][]int     // indices that matter, ascending
	atDef  map[*value][]*object // by the instruction at whose index it is defined
	bitsAt map[*value][]int     // bits defined at an instruction
	bitPhi map[*block][]int     // bits that are phis of a block
	live   map[*block][]bool    // on entry: [obj*n+combo]
	in     map[*block][]state   // on entry
	out    map[*block][]state
	why    string                         // not "": undecided
	taken  map[edgeKey]map[*value]*object // what hands over to which phi, where they are many
}

// at returns the instruction at whose index v comes into being: results do at
// their call.
func (v *value) where() *value {
	if v.op == opResult {
		return v.args[0]
	}
	return v
}

// group partitions objects: an owner phi belongs with what flows into it.
func (w *flow) group() {
	parent := make([]int, len(w.objs))
	for i := range parent {
		parent[i] = i
	}
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for _, o := range w.objs {
		if o.kind != objPhi {
			continue
		}
		for _, a := range o.def.args {
			if q := w.byDef[origin(a)]; q != nil {
				parent[find(o.id)] = find(q.id)
			}
		}
	}
	for _, o := range w.objs {
		for _, a := range w.stores[o.def] {
			if q := w.byDef[origin(a)]; q != nil {
				parent[find(o.id)] = find(q.id)
			}
		}
	}
	index := map[int]*group{}
	for _, o := range w.objs {
		r := find(o.id)
		g := index[r]
		if g == nil {
			g = &group{w: w}
			index[r] = g
			w.groups = append(w.groups, g)
		}
		g.objs = append(g.objs, o)
		o.group = g
	}
	for _, g := range w.groups {
		g.prepare()
	}
}

// maxGroup bounds the buffers that are decided together, as each may become each: the
// work grows by the square of their number, and so does what there is to tell.
const maxGroup = 2000

func (g *group) prepare() {
	w := g.w
	for _, o := range g.objs {
		if o.complex != "" {
			g.why = o.complex
		}
	}
	if len(g.objs) > maxGroup {
		g.why = fmt.Sprintf("more than %d buffers flow into one another", maxGroup)
	}
	for i, o := range g.objs {
		o.slot = i
	}
	g.taken = map[edgeKey]map[*value]*object{}
	if g.why != "" {
		return
	}
	g.inReg = map[*block]bool{}
	for _, o := range g.objs {
		g.inReg[o.def.blk] = true
		for _, m := range o.order {
			for b := range w.liveBlocks(m) {
				g.inReg[b] = true
			}
			if w.isUseful(m) && m.blk != nil {
				g.inReg[m.blk] = true
			}
		}
		for at := range o.events {
			g.inReg[at.blk] = true
		}
	}
	for b := range g.inReg {
		if b.order >= 0 {
			g.region = append(g.region, b)
		}
	}
	slices.SortFunc(g.region, func(a, b *block) int { return a.order - b.order })
	g.chooseBits()
	g.n = 1 << len(g.bits)
	g.pos = map[*block][]int{}
	g.atDef = map[*value][]*object{}
	g.bitsAt = map[*value][]int{}
	g.bitPhi = map[*block][]int{}
	for _, o := range g.objs {
		for at := range o.events {
			g.pos[at.blk] = append(g.pos[at.blk], at.at)
		}
		if o.def.op != opPhi {
			d := o.def.where()
			g.atDef[d] = append(g.atDef[d], o)
			g.pos[d.blk] = append(g.pos[d.blk], d.at)
		}
	}
	for i, b := range g.bits {
		if b.v.op == opPhi {
			g.bitPhi[b.v.blk] = append(g.bitPhi[b.v.blk], i)
			continue
		}
		d := b.v.where()
		if d.blk == nil || d.blk.order < 0 {
			continue
		}
		g.bitsAt[d] = append(g.bitsAt[d], i)
		g.pos[d.blk] = append(g.pos[d.blk], d.at)
	}
	for b, p := range g.pos {
		slices.Sort(p)
		g.pos[b] = slices.Compact(p)
	}
}

func sortedEvents(o *object) [][]event {
	var ats []*value
	for at := range o.events {
		ats = append(ats, at)
	}
	slices.SortFunc(ats, func(a, b *value) int {
		if a.blk.order != b.blk.order {
			return a.blk.order - b.blk.order
		}
		return a.at - b.at
	})
	var out [][]event
	for _, at := range ats {
		out = append(out, o.events[at])
	}
	return out
}

type tri int8

const (
	unknown tri = iota
	no
	yes
)

// edge calls do for each way in which combination c passes from block b to its
// i-th successor.
func (g *group) edge(b *block, i, c int, do func(c int)) {
	if b.cond != nil && len(b.succs) == 2 && g.knows(b) {
		t := g.isTrue(b.cond, c)
		if t == yes && i == 1 || t == no && i == 0 {
			return
		}
	}
	s := b.succs[i]
	phis := g.bitPhi[s]
	if len(phis) == 0 {
		do(c)
		return
	}
	// Which predecessor is b?
	k := predIndex(b, i)
	cs := []int{c}
	for _, j := range phis {
		a := g.bits[j].v.args[k]
		var t tri
		if g.bits[j].nonnil {
			t = g.isNonNil(a, c)
		} else {
			t = g.isTrue(a, c)
		}
		var next []int
		for _, x := range cs {
			if t != yes {
				next = append(next, x&^(1<<j))
			}
			if t != no {
				next = append(next, x|1<<j)
			}
		}
		cs = next
	}
	for _, x := range cs {
		do(x)
	}
}

// predIndex returns the index of b's i-th successor edge among the
// predecessors of that successor.
func predIndex(b *block, i int) int { return b.entries[i] }

// takes returns the owner phi of s that takes over o on its k-th edge.
func (g *group) takes(o *object, s *block, k int) *object {
	phis := g.w.ownersAt(s)
	if len(phis) <= 4 {
		for _, v := range phis {
			if origin(v.args[k]) == o.def {
				return g.w.byDef[v]
			}
		}
		return nil
	}
	e := edgeKey{s, k}
	m := g.taken[e]
	if m == nil {
		m = map[*value]*object{}
		for _, v := range phis {
			if r := origin(v.args[k]); m[r] == nil {
				m[r] = g.w.byDef[v]
			}
		}
		g.taken[e] = m
	}
	return m[o.def]
}

// edgeKey is a way into a block, by its index.
type edgeKey struct {
	to *block
	k  int
}

// ownersAt lists the phis of b that own.
func (w *flow) ownersAt(b *block) []*value {
	if len(b.instrs) == 0 || b.instrs[0].op != opPhi {
		return nil
	}
	vs, ok := w.phisAt[b]
	if !ok {
		for _, v := range b.instrs {
			if v.op != opPhi {
				break
			}
			if w.owner[v] {
				vs = append(vs, v)
			}
		}
		if w.phisAt == nil {
			w.phisAt = map[*block][]*value{}
		}
		w.phisAt[b] = vs
	}
	return vs
}

// index returns o's place in g.objs, -1 if it is of another group.
func (g *group) index(o *object) int {
	if o.slot < len(g.objs) && g.objs[o.slot] == o {
		return o.slot
	}
	return -1
}
