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
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

type phase uint32

const (
	unmade phase = iota
	newest
	older
	freed
	ours // freed by F, plus its number

	phaseMask = 1<<16 - 1 // above: what is known of conditions, two bits each
)

// A markKind says what a mark is about.
type markKind uint8

const (
	inReg     markKind = iota // a register holds it
	inElem                    // an element holds it
	left                      // it was handed to somebody who may keep it, at an instruction
	offered                   // a select may have sent it: which case ran says so
	deferring                 // a deferred call is registered
	deferred                  // a deferred call has it as an operand
	running                   // a goroutine may run
	held                      // a goroutine has it
	lost                      // nobody can join the goroutine any more
	twice                     // it may be in a container twice
)

type markKey struct {
	kind markKind
	k    key
	n    int
	at   ssa.Instruction
}

// A walker is one walk.
type walker struct {
	g       *graph
	f       *family
	site    *object // followed; nil: the constant zero
	zero    bool    // the zero of it
	frees   []*free
	isF     map[token.Pos]int
	ids     map[markKey]int
	marks   []markKey
	state   []map[phase]set
	pending []bool
	conds   []ssa.Value
	steps   int
	over    bool
	fault   func(i int, rule Rule, words string, at ssa.Instruction)
	ret     func(s *set, p phase, i *ssa.Return) // sees returns of the root
	class   set                                  // elements of the resources that this is about
	about   map[*ssa.Function]bool               // functions that matter
	reach   map[ssa.Value]set
}

const maxSteps = 400000

func ptr(s set) *set { c := s.clone(); return &c }

func (w *walker) id(m markKey) int {
	id, ok := w.ids[m]
	if !ok {
		id = len(w.marks)
		w.ids[m] = id
		w.marks = append(w.marks, m)
	}
	return id
}

func (w *walker) regID(v ssa.Value, i int) int { return w.id(markKey{kind: inReg, k: key{v, i}}) }
func (w *walker) elemMark(id int) int          { return w.id(markKey{kind: inElem, n: id}) }

// holds reports whether register v may hold the resource.
func (w *walker) holds(s *set, v ssa.Value) bool {
	if c, ok := v.(*ssa.Const); ok {
		return w.zero && c.Value == nil
	}
	id, ok := w.ids[markKey{kind: inReg, k: key{v, 0}}]
	return ok && s.has(id)
}

func (w *walker) inside(s *set, elem int) bool {
	id, ok := w.ids[markKey{kind: inElem, n: elem}]
	return ok && s.has(id)
}

// loaded reports whether what is read through an address that leads to pts may be the resource.
func (w *walker) loaded(s *set, pts set) bool {
	for id := range pts.all() {
		e := w.f.elems[id]
		if e.obj.kind != memObj && e.obj.kind != litObj {
			continue
		}
		for _, q := range e.obj.ids {
			if len(w.f.elems[q].path) >= len(e.path) && overlap(w.f.elems[q].path, e.path) && w.inside(s, q) {
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
	r, ok := w.reach[v]
	if !ok {
		r = w.f.reach(w.f.of(v))
		w.reach[v] = r
	}
	for id := range r.all() {
		if w.inside(s, id) {
			return true
		}
	}
	return false
}

// run walks until nothing changes.
func (w *walker) run() {
	w.state = make([]map[phase]set, len(w.g.points))
	w.pending = make([]bool, len(w.g.points))
	start := unmade
	if w.zero && w.site == nil {
		start = older
	}
	w.push(w.g.enter[w.f.root], start, nil)
	for again := true; again; { // in sweeps, in the order of the text
		again = false
		for n := range w.pending {
			if !w.pending[n] {
				continue
			}
			w.pending[n], again = false, true
			for p, s := range w.state[n] {
				if w.steps++; w.steps > maxSteps {
					w.over = true
					return
				}
				w.exec(n, p, ptr(s))
			}
		}
	}
}

// push joins a state into that of a point.
func (w *walker) push(n int, p phase, s *set) {
	if w.state[n] == nil {
		w.state[n] = map[phase]set{}
	}
	old, ok := w.state[n][p]
	grew := !ok
	if s != nil && old.union(*s) {
		grew = true
	}
	if !grew {
		return
	}
	w.state[n][p] = old
	w.pending[n] = true
}

// exec lets the point happen in a phase.
func (w *walker) exec(n int, p phase, s *set) {
	pt := &w.g.points[n]
	switch pt.kind {
	case atEnter:
		for n, c := range w.conds {
			if c.Parent() == pt.fn && pt.fn != w.f.root {
				p &^= 3 << (16 + 2*n)
			}
		}
		if len(pt.fn.Blocks) > 0 {
			w.push(w.g.first(pt.fn.Blocks[0]), p, s)
		}
	case atLeave:
		for _, b := range w.g.back[pt.fn] {
			w.leave(pt.fn, b, p, ptr(*s))
		}
	case atPanic:
		w.push(w.g.unwind[pt.fn][0], p, s)
	case atChain:
		w.chain(pt, p, s)
	case afterCall:
		w.next(n-1, p, s)
	case atInstr:
		if w.g.panics(pt.instr) {
			w.push(w.g.panic[pt.fn], p, s)
		}
		w.instr(n, pt, p, s)
	}
}

// next goes on behind an instruction.
func (w *walker) next(n int, p phase, s *set) {
	pt := &w.g.points[n]
	if w.g.panics(pt.instr) {
		w.push(w.g.panic[pt.fn], p, s)
	}
	w.push(n+2, p, s)
}

// leave goes from the end of a literal to where it was called.
func (w *walker) leave(fn *ssa.Function, b back, p phase, s *set) {
	if b.result != nil {
		for i := range fn.Signature.Results().Len() {
			w.set(s, b.result, i, w.has(s, markKey{kind: inReg, k: key{fn, i}}))
		}
	}
	w.push(b.to, p, s)
}

func (w *walker) has(s *set, m markKey) bool {
	id, ok := w.ids[m]
	return ok && s.has(id)
}

// set says whether a register holds the resource from here on.
func (w *walker) set(s *set, v ssa.Value, i int, yes bool) {
	if yes {
		s.add(w.regID(v, i))
	} else if id, ok := w.ids[markKey{kind: inReg, k: key{v, i}}]; ok {
		s.remove(id)
	}
}

// instr lets an instruction happen.
func (w *walker) instr(n int, pt *point, p phase, s *set) {
	switch i := pt.instr.(type) {
	case *ssa.If:
		w.branch(i, p, s)
	case *ssa.Jump:
		w.enterBlock(i.Block(), 0, p, s)
	case *ssa.Return:
		w.returns(i, p, s)
	case *ssa.Panic:
		if w.touched(s, i.X) {
			w.use(p, Dead, "it is used as a panic's value", i)
			s.add(w.id(markKey{kind: left, at: i}))
		}
		w.push(w.g.panic[pt.fn], p, s)
	case *ssa.RunDefers:
		w.push(w.g.chains[i][0], p, s)
	case *ssa.DebugRef:
		if !i.IsAddr && w.holds(s, i.X) && w.whole(i.X) && !onlySelected(i.X) && !w.g.inserted(i.Expr.Pos()) {
			w.use(p, Readable, "its name is read", i)
		}
		w.push(n+2, p, s)
	case *ssa.Store:
		w.next(n, p, w.store(s, i.Addr, i.Val, i))
	case *ssa.MapUpdate:
		s = w.store(s, i.Map, i.Key, i)
		w.next(n, p, w.store(s, i.Map, i.Value, i))
	case *ssa.Send:
		w.next(n, p, w.gives(p, s, i.X, i, "it is sent on a channel"))
	case *ssa.Select:
		w.next(n, p, w.selects(p, s, i))
	case *ssa.Phi:
		w.push(n+2, p, s)
	case *ssa.Alloc:
		w.next(n, p, w.alloc(s, i))
	case ssa.CallInstruction:
		w.call(n, i, p, s)
	case ssa.Value:
		w.next(n, p, w.define(s, i, pt.instr))
	default:
		w.use(p, Limits, "an instruction is not understood", pt.instr)
		w.next(n, p, s)
	}
}

// onlySelected reports whether a struct was loaded for the sake of its fields.
func onlySelected(v ssa.Value) bool {
	load, ok := v.(*ssa.UnOp)
	if !ok || load.Op != token.MUL {
		return false
	}
	some := false
	for _, r := range *load.Referrers() {
		switch r := r.(type) {
		case *ssa.DebugRef:
		case *ssa.Field:
			if addr, _ := selected(r); addr == nil {
				return false
			}
			some = true
		default:
			return false
		}
	}
	return some
}

// whole reports whether a register may be the resource itself, and not only a view of it.
func (w *walker) whole(v ssa.Value) bool {
	for id := range w.f.of(v).all() {
		if e := w.f.elems[id]; e.obj == w.site && e.path == "" {
			return true
		}
	}
	return false
}

// define sets the register of an instruction that only computes.
func (w *walker) define(s *set, v ssa.Value, i ssa.Instruction) *set {
	yes := false
	switch x := v.(type) {
	case *ssa.UnOp:
		switch x.Op {
		case token.MUL:
			yes = w.holds(s, x.X) || w.loaded(s, w.f.of(x.X))
		case token.ARROW, token.NOT:
		default:
			yes = w.holds(s, x.X)
		}
	case *ssa.BinOp:
		switch x.Op {
		case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		default:
			yes = w.holds(s, x.X) || w.holds(s, x.Y)
		}
	case *ssa.Convert:
		yes = !copiesBytes(x) && w.holds(s, x.X)
	case *ssa.Field:
		if addr, path := selected(x); addr != nil && w.f.inMemory(addr) {
			yes = w.loaded(s, w.f.inside(w.f.of(addr), path))
		} else {
			yes = w.holds(s, x.X)
		}
	case *ssa.Lookup:
		yes = w.holds(s, x.X) || w.loaded(s, w.f.inside(w.f.of(x.X), "[]"))
	case *ssa.Next:
		yes = w.holds(s, x.Iter) || w.loaded(s, w.f.inside(w.f.of(x.Iter), "[]"))
	case *ssa.Extract:
		if c, ok := x.Tuple.(*ssa.Call); ok {
			yes = w.has(s, markKey{kind: inReg, k: key{c, x.Index}})
		} else {
			yes = w.holds(s, x.Tuple)
		}
	default:
		var ops [8]*ssa.Value
		for _, o := range i.Operands(ops[:0]) {
			yes = yes || *o != nil && w.holds(s, *o) && !w.zeroIndex(*o)
		}
	}
	w.set(s, v, 0, yes)
	return s
}

// zeroIndex reports whether o is a constant, which says nothing about a result in a walk for a zero
// unless it is copied.
func (w *walker) zeroIndex(o ssa.Value) bool {
	c, ok := o.(*ssa.Const)
	return ok && c.Value != nil
}

// store puts val where addr leads to.
func (w *walker) store(s *set, addr, val ssa.Value, at ssa.Instruction) *set {
	pts := w.f.of(addr)
	if st, ok := at.(*ssa.Store); ok {
		if src := copied(st); src != nil && w.f.inMemory(src) && w.f.inMemory(addr) {
			return w.copyStruct(s, pts, w.f.of(src), w.touched(s, val), at)
		}
	}
	if _, ok := at.(*ssa.MapUpdate); ok {
		pts = w.f.inside(pts, "[]")
	}
	if (w.holds(s, addr) || pts.meets(w.class)) && !plain(val) {
		s.add(w.id(markKey{kind: left, at: at})) // the resource is not what it was
	}
	return w.storeIn(s, pts, w.holds(s, val), w.touched(s, val), at)
}

// copyStruct copies a struct, field by field.
func (w *walker) copyStruct(s *set, dst, src set, leads bool, at ssa.Instruction) *set {
	was := ptr(*s)
	s = w.storeIn(s, dst, false, leads, at)
	for to := range dst.all() {
		d := w.f.elems[to]
		for _, q := range d.obj.ids {
			rest, part := strings.CutPrefix(w.f.elems[q].path, d.path)
			if !part {
				continue
			}
			for from := range src.all() {
				if e := w.f.elems[from]; w.inside(was, w.nearest(e.obj, e.path+rest)) {
					s.add(w.elemMark(q))
					w.shares(s, q)
				}
			}
		}
	}
	return s
}

// nearest returns the element of o for a path, or what it is a part of.
func (w *walker) nearest(o *object, path string) int {
	for {
		if id, ok := w.f.elemID[elem{o, path}]; ok {
			return id
		}
		n := strings.LastIndexAny(path, ".[")
		if n < 0 {
			return unknownElem
		}
		path = path[:n]
	}
}

// plain reports whether a value that is stored into a resource cannot make it another one.
func plain(v ssa.Value) bool {
	if c, ok := v.(*ssa.Const); ok {
		return c.Value != nil
	}
	b, ok := v.Type().Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsBoolean|types.IsFloat|types.IsComplex) != 0
}

// storeIn puts a value that is the resource, or leads to it, into elements.
func (w *walker) storeIn(s *set, pts set, is, leads bool, at ssa.Instruction) *set {
	n := 0
	for id := range pts.all() {
		n++
		e := w.f.elems[id]
		if e.obj.kind == memObj || e.obj.kind == litObj || e.obj.kind == zeroObj {
			if leads && e.obj.escaped {
				s.add(w.id(markKey{kind: left, at: at}))
			}
			if is {
				s = w.fill(s, id)
			}
			continue
		}
		if leads {
			s.add(w.id(markKey{kind: left, at: at}))
		}
	}
	if n == 0 && leads {
		s.add(w.id(markKey{kind: left, at: at}))
	}
	if n == 1 && !is {
		for id := range pts.all() {
			if e := w.f.elems[id]; e.obj.kind == memObj && w.g.unique(w.f, e.obj) && !hasIndex(e.path) {
				w.clear(s, e)
			}
		}
	}
	return s
}

// fill marks an element and its parts as holding the resource.
func (w *walker) fill(s *set, id int) *set {
	e := w.f.elems[id]
	if e.obj.kind != memObj && e.obj.kind != litObj {
		return s
	}
	if hasIndex(e.path) && w.inside(s, id) {
		s.add(w.id(markKey{kind: twice, n: e.obj.id}))
	}
	for _, q := range e.obj.ids {
		if x := w.f.elems[q].path; len(x) >= len(e.path) && overlap(x, e.path) {
			s.add(w.elemMark(q))
		}
	}
	s.add(w.elemMark(id))
	w.shares(s, id)
	return s
}

// shares notes that goroutines which run can reach what an element got.
func (w *walker) shares(s *set, id int) {
	for _, sp := range w.g.spawns {
		if w.has(s, markKey{kind: running, at: sp.at}) && sp.reaches.has(id) {
			s.add(w.id(markKey{kind: held, at: sp.at}))
		}
	}
}

func (w *walker) clear(s *set, e elem) {
	for _, q := range e.obj.ids {
		if x := w.f.elems[q].path; len(x) >= len(e.path) && overlap(x, e.path) {
			if id, ok := w.ids[markKey{kind: inElem, n: q}]; ok {
				s.remove(id)
			}
		}
	}
}

func hasIndex(p string) bool {
	for _, r := range p {
		if r == '[' {
			return true
		}
	}
	return false
}

// alloc makes memory, which is zero.
func (w *walker) alloc(s *set, i *ssa.Alloc) *set {
	o := w.f.made[key{i, 0}]
	if o == nil {
		return s
	}
	if w.g.unique(w.f, o) {
		w.clear(s, elem{o, ""})
	}
	if w.zero && w.site == nil {
		for _, q := range o.ids {
			s.add(w.elemMark(q))
		}
	}
	w.renewed(s, i)
	w.set(s, i, 0, false)
	return s
}

// renewed notes that the group which v makes is another one from here on: what runs in the
// old one can no longer be waited for.
func (w *walker) renewed(s *set, v ssa.Value) {
	for _, sp := range w.g.spawns {
		if sp.group == v && w.has(s, markKey{kind: running, at: sp.at}) {
			s.add(w.id(markKey{kind: lost, at: sp.at}))
		}
	}
}

// gives hands v to somebody who may keep it.
func (w *walker) gives(p phase, s *set, v ssa.Value, at ssa.Instruction, words string) *set {
	if w.touched(s, v) {
		w.use(p, Dead, words, at)
		s.add(w.id(markKey{kind: left, at: at}))
	}
	return s
}

// selects offers what a select would send. Which case ran is tested right behind it.
func (w *walker) selects(p phase, s *set, i *ssa.Select) *set {
	for n, st := range i.States {
		if st.Send == nil || !w.touched(s, st.Send) {
			continue
		}
		w.use(p, Dead, "it is sent on a channel", i)
		m := markKey{kind: offered, at: i, n: n}
		if w.has(s, m) {
			s.add(w.id(markKey{kind: left, at: i})) // from a round before
		}
		s.add(w.id(m))
	}
	return s
}

// ran notes that case n of a select did run, or did not.
func (w *walker) ran(i *ssa.Select, n int, yes bool, s *set) {
	for id := range s.clone().all() {
		if m := w.marks[id]; m.kind == offered && m.at == ssa.Instruction(i) && (m.n == n) != yes {
			s.remove(id)
		}
	}
}

// use notes that what F freed is used. Before F it says nothing.
func (w *walker) use(p phase, rule Rule, words string, at ssa.Instruction) {
	if p &= phaseMask; p >= ours && !w.zero {
		w.fault(int(p-ours), rule, words, at)
	}
}

// returns ends a function.
func (w *walker) returns(i *ssa.Return, p phase, s *set) {
	fn := i.Parent()
	for n, r := range i.Results {
		if w.touched(s, r) {
			w.use(p, Dead, "it is returned", i)
		}
		if fn != w.f.root {
			yes := w.touched(s, r)
			w.set(s, fn, n, yes)
			if yes {
				s.add(w.regID(fn, n))
				if w.g.calledBack(w.f, fn) {
					s.add(w.id(markKey{kind: left, at: i}))
				}
			}
		}
	}
	if fn == w.f.root && w.ret != nil {
		w.ret(s, p, i)
	}
	w.push(w.g.leave[fn], p, s)
}

// enterBlock follows the k-th edge out of a block: all phis at once.
func (w *walker) enterBlock(b *ssa.BasicBlock, k int, p phase, s *set) {
	to := b.Succs[k]
	edge := w.g.edge(b, k)
	var on, offs []*ssa.Phi
	for _, i := range to.Instrs {
		phi, ok := i.(*ssa.Phi)
		if !ok {
			break
		}
		if w.holds(s, phi.Edges[edge]) {
			on = append(on, phi)
		} else {
			offs = append(offs, phi)
		}
	}
	for _, phi := range on {
		w.set(s, phi, 0, true)
	}
	for _, phi := range offs {
		w.set(s, phi, 0, false)
	}
	w.prune(to, s)
	w.push(w.g.first(to), w.forget(p, to), s)
}

// prune drops marks of registers that nobody reads any more, and of memory that only these
// lead to. It is done in the root alone, whose registers are all that lives then.
func (w *walker) prune(b *ssa.BasicBlock, s *set) {
	if b.Parent() != w.f.root {
		return
	}
	live := w.g.live(b)
	keep := w.g.liveElems(w.f, b)
	for id := range s.clone().all() {
		switch m := w.marks[id]; m.kind {
		case inReg:
			if in, ok := m.k.v.(ssa.Instruction); ok && in.Parent() == w.f.root && !live[m.k.v] {
				s.remove(id)
			}
		case inElem:
			if !keep.has(m.n) {
				s.remove(id)
			}
		}
	}
}

// branch takes both edges of a condition, unless what is known rules one out.
func (w *walker) branch(i *ssa.If, p phase, s *set) {
	for k := range 2 {
		q, t := p, ptr(*s)
		if !w.allowed(i.Cond, k == 0, &q, t) {
			continue
		}
		w.enterBlock(i.Block(), k, q, t)
	}
}

// allowed reports whether cond may be yes here, and notes what follows from it.
func (w *walker) allowed(cond ssa.Value, yes bool, p *phase, s *set) bool {
	for n, c := range w.conds {
		if c != cond {
			continue
		}
		shift := 16 + 2*n
		now := phase(1)
		if yes {
			now = 2
		}
		if old := *p >> shift & 3; old != 0 && old != now {
			return false
		}
		*p = *p&^(3<<shift) | now<<shift
	}
	switch c := cond.(type) {
	case *ssa.UnOp:
		if c.Op == token.NOT {
			return w.allowed(c.X, !yes, p, s)
		}
	case *ssa.Extract:
		// v, ok := f(): f says that v is zero if ok is not.
		if w.site != nil && c.Tuple == w.site.at && *p&phaseMask == newest && w.g.okResult(w.site) == c.Index {
			return yes != w.zero
		}
	case *ssa.BinOp:
		if c.Op == token.EQL || c.Op == token.NEQ {
			for _, xy := range [][2]ssa.Value{{c.X, c.Y}, {c.Y, c.X}} {
				k, ok := xy[1].(*ssa.Const)
				if ok && k.Value == nil {
					return w.isNil(xy[0], yes == (c.Op == token.EQL), p, s)
				}
				if e, is := xy[0].(*ssa.Extract); ok && is && e.Index == 0 {
					if sel, is := e.Tuple.(*ssa.Select); is {
						w.ran(sel, int(k.Int64()), yes == (c.Op == token.EQL), s)
					}
				}
			}
		}
	}
	return true
}

// isNil notes that x is nil, or that it is not.
func (w *walker) isNil(x ssa.Value, yes bool, p *phase, s *set) bool {
	x = stored(x)
	if e, ok := x.(*ssa.Extract); ok && w.site != nil && e.Tuple == w.site.at && isError(e.Type()) &&
		*p&phaseMask == newest && e.Index == w.site.at.(*ssa.Call).Call.Signature().Results().Len()-1 {
		// An error says that the others own nothing.
		return yes != w.zero || w.zero && w.g.maybeZero(w.site)
	}
	if types.IsInterface(x.Type()) {
		return true
	}
	if yes != w.zero {
		w.set(s, x, 0, false) // it is not the resource, or not the zero, then
	}
	return true
}

// stored returns what was stored into a variable just before it is read: in the same block,
// with nothing between that could store anything else there.
func stored(x ssa.Value) ssa.Value {
	load, ok := x.(*ssa.UnOp)
	if !ok || load.Op != token.MUL {
		return x
	}
	instrs := load.Block().Instrs
	for n := slices.Index(instrs, ssa.Instruction(load)) - 1; n >= 0; n-- {
		switch i := instrs[n].(type) {
		case *ssa.Store:
			if i.Addr == load.X {
				return i.Val
			}
			if _, variable := i.Addr.(*ssa.Alloc); !variable {
				return x
			}
		case *ssa.DebugRef, *ssa.Extract, *ssa.UnOp, *ssa.Alloc, *ssa.MakeInterface, *ssa.ChangeType, *ssa.FieldAddr:
		default:
			return x
		}
	}
	return x
}

// forget drops what is known of conditions that are computed again from b on.
func (w *walker) forget(p phase, b *ssa.BasicBlock) phase {
	for n, c := range w.conds {
		if i, ok := c.(ssa.Instruction); ok && i.Block() == b {
			p &^= 3 << (16 + 2*n)
		}
	}
	return p
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }
