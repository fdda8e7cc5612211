package escape

// States: what has become of an object at each point, forward; whether it is
// still needed, backward. Both are kept apart for each combination of a few
// correlated conditions (the error of the call that makes it, flags, tests
// that occur more than once), so that "err != nil" and "if c … if c" cost
// nothing in precision. Work is bounded by the blocks in which the objects of
// a group are alive; inside a block only the instructions that matter to the
// group are visited.

import (
	"go/token"
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

// maxBits bounds the conditions that are kept apart.
const maxBits = 5

// A bit is a condition: v is not nil, or v is true.
type bit struct {
	v      *value
	nonnil bool
}

// A group is objects that flow into one another, analyzed together.
type group struct {
	next  map[*object][]*object // what may become what
	w     *flow
	objs  []*object
	bits  []bit
	n     int  // combinations: 1 << len(bits)
	full  bool // states are wanted everywhere, not only where the group is alive
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
	why    string                          // not "": undecided
	taken  map[*block][]map[*value]*object // by edge: what hands over to which phi
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

func (g *group) prepare() {
	w := g.w
	for _, o := range g.objs {
		if o.complex != "" {
			g.why = o.complex
		}
	}
	if len(g.objs) > 2000 {
		g.why = "more than 2000 buffers flow into one another"
	}
	for i, o := range g.objs {
		o.slot = i
	}
	g.taken = map[*block][]map[*value]*object{}
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

// chooseBits picks the conditions that matter to the group: first the errors
// of the calls that make its objects, then what is correlated with them, then
// conditions that are tested more than once.
func (g *group) chooseBits() {
	has := func(v *value, nonnil bool) bool {
		for _, b := range g.bits {
			if b.v == v && b.nonnil == nonnil {
				return true
			}
		}
		return false
	}
	add := func(v *value, nonnil bool) {
		if len(g.bits) < maxBits && !has(v, nonnil) {
			g.bits = append(g.bits, bit{v, nonnil})
		}
	}
	// Conditions tested in the region, with how often.
	type atom struct {
		v      *value
		nonnil bool
	}
	count := map[atom]int{}
	var atoms []atom
	var note func(c *value, depth int)
	note = func(c *value, depth int) {
		if c == nil || depth > 4 {
			return
		}
		switch c.op {
		case opNot:
			note(c.args[0], depth+1)
			return
		case opCmp:
			if x, ok := nilTest(c); ok {
				x = errRoot(x)
				a := atom{x, true}
				if count[a] == 0 {
					atoms = append(atoms, a)
				}
				count[a]++
				return
			}
		case opConst, opNil:
			return
		case opCopy:
			note(c.args[0], depth+1)
			return
		case opResult:
			if x := errorsIs(c); x != nil {
				a := atom{errRoot(x), true}
				if count[a] == 0 {
					atoms = append(atoms, a)
				}
				count[a]++
				return
			}
		}
		a := atom{c, false}
		if count[a] == 0 {
			atoms = append(atoms, a)
		}
		count[a]++
	}
	for _, b := range g.region {
		if b.cond != nil {
			note(b.cond, 0)
		}
		for _, v := range b.instrs {
			if v.op == opReturn && len(v.args) > 0 {
				if last := v.args[len(v.args)-1]; isError(last.typ) && last.op != opNil {
					a := atom{errRoot(last), true}
					if count[a] == 0 {
						atoms = append(atoms, a)
					}
					count[a]++
				}
			}
		}
	}
	// Conditions under which its objects are made: what is made under one is often
	// freed under the same one again.
	above := map[*block]bool{}
	for _, o := range g.objs {
		for b, n := o.def.blk, 0; len(b.preds) == 1 && n < 16; n++ {
			if b = b.preds[0]; g.inReg[b] || above[b] {
				break
			}
			above[b] = true
			if b.cond != nil {
				note(b.cond, 0)
			}
		}
	}
	for _, o := range g.objs {
		if o.errRes != nil && len(o.errRes.users) > 0 {
			add(o.errRes, true)
		}
		for _, evs := range sortedEvents(o) {
			for _, e := range evs {
				switch e.when.K {
				case OnSuccess, OnError:
					if e.call.call.errRes != nil && len(e.call.call.errRes.users) > 0 {
						add(e.call.call.errRes, true)
					}
				case IfTrue, IfFalse:
					if a := condArg(e.call, e.when); a != nil && count[atom{a, false}] > 0 {
						add(a, false)
					}
				}
			}
		}
	}
	// Phis over chosen bits or constants, and what they are made of.
	for range 3 {
		for _, a := range atoms {
			if a.v.op != opPhi {
				continue
			}
			for _, x := range a.v.args {
				x = errRoot(x)
				if has(x, a.nonnil) || (!a.nonnil && (x.op == opConst || x.op == opNil)) || (a.nonnil && (x.op == opNil || nonNil(x))) {
					add(a.v, a.nonnil)
				}
				// Flags set in a branch of a branch.
				for d := 0; d < 4 && !a.nonnil && x.op == opPhi && x != a.v; d++ {
					add(x, false)
					var next *value
					for _, y := range x.args {
						if y = errRoot(y); y.op == opPhi && y != x {
							next = y
						}
					}
					if next == nil {
						break
					}
					x = next
				}
			}
		}
	}
	least := 2
	if g.objs[0].kind == objParam {
		least = 1 // callers ask under which condition
		for _, a := range atoms {
			if a.v.op == opParam && !a.nonnil {
				add(a.v, a.nonnil)
			}
		}
	}
	for _, a := range atoms {
		if count[a] >= least {
			add(a.v, a.nonnil)
		}
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

func condArg(call *value, when When) *value {
	for j, a := range call.args {
		i := call.call.params[j]
		if i < -1 {
			continue
		}
		if call.call.sum.Recv {
			i++
		}
		if i == int(when.Arg) {
			return a
		}
	}
	return nil
}

// nilTest reports whether c compares something with nil.
func nilTest(c *value) (*value, bool) {
	if c.op != opCmp || (c.tok != token.EQL && c.tok != token.NEQ) {
		return nil, false
	}
	switch {
	case c.args[1].op == opNil:
		return c.args[0], true
	case c.args[0].op == opNil:
		return c.args[1], true
	}
	return nil, false
}

// errRoot strips copies.
func errRoot(v *value) *value {
	for v.op == opCopy {
		v = v.args[0]
	}
	return v
}

// errorsIs returns err of errors.Is(err, …) or errors.As(err, …).
func errorsIs(c *value) *value {
	if c.op != opResult || c.index != 0 {
		return nil
	}
	call := c.args[0]
	if call.fn != nil && call.fn.Pkg() != nil && call.fn.Pkg().Path() == "errors" && (call.fn.Name() == "Is" || call.fn.Name() == "As") && len(call.args) == 2 {
		return call.args[0]
	}
	return nil
}

// nonNil reports whether v is never nil.
func nonNil(v *value) bool {
	switch v.op {
	case opAddr:
		return v.note != "result" // a pointer that a call returned may be nil
	case opPack, opClosure, opFunc, opBound, opConst:
		return true
	case opResult:
		f := v.args[0].fn
		if f != nil && f.Pkg() != nil {
			switch f.Pkg().Path() + "." + f.Name() {
			case "fmt.Errorf", "errors.New":
				return f.Signature().Recv() == nil
			}
		}
	}
	return false
}

type tri int8

const (
	unknown tri = iota
	no
	yes
)

func (t tri) not() tri {
	switch t {
	case no:
		return yes
	case yes:
		return no
	}
	return unknown
}

func ofBool(b bool) tri {
	if b {
		return yes
	}
	return no
}

// isNonNil evaluates "v is not nil" under combination c.
func (g *group) isNonNil(v *value, c int) tri {
	v = errRoot(v)
	for i, b := range g.bits {
		if b.v == v && b.nonnil {
			return ofBool(c>>i&1 == 1)
		}
	}
	if v.op == opNil {
		return no
	}
	if nonNil(v) {
		return yes
	}
	return unknown
}

// isTrue evaluates a boolean under combination c.
func (g *group) isTrue(v *value, c int) tri {
	for i, b := range g.bits {
		if b.v == v && !b.nonnil {
			return ofBool(c>>i&1 == 1)
		}
	}
	switch v.op {
	case opConst:
		if b, ok := constBool(g.w.p, v); ok {
			return ofBool(b)
		}
	case opNil:
		return no
	case opNot:
		return g.isTrue(v.args[0], c).not()
	case opCopy:
		return g.isTrue(v.args[0], c)
	case opCmp:
		if x, ok := nilTest(v); ok {
			t := g.isNonNil(x, c)
			if v.tok == token.EQL {
				t = t.not()
			}
			return t
		}
	case opResult:
		if x := errorsIs(v); x != nil && g.isNonNil(x, c) == no {
			return no
		}
	}
	return unknown
}

// edge calls do for each way in which combination c passes from block b to its
// i-th successor.
func (g *group) edge(b *block, i, c int, do func(c int)) {
	if b.cond != nil && len(b.succs) == 2 {
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
func predIndex(b *block, i int) int {
	s := b.succs[i]
	nth := 0
	for j := range i {
		if b.succs[j] == s {
			nth++
		}
	}
	for k, p := range s.preds {
		if p == b {
			if nth == 0 {
				return k
			}
			nth--
		}
	}
	return 0
}

// takes returns the owner phi of s that takes over o on its k-th edge.
func (g *group) takes(o *object, s *block, k int) *object {
	if len(s.instrs) == 0 || s.instrs[0].op != opPhi {
		return nil
	}
	m := g.taken[s]
	if m == nil {
		m = make([]map[*value]*object, len(s.preds))
		for i := range m {
			m[i] = map[*value]*object{}
			for _, v := range s.instrs {
				if v.op != opPhi {
					break
				}
				if r := origin(v.args[i]); g.w.owner[v] && m[i][r] == nil {
					m[i][r] = g.w.byDef[v]
				}
			}
		}
		g.taken[s] = m
	}
	return m[k][o.def]
}

// liveness computes g.live: per object and combination, whether an event can
// be reached before the object is made again.
func (g *group) liveness() {
	g.live = map[*block][]bool{}
	for again := true; again; {
		again = false
		for i := len(g.region) - 1; i >= 0; i-- {
			b := g.region[i]
			l := g.liveOut(b)
			for k := len(g.pos[b]) - 1; k >= 0; k-- {
				g.back(b.instrs[g.pos[b][k]], l)
			}
			for j, o := range g.objs {
				if o.def.op == opPhi && o.def.blk == b {
					// Before the phi it is another object.
					for c := range g.n {
						l[j*g.n+c] = false
					}
				}
			}
			if !slices.Equal(l, g.live[b]) {
				g.live[b] = l
				again = true
			}
		}
	}
}

// phiLive keeps what liveness drops at a phi: needed on entry of its block.
func (g *group) entryLive(b *block) []bool {
	l := g.liveOut(b)
	for k := len(g.pos[b]) - 1; k >= 0; k-- {
		g.back(b.instrs[g.pos[b][k]], l)
	}
	return l
}

func (g *group) liveOut(b *block) []bool {
	l := make([]bool, len(g.objs)*g.n)
	var ends, goesOn [1 << maxBits]bool
	for i, s := range b.succs {
		k := predIndex(b, i)
		sl := g.live[s]
		for c := range g.n {
			g.edge(b, i, c, func(int) {
				ends[c] = ends[c] || s.doomed
				goesOn[c] = goesOn[c] || !s.doomed
			})
		}
		if s.doomed && sl == nil {
			continue
		}
		for j, o := range g.objs {
			t := g.takes(o, s, k)
			for c := range g.n {
				g.edge(b, i, c, func(cc int) {
					if t != nil || sl != nil && sl[j*g.n+cc] {
						l[j*g.n+c] = true
					}
				})
			}
		}
	}
	for c := range g.n {
		if ends[c] && !goesOn[c] && !b.doomed {
			// The process, or the goroutine, is sure to end, as in a test that a
			// call fails: nothing is inserted before that.
			for j := range g.objs {
				l[j*g.n+c] = true
			}
		}
	}
	return l
}

// back moves l from after instruction v to before it.
func (g *group) back(v *value, l []bool) {
	for _, o := range g.atDef[v] {
		j := g.index(o)
		for c := range g.n {
			l[j*g.n+c] = false
		}
	}
	for j, o := range g.objs {
		if evs := o.events[v]; len(evs) > 0 && !(g.eager && !slices.ContainsFunc(evs, event.waits)) {
			for c := range g.n {
				l[j*g.n+c] = true
			}
		}
	}
	for _, i := range g.bitsAt[v] {
		for j := range g.objs {
			for c := range g.n {
				if c>>i&1 == 0 {
					x := l[j*g.n+c] || l[j*g.n+(c|1<<i)]
					l[j*g.n+c], l[j*g.n+(c|1<<i)] = x, x
				}
			}
		}
	}
}

// waits reports whether the event needs the buffer: freeing it once more, where
// that is harmless, does not.
func (e event) waits() bool {
	return e.kind != evFree && e.kind != evDefer || !e.repeat
}

// index returns o's place in g.objs, -1 if it is of another group.
func (g *group) index(o *object) int {
	if o.slot < len(g.objs) && g.objs[o.slot] == o {
		return o.slot
	}
	return -1
}
