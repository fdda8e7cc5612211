package proof

// A walk follows one resource through a family, in order. Its state at a point is, for
// each phase that the resource may be in, the set of marks that may hold then: registers
// and elements that may hold the resource, deferred calls that are registered, goroutines
// that run, ways in which the resource has left. Phases are not made yet; made by the
// newest run of its site; made by an older run; freed by the program; freed by F, one
// phase for each F. States only grow, so the order in which points are visited does not
// matter.
//
// F leaves the resource in its phase as well: what holds for one F then holds whether
// others stand or not, so a fix that stands alone is as right as all together.
//
// The walk for a zero follows the nil handle that stands in for a resource.

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A phase is one of these, and above it the number of what is known of conditions.
type phase uint64

const (
	unmade phase = iota
	newest
	older
	freed
	ours // freed by F, plus its number

	phaseMask = 1<<16 - 1
)

// A walker is one walk.
type walker struct {
	g     *graph
	f     *family
	sites *sites // nothing is followed: this is what happens before any of these runs
	frees []*free
	isF   map[token.Pos]int
	stood map[stand]*set         // where frees stood, if that is asked for
	class set                    // elements of the resources that this is about
	about map[*ssa.Function]bool // functions that matter
	followed
	course
	hears
}

// followed is what a walk follows.
type followed struct {
	site *object   // nil: the constant zero
	own  []*object // made together with it: see instance.go
	zero bool      // the zero of it
}

// A course is where a walk is, and what it has yet to look at.
type course struct {
	state   [][]*way // of the points at which paths meet
	pending []bool
	todo    []todo // points that follow one another, with nothing between that another path leads to
	steps   int
	over    string // why it was given up; "" if it was not
	now     int    // the point that is looked at
	behind  []todo // where the walk begins, if not where something is made
}

// hears are who is told of what a walk meets.
type hears struct {
	fault func(i int, rule Rule, words string, at ssa.Instruction)
	ret   func(s *set, p phase, i *ssa.Return) // sees returns of the root
	end   func(s *set, panics bool)            // sees how the root is left
}

// A way is what may hold on some of the paths that lead to a point. Of two names that a program swaps
// each way says which one has it; a join would say that both may.
type way struct {
	p     phase
	marks set
	done  bool // the point was looked at with it
}

// A todo is a point that is looked at next, with what holds there.
type todo struct {
	n     int
	p     phase
	marks set
}

const (
	maxSteps = 400000
	maxWays  = 4
)

func ptr(s set) *set { c := s.clone(); return &c }

// holds reports whether register v may hold the resource.
func (w *walker) holds(s *set, v ssa.Value) bool {
	if c, ok := v.(*ssa.Const); ok {
		return w.zero && c.Value == nil
	}
	return w.g.marks.has(s, markKey{kind: inReg, k: key{v, 0}})
}

// comes reports whether a value that is made as src says may be the resource. What is read through nil is
// nothing: it panics.
func (w *walker) comes(s *set, src source) bool {
	if src.how == lent {
		return !w.zero && w.touched(s, src.v)
	}
	if src.how == number {
		return false
	}
	yes := w.holds(s, src.v)
	if src.i > 0 {
		yes = w.has(s, markKey{kind: inReg, k: key{src.v, src.i}})
	}
	switch src.how {
	case inside:
		return !w.zero && yes
	case content:
		return !w.zero && yes && !w.f.givesData(src) || w.loaded(s, src.v, w.f.within(w.f.of(src.v), src.step))
	case field:
		if m := w.f.valued(src.v); m != nil {
			return w.loaded(s, src.v, w.f.inside(m, src.step))
		}
		load, ok := src.v.(*ssa.UnOp) // it is known of each part in memory
		return yes || !(ok && load.Op == token.MUL) && w.partly(source{v: src.v})
	}
	return yes
}

func (w *walker) inside(s *set, elem int) bool {
	return s.has(2 * elem)
}

// loaded reports whether what is read through address v, which leads to pts, may be the resource.
func (w *walker) loaded(s *set, v ssa.Value, pts set) bool {
	for id := range w.f.viewed(pts).all() {
		e := w.f.elems[id]
		if e.obj.kind != memObj && e.obj.kind != litObj || !w.ofRun(s, v, id) {
			continue
		}
		for _, q := range e.obj.ids {
			if partOf(w.f.elems[q].path, e.path) && w.inside(s, q) {
				return true
			}
		}
	}
	return false
}

// touched reports whether v holds the resource or leads to it.
func (w *walker) touched(s *set, v ssa.Value) bool {
	if w.holds(s, v) {
		return true
	}
	return w.leadsTo(s, v)
}

// run walks until nothing changes.
func (w *walker) run() {
	w.state = make([][]*way, len(w.g.points))
	w.pending = make([]bool, len(w.g.points))
	if w.inItself() {
		w.over = "a function literal may call itself"
		return
	}
	w.start()
	w.drain()
	for again := true; again && w.over == ""; { // in sweeps, in the order of the text
		again = false
		for n := range w.pending {
			if !w.pending[n] {
				continue
			}
			w.pending[n], again = false, true
			for _, a := range slices.Clone(w.state[n]) {
				if a.done {
					continue
				}
				a.done = true
				w.then(n, a.p, a.marks)
				if w.drain(); w.over != "" {
					return
				}
			}
		}
	}
}

// inItself reports whether a literal that may run inside itself has to do with what is followed. One that has
// not is not entered.
func (w *walker) inItself() bool {
	return w.sites == nil && !w.f.c.off[Limits] && slices.ContainsFunc(w.f.fns, func(fn *ssa.Function) bool {
		return w.g.within[fn] && w.matters(fn)
	})
}

// start begins a walk: where the resource is made, or where the functions of the family are entered.
func (w *walker) start() {
	for _, b := range w.behind {
		w.push(b.n, b.p, &b.marks)
	}
	if w.behind != nil {
		return
	}
	if w.site != nil {
		before := w.g.beforeSites()
		for _, a := range before.at[w.site.at] {
			switch v := w.site.at.(type) {
			case *ssa.Call:
				r := w.g.calls[v].sum.result(w.site.index % partBase)
				w.push(w.g.calls[v].point+1, a.p|newest, w.makes(v, r, ptr(a.marks)))
			case *ssa.Parameter:
				w.push(w.g.first(v.Parent().Blocks[0]), a.p|newest, w.makes(v, w.f.owns[v], ptr(a.marks)))
			}
		}
		w.over = before.over
		return
	}
	start := unmade
	if w.zero && w.site == nil {
		start = older
	}
	for _, fn := range w.f.fns { // a literal may run at any time: who has it is not always known
		var s set
		s.add(w.calledAt(fn, -1))
		w.push(w.g.enter[fn], start, &s)
	}
}

// then notes a point that is looked at next.
func (w *walker) then(n int, p phase, s set) {
	k := len(w.todo)
	w.todo = slices.Grow(w.todo, 1)[:k+1]
	t := &w.todo[k]
	t.n, t.p, t.marks = n, p, append(t.marks[:0], s...)
}

// drain looks at points up to those at which paths meet.
func (w *walker) drain() {
	var s set
	for len(w.todo) > 0 {
		if w.steps++; w.steps > maxSteps {
			w.over = "too many states"
			return
		}
		last := len(w.todo) - 1
		t := &w.todo[last]
		s, t.marks = t.marks, s // t keeps the memory of the one before
		w.todo = w.todo[:last]
		w.exec(t.n, t.p, &s)
	}
}

// push adds a state to those of a point, as a way of its own, or joined to the one most like it where there
// are many.
// Where nobody has the resource any more nothing can happen to it, unless its handle is data.
func (w *walker) push(n int, p phase, s *set) {
	if s == nil {
		s = &set{}
	}
	if !w.zero && p&phaseMask != unmade && !s.meets(w.g.marks.holders) && !w.data() {
		return
	}
	if !w.g.meets[n] {
		w.then(n, p, *s)
		return
	}
	ways := w.state[n]
	if slices.ContainsFunc(ways, func(a *way) bool { return a.p == p && a.marks.covers(*s) }) {
		return
	}
	ways = slices.DeleteFunc(ways, func(a *way) bool { return a.p == p && s.covers(a.marks) })
	count, last := 0, 0
	var near *way
	for i, a := range ways {
		if a.p <= p {
			last = i + 1
		}
		if a.p == p {
			count++
			if near == nil || a.marks.apart(*s) < near.marks.apart(*s) {
				near = a
			}
		}
	}
	if count < maxWays {
		ways = slices.Insert(ways, last, &way{p: p, marks: s.clone()})
	} else {
		near.marks.union(*s)
		near.done = false
	}
	w.state[n] = ways
	w.pending[n] = true
}

// exec lets the point happen in a phase.
func (w *walker) exec(n int, p phase, s *set) {
	pt := &w.g.points[n]
	w.now = n
	switch pt.kind {
	case atEnter:
		p, s = w.handed(w.entered(p, pt.fn), pt.fn, s)
		if len(pt.fn.Blocks) > 0 {
			w.push(w.g.first(pt.fn.Blocks[0]), p, s)
		}
	case atLeave:
		w.ended(pt.fn, s, false)
		for _, b := range w.g.back[pt.fn] {
			w.leave(pt.fn, b, p, s)
		}
	case atPanic:
		w.push(w.g.unwind[pt.fn][0], p, s)
	case atChain:
		w.chain(pt, p, s)
	case afterCall:
		w.next(n-1, p, s)
	case atInstr:
		if w.g.panics(pt.instr) {
			w.unwinds(pt.fn, p, w.broken(pt.instr, s))
		}
		w.instr(n, pt, p, s)
		w.given(pt.instr, p, s)
	}
}

// broken returns what holds if an instruction panics: a callee may leave goroutines behind.
func (w *walker) broken(i ssa.Instruction, s *set) *set {
	k := w.g.calls[callOf(i)]
	if _, late := i.(*ssa.Defer); k == nil || k.sum == nil || late {
		return s
	}
	for n, a := range k.args {
		if k.does[n].Runs && w.touched(s, a) {
			s = ptr(*s)
			s.add(w.id(markKey{kind: left, at: i}))
		}
	}
	return s
}

// ended notes that the root is left, or a literal that it returned, which others call when they like.
func (w *walker) ended(fn *ssa.Function, s *set, panics bool) {
	if w.end != nil && (fn == w.f.root || w.g.lasting[fn] != nil) {
		w.end(s, panics && fn == w.f.root)
	}
}

// given notes that what F freed was put where others may reach it.
func (w *walker) given(i ssa.Instruction, p phase, s *set) {
	if w.has(s, markKey{kind: left, at: i}) {
		w.use(p, Dead, "it is put where others may use it", i)
	}
	for _, sp := range w.g.spawns { // F had been refused if one had it before
		if w.has(s, markKey{kind: held, at: sp.at}) {
			w.use(p, Joins, "it is put where a goroutine that runs may use it", i)
		}
	}
}

// next goes on behind an instruction.
func (w *walker) next(n int, p phase, s *set) {
	pt := &w.g.points[n]
	if w.g.panics(pt.instr) {
		w.unwinds(pt.fn, p, s)
	}
	if p, s = w.late(pt.instr, p, s); w.f.c.stops(pt.instr) {
		w.unwinds(pt.fn, p, s)
		return
	}
	w.push(n+2, p, s)
}

// leave goes from the end of a literal to where it was called.
func (w *walker) leave(fn *ssa.Function, b back, p phase, s *set) {
	if s = w.goesBack(fn, b, s); s == nil {
		return
	}
	if b.result != nil {
		for i := range fn.Signature.Results().Len() {
			w.set(s, b.result, i, w.has(s, markKey{kind: inReg, k: key{fn, i}}))
		}
	}
	w.push(b.to, p, s)
}

func (w *walker) has(s *set, m markKey) bool { return w.g.marks.has(s, m) }

// set says whether a register holds the resource from here on.
func (w *walker) set(s *set, v ssa.Value, i int, yes bool) {
	if yes {
		s.add(w.regID(v, i))
	} else {
		w.g.marks.remove(s, markKey{kind: inReg, k: key{v, i}})
	}
}

// posOf returns a position for an instruction, its own or that of something near it.
func posOf(i ssa.Instruction) token.Pos {
	if i == nil {
		return token.NoPos
	}
	if d, ok := i.(*ssa.DebugRef); ok {
		return d.Expr.Pos()
	}
	if p := i.Pos(); p.IsValid() {
		return p
	}
	for _, x := range i.Block().Instrs {
		if p := x.Pos(); p.IsValid() {
			return p
		}
	}
	if i.Parent().Synthetic != "" && i.Parent().Synthetic != yield {
		return token.NoPos // of a method value: it stands elsewhere
	}
	return i.Parent().Pos()
}
