package gen

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A Fault says which operation fails, and how.
type Fault struct {
	Op    int // number of the operation, from 0; -1: none
	Panic bool
}

// NoFault is a run in which nothing fails.
var NoFault = Fault{Op: -1}

// Tape yields the decisions of a run. The compiled programs hold the same code.
type Tape struct {
	seed, n uint64
	more    int
}

// NewTape starts the tape numbered run of the program.
func NewTape(seed uint64, run int) Tape { return Tape{seed: seed + uint64(run)*0x1000003} }

// Next returns a number below k.
func (t *Tape) Next(k int) int {
	t.n++
	z := t.seed + t.n*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) >> 1 % uint64(k))
}

// More reports whether a loop goes on; it says no for good after moreBudget times.
func (t *Tape) More() bool {
	if t.more++; t.more > moreBudget {
		return false
	}
	return t.Next(2) == 1
}

const moreBudget = 24

// EventKind is what happened.
type EventKind uint8

const (
	EOut EventKind = iota
	EProbe
	EExit
)

// An Event is something that a run shows. At a probe and at the exit, Least and
// Slack count the buffers of each site: at least Least of them must be live, and
// no more than Least+Slack may be. Slack counts what panics abandoned, and what
// only what is known of a condition keeps from being used.
type Event struct {
	Kind  EventKind
	Value int64
	Least []int
	Slack []int
}

// A Trace is what a run must show.
type Trace struct {
	Events []Event
	Ops    int   // operations performed
	Made   []int // buffers made, by site
	Frees  []int // the user's own frees, by site
	Panics bool  // ended by a panic nobody recovered
	Broken bool  // some panic unwound a frame, recovered or not
}

// errInvalid marks programs that are wrong before any rewrite: the generator
// throws them away.
var errInvalid = errors.New("program uses a freed buffer")

const stepLimit = 6000

type object struct {
	site    int
	data    []int64
	freed   bool
	kept    bool
	dropped bool // abandoned by a panic
}

type value struct {
	bufs   []*object
	pins   []*object
	lo, hi int // of a view: elements cut
}

func (v *value) clone() *value {
	return &value{bufs: slices.Clone(v.bufs), pins: slices.Clone(v.pins), lo: v.lo, hi: v.hi}
}

type frame struct {
	fn     *Func
	index  int
	cur    Set // locations live over all paths
	low    Set // … over the paths that are open to who knows flags and types
	env    map[*Var]*value
	flags  map[string]bool
	parent *frame
	temps  []*object
	defers []func() sig
	lits   map[*Var]*Closure
}

func (f *frame) value(v *Var) *value {
	for g := f; g != nil; g = g.parent {
		if x, ok := g.env[v]; ok {
			return x
		}
	}
	return &value{bufs: []*object{nil, nil}}
}

func (f *frame) knows(v *Var) bool {
	for g := f; g != nil; g = g.parent {
		if _, ok := g.env[v]; ok {
			return true
		}
	}
	return false
}

func (f *frame) set(v *Var, x *value) {
	for g := f; g != nil; g = g.parent {
		if _, ok := g.env[v]; ok {
			g.env[v] = x
			return
		}
	}
	f.env[v] = x
}

// during sets what is live while s runs.
func (f *frame) during(m *machine, s Stmt) {
	f.cur = m.a.live[f.index].At[s].During
	f.low = m.a.with(f.index, f.flags).At[s].During
}

func (f *frame) objects(p Path) []*object {
	v := f.value(p.V)
	if p.Field >= 0 {
		if p.Field < len(v.bufs) {
			return v.bufs[p.Field : p.Field+1]
		}
		return nil
	}
	return v.bufs
}

type sigKind uint8

const (
	sNext sigKind = iota
	sBreak
	sContinue
	sGoto
	sReturn
	sPanic
)

type sig struct {
	kind  sigKind
	label string
}

var next sig

type machine struct {
	p     *Program
	a     *Analysis
	tape  Tape
	fault Fault
	trace Trace
	made  []*object
	stack []*frame
	steps int

	ret    *value
	retInt int64
	retErr bool
}

// Analysis is a program with the liveness of its functions.
type Analysis struct {
	p     *Program
	live  []*Liveness
	sharp map[string]*Liveness
}

// with returns the analysis of function i for these values of its flags.
func (a *Analysis) with(i int, flags map[string]bool) *Liveness {
	key := fmt.Sprint(i, flags)
	l := a.sharp[key]
	if l == nil {
		known := maps.Clone(flags)
		l = analyze(a.p.Funcs[i], known, func(name string) *Liveness {
			less := maps.Clone(known)
			delete(less, name)
			return a.with(i, less)
		})
		a.sharp[key] = l
	}
	return l
}

// NewAnalysis analyzes all functions of p.
func NewAnalysis(p *Program) *Analysis {
	a := &Analysis{p: p, sharp: map[string]*Liveness{}}
	for _, f := range p.Funcs {
		a.live = append(a.live, Analyze(f))
	}
	return a
}

// Run predicts one run. The error says that the program itself is wrong.
func (a *Analysis) Run(run int, fault Fault) (tr Trace, err error) {
	m := &machine{p: a.p, a: a, tape: NewTape(a.p.Seed, run), fault: fault}
	m.trace.Made = make([]int, len(a.p.Sites))
	m.trace.Frees = make([]int, len(a.p.Sites))
	defer func() {
		switch r := recover(); r {
		case nil:
		case errInvalid, errTooLong:
			err = r.(error)
		default:
			panic(r)
		}
	}()
	s := m.call(0, nil)
	m.trace.Panics = s.kind == sPanic
	m.event(EExit, 0)
	return m.trace, nil
}

var errTooLong = errors.New("program runs too long")

// op counts an operation: fail says it returns an error, pan that it panics.
func (m *machine) op() (fail, pan bool) {
	hit := m.trace.Ops == m.fault.Op
	m.trace.Ops++
	if hit && m.fault.Panic {
		m.abandon()
		return false, true
	}
	return hit, false
}

// abandon marks what the frames hold that the coming panic unwinds.
func (m *machine) abandon() {
	m.trace.Broken = true
	for i := len(m.stack) - 1; i >= 0; i-- {
		f := m.stack[i]
		for o := range m.reach(f, f.cur) {
			o.dropped = true
		}
		if f.fn != nil && f.fn.Recover {
			return
		}
	}
}

// reach returns the objects that the locations in live lead to, from f.
func (m *machine) reach(f *frame, live Set) map[*object]bool {
	res := map[*object]bool{}
	add := func(list []*object) {
		for _, o := range list {
			if o != nil {
				res[o] = true
			}
		}
	}
	add(f.temps)
	for g := f; g != nil; g = g.parent {
		for v, x := range g.env {
			if v.fields() {
				for i := range 2 {
					if live.has(v.Loc+i) && i < len(x.bufs) {
						add(x.bufs[i : i+1])
					}
				}
			} else if live.has(v.Loc) {
				add(x.bufs)
				add(x.pins)
			}
		}
	}
	return res
}

func (m *machine) event(k EventKind, v int64) {
	e := Event{Kind: k, Value: v}
	if k != EOut {
		e.Least = make([]int, len(m.p.Sites))
		e.Slack = make([]int, len(m.p.Sites))
		live, may := map[*object]bool{}, map[*object]bool{}
		for _, f := range m.stack {
			maps.Copy(live, m.reach(f, f.low))
			maps.Copy(may, m.reach(f, f.cur))
		}
		for _, o := range m.made {
			switch {
			case o.kept && !o.freed, live[o] && !o.freed:
				e.Least[o.site]++
			case o.dropped, may[o] && !o.freed:
				e.Slack[o.site]++
			}
		}
	}
	m.trace.Events = append(m.trace.Events, e)
}

func (m *machine) out(v int64) { m.event(EOut, v) }

func (m *machine) newObject(n int) *object {
	o := &object{site: n - FirstSite, data: make([]int64, n)}
	m.made = append(m.made, o)
	m.trace.Made[o.site]++
	return o
}

func (m *machine) free(o *object) {
	if o == nil {
		return
	}
	m.trace.Frees[o.site]++
	if o.freed && m.p.Sites[o.site].Res == RMat {
		panic(errInvalid)
	}
	o.freed = true
}

// touch panics if one of the objects was freed by the program itself.
func touch(list []*object) {
	for _, o := range list {
		if o != nil && o.freed {
			panic(errInvalid)
		}
	}
}

// call runs function i; the results are in m.ret, m.retInt, m.retErr.
func (m *machine) call(i int, args []*value) sig {
	fn := m.p.Funcs[i]
	f := &frame{fn: fn, index: i, env: map[*Var]*value{}, flags: map[string]bool{}, lits: map[*Var]*Closure{}}
	for j, v := range fn.Params {
		f.env[v] = args[j]
	}
	if len(m.stack) > 40 {
		panic(errTooLong)
	}
	m.stack = append(m.stack, f)
	depth := len(m.stack)
	m.ret, m.retInt, m.retErr = nil, 0, false
	s := m.list(f, fn.Body)
	if s.kind != sPanic {
		s = next
	}
	ret, retInt, retErr := m.ret, m.retInt, m.retErr
	for j := len(f.defers) - 1; j >= 0; j-- {
		if t := f.defers[j](); t.kind == sPanic {
			s = t
		}
	}
	m.stack = m.stack[:depth-1]
	if s.kind == sPanic && fn.Recover {
		m.out(recovered)
		ret, retInt, retErr, s = nil, 0, false, next
	}
	if fn.Named && retErr && s.kind != sPanic {
		for _, o := range f.objects(Of(fn.Clean)) {
			m.free(o)
		}
	}
	m.ret, m.retInt, m.retErr = ret, retInt, retErr
	return s
}

// recovered is what a function prints that recovers from a panic.
const recovered = -77

func (m *machine) list(f *frame, list []Stmt) sig {
	for i := 0; i < len(list); i++ {
		s := m.stmt(f, list[i])
		if s.kind == sGoto {
			if j := slices.IndexFunc(list, func(t Stmt) bool {
				l, ok := t.(*Label)
				return ok && l.Name == s.label
			}); j >= 0 {
				i = j
				continue
			}
		}
		if s.kind != sNext {
			return s
		}
	}
	return next
}

func (m *machine) stmt(f *frame, s Stmt) sig {
	if m.steps++; m.steps > stepLimit {
		panic(errTooLong)
	}
	f.during(m, s)
	switch s := s.(type) {
	case *Make:
		return m.make(f, s)
	case *Zero:
		f.set(s.V, &value{bufs: []*object{nil, nil}[:s.V.Locs()]})
	case *Assign:
		m.assign(f, s)
	case *Compose:
		x := &value{}
		if s.V.Kind == KMap {
			x.bufs = make([]*object, 8)
		}
		for i, src := range s.Src {
			o := f.objects(src)
			if s.V.Kind == KMap {
				x.bufs[i] = o[0]
			} else {
				x.bufs = append(x.bufs, o[0])
			}
		}
		if (s.V.Kind == KArray || s.V.Kind == KPair) && len(x.bufs) < 2 {
			x.bufs = append(x.bufs, make([]*object, 2-len(x.bufs))...)
		}
		f.env[s.V] = x
	case *Append:
		x := f.value(s.V).clone()
		x.bufs = append(x.bufs, f.objects(s.Src)[0])
		f.set(s.V, x)
	case *Put:
		x := f.value(s.V).clone()
		x.bufs[s.Key] = f.objects(s.Src)[0]
		f.set(s.V, x)
	case *Get:
		x := f.value(s.V)
		if s.Key < len(x.bufs) && (s.V.Kind != KMap || x.bufs[s.Key] != nil) {
			f.set(s.Dst, &value{bufs: []*object{x.bufs[s.Key]}, pins: slices.Clone(x.bufs)})
			if s.Pop {
				f.set(s.V, &value{bufs: slices.Clone(x.bufs[1:])})
			}
			return m.list(f, s.Body)
		}
	case *Use:
		return m.use(f, s)
	case *If:
		ok, sg := m.cond(f, s.Cond)
		if sg.kind != sNext {
			return sg
		}
		if ok {
			return m.list(f, s.Then)
		}
		return m.list(f, s.Else)
	case *Flag:
		f.flags[s.Name] = m.tape.Next(2) == 1
	case *Loop:
		return m.loop(f, s)
	case *Each:
		x := f.value(s.X)
		list := slices.Clone(x.bufs)
		for _, o := range list {
			f.during(m, s)
			f.set(s.V, &value{bufs: []*object{o}, pins: list})
			if sg, stop := through(m.list(f, s.Body), s.Label); stop {
				return sg
			}
		}
	case *Switch:
		return m.choose(f, s)
	case *Jump:
		return sig{[...]sigKind{JBreak: sBreak, JContinue: sContinue, JGoto: sGoto}[s.Kind], s.Label}
	case *Label:
	case *Return:
		return m.leave(f, s)
	case *Panic:
		m.abandon()
		return sig{kind: sPanic}
	case *Defer:
		objs := f.objects(s.Path)
		f.defers = append(f.defers, func() sig {
			f.cur, f.low = Set{}, Set{}
			if s.Kind == DLit {
				objs = f.objects(s.Path)
			}
			if s.Kind == DUse {
				f.cur = f.cur.with(s.Path)
				f.low = f.cur
				return m.sum(f, f.value(s.Path.V), s.Path, true)
			}
			for _, o := range objs {
				m.free(o)
			}
			return next
		})
	case *Free:
		if s.Told {
			touch(f.objects(s.Path))
		}
		for _, o := range f.objects(s.Path) {
			m.free(o)
		}
	case *FreeAll:
		for _, o := range f.value(s.V).bufs {
			m.free(o)
		}
	case *Join:
		x := f.objects(s.Arg)
		touch(x)
		fill(x[0], 0, 0, int64(s.X))
		return m.list(f, s.Mid)
	case *Closure:
		f.env[s.V] = &value{}
		f.lits[s.V] = s
	case *CallVar:
		var lit *Closure
		for g := f; g != nil && lit == nil; g = g.parent {
			lit = g.lits[s.V]
		}
		sub := &frame{index: f.index, env: map[*Var]*value{}, flags: f.flags, parent: f, lits: f.lits}
		m.stack = append(m.stack, sub)
		sg := m.list(sub, lit.Body)
		m.stack = m.stack[:len(m.stack)-1]
		if sg.kind == sPanic {
			return sg
		}
	case *Inline:
		n := len(f.defers)
		sg := m.list(f, s.Body)
		for i := len(f.defers) - 1; i >= n; i-- {
			f.defers[i]()
		}
		f.defers = f.defers[:n]
		if sg.kind == sPanic {
			return sg
		}
	case *Call:
		return m.callStmt(f, s)
	case *Probe:
		f.cur = m.a.live[f.index].At[s].Out
		f.low = m.a.with(f.index, f.flags).At[s].Out
		m.event(EProbe, int64(s.ID))
	case *Escape:
		x := f.objects(s.Path)
		touch(x)
		for _, o := range x {
			if o != nil {
				o.kept = true
			}
		}
		if s.Kind == XQueue {
			fail, pan := m.op()
			if pan {
				return sig{kind: sPanic}
			}
			_ = fail
		}
	case *Block:
		return m.list(f, s.Body)
	case *Select:
		if m.tape.Next(2) == 1 {
			for _, o := range f.objects(s.Path) {
				if o != nil {
					o.kept = true
				}
			}
			sg, _ := through(m.list(f, s.Sent), "")
			return sg
		}
		sg, _ := through(m.list(f, s.Others), "")
		return sg
	case *Pass:
		f.set(s.Dst, f.value(s.Src.V).clone())
	default:
		panic("gen: unknown statement")
	}
	return next
}

// through lets a loop or switch take its own break and continue; stop says the
// construct is left.
func through(s sig, label string) (_ sig, stop bool) {
	mine := s.label == "" || s.label == label
	switch {
	case s.kind == sNext, s.kind == sContinue && mine:
		return next, false
	case s.kind == sBreak && mine:
		return next, true
	}
	return s, true
}

func (m *machine) make(f *frame, s *Make) sig {
	fail, pan := m.op()
	if fail && s.Err == EMust {
		m.abandon()
		pan = true
	}
	if pan {
		return sig{kind: sPanic}
	}
	var o *object
	if !fail {
		o = m.newObject(s.N)
	}
	if s.Dst.Field >= 0 {
		x := f.value(s.Dst.V)
		y := x.clone()
		y.bufs[s.Dst.Field] = o
		if s.Dst.V.Kind == KPairPtr {
			*x = *y
		} else {
			f.set(s.Dst.V, y)
		}
	} else if s.Decl {
		f.env[s.Dst.V] = &value{bufs: []*object{o}}
	} else {
		x := f.value(s.Dst.V)
		if s.Dst.V.Fixed && f.knows(s.Dst.V) {
			*x = value{bufs: []*object{o}}
		} else {
			f.set(s.Dst.V, &value{bufs: []*object{o}})
		}
	}
	switch {
	case fail:
		return m.list(f, s.Fail)
	case s.Err == EInvert:
		return m.list(f, s.Ok)
	}
	return next
}

func (m *machine) assign(f *frame, s *Assign) {
	var vals []*value
	for i, src := range s.Src {
		d := s.Dst[i]
		v := f.value(src.V)
		switch {
		case d.V.Kind == KPtr, d.V.Kind == KPairPtr && src.V.Kind == KPair:
			vals = append(vals, v) // shares the variable
			continue
		case src.Field >= 0:
			v = &value{bufs: slices.Clone(f.objects(src)), pins: v.pins}
		default:
			v = v.clone()
		}
		if d.V.Kind == KView || d.V.Kind == KRaw {
			touch(v.bufs)
			v.lo += s.Lo
			v.hi += s.Hi
		}
		vals = append(vals, v)
	}
	for i, d := range s.Dst {
		if d.Field >= 0 {
			y := f.value(d.V).clone()
			y.bufs[d.Field] = vals[i].bufs[0]
			if d.V.Kind == KPairPtr {
				*f.value(d.V) = *y
			} else {
				f.set(d.V, y)
			}
		} else if s.Decl {
			f.env[d.V] = vals[i]
		} else {
			f.set(d.V, vals[i])
		}
	}
}

func fill(o *object, lo, hi int, x int64) {
	if o == nil {
		return
	}
	for i := lo; i < len(o.data)-hi; i++ {
		o.data[i] = x
	}
}

func (m *machine) use(f *frame, s *Use) sig {
	if s.Op == OTemp || s.Op == OChain {
		fail, pan := m.op()
		if fail {
			m.abandon()
		}
		if fail || pan {
			return sig{kind: sPanic}
		}
		o := m.newObject(s.N)
		fill(o, 0, 0, int64(s.N))
		f.temps = []*object{o}
		sg := m.sum(f, &value{bufs: f.temps}, Path{Field: -1}, false)
		f.temps = nil
		return sg
	}
	p := s.Args[0]
	v := f.value(p.V)
	objs := f.objects(p)
	for _, a := range s.Args {
		touch(f.objects(a))
	}
	switch s.Op {
	case OSum:
		return m.sum(f, v, p, false)
	case OLen:
		if objs[0] == nil {
			m.out(0)
		} else {
			m.out(int64(len(objs[0].data) - v.lo - v.hi))
		}
		return next
	case OPrint, OKeep, OLook:
		return next
	}
	fail := false
	if !s.Init {
		var pan bool
		if fail, pan = m.op(); pan {
			return sig{kind: sPanic}
		}
	}
	if fail {
		if s.Err == ECheck {
			return m.list(f, s.Fail)
		}
		return next
	}
	switch s.Op {
	case OFill, OSet, OExpr:
		for i, o := range objs {
			if p.V.Kind == KRaw && o != nil {
				o.data[v.lo] = int64(s.X)
				continue
			}
			if i == 0 || p.Field < 0 && p.V.Kind != KPair && p.V.Kind != KPairPtr {
				fill(o, v.lo, v.hi, int64(s.X))
			}
		}
	case OLaunch:
		if o := objs[0]; o != nil {
			for i := v.lo; i < len(o.data)-v.hi; i++ {
				o.data[i] += int64(s.X)
			}
		}
	case OMove:
		src := f.objects(s.Args[1])
		if objs[0] != nil && src[0] != nil {
			copy(objs[0].data, src[0].data)
		}
	}
	return next
}

// sum prints the sum of what v holds; quiet sums are no operation.
func (m *machine) sum(f *frame, v *value, p Path, quiet bool) sig {
	objs := v.bufs
	if p.V != nil {
		objs = f.objects(p)
	}
	touch(objs)
	if !quiet {
		fail, pan := m.op()
		if pan {
			return sig{kind: sPanic}
		}
		if fail {
			m.out(-1)
			return next
		}
	}
	m.out(total(v, objs))
	return next
}

func length(o *object) int {
	if o == nil {
		return 0
	}
	return len(o.data)
}

func total(v *value, objs []*object) int64 {
	var n int64
	for _, o := range objs {
		if o == nil {
			continue
		}
		for _, x := range o.data[v.lo : len(o.data)-v.hi] {
			n += x
		}
	}
	return n
}

func (m *machine) cond(f *frame, c *Cond) (bool, sig) {
	switch c.Op {
	case CDraw:
		return m.tape.Next(2) == 1, next
	case CMore:
		return m.tape.More(), next
	case CFlag:
		return f.flags[c.Var], next
	case CNever:
		return false, next
	case CPos:
		objs := f.objects(c.Path)
		touch(objs)
		fail, pan := m.op()
		if pan {
			return false, sig{kind: sPanic}
		}
		return !fail && total(f.value(c.Path.V), objs) > 0, next
	case CLen:
		objs := f.objects(c.Path)
		touch(objs)
		return length(objs[0])%2 == 0, next
	case CNot:
		x, s := m.cond(f, c.X)
		return !x, s
	}
	x, s := m.cond(f, c.X)
	if s.kind != sNext || c.Op == CAnd && !x || c.Op == COr && x {
		return x, s
	}
	return m.cond(f, c.Y)
}

func (m *machine) loop(f *frame, s *Loop) sig {
	n := 0
	if s.Kind == LCount || s.Kind == LClause || s.Kind == LFunc {
		n = m.tape.Next(s.N)
	}
	for i := 0; ; i++ {
		f.during(m, s)
		switch s.Kind {
		case LWhile:
			ok, sg := m.cond(f, s.Cond)
			if sg.kind != sNext {
				return sg
			}
			if !ok {
				return next
			}
		case LEver:
		default:
			if i >= n {
				return next
			}
		}
		if sg, stop := through(m.list(f, s.Body), s.Label); stop {
			return sg
		}
		if m.steps++; m.steps > stepLimit {
			panic(errTooLong)
		}
	}
}

func (m *machine) choose(f *frame, s *Switch) sig {
	at := -1
	switch s.Kind {
	case SDraw:
		n := len(s.Cases)
		if d := m.tape.Next(n + 1); d < n {
			at = d
		}
		if s.Default && (at < 0 || at == n-1) {
			at = n - 1
		}
	case SLen:
		objs := f.objects(s.Subject)
		touch(objs)
		if length(objs[0])%2 == 0 {
			at = 0
		} else if s.Default {
			at = len(s.Cases) - 1
		}
	case STyped:
		f.set(s.V, f.value(s.Subject.V).clone())
		at = 0
	case SBool:
		for i := range s.Cases {
			if s.Default && i == len(s.Cases)-1 || m.tape.Next(2) == 1 {
				at = i
				break
			}
		}
	case SSelect:
		at = len(s.Cases) - 1
		if m.tape.Next(2) == 1 {
			at = 0
		}
	}
	if at < 0 {
		return next
	}
	for {
		sg := m.list(f, s.Cases[at])
		if sg.kind == sNext && at < len(s.Fall) && s.Fall[at] {
			at++
			continue
		}
		if sg.kind == sBreak && (sg.label == "" || sg.label == s.Label) {
			return next
		}
		return sg
	}
}

func (m *machine) leave(f *frame, s *Return) sig {
	m.ret, m.retInt, m.retErr = nil, 0, s.Fail
	if s.Path.V != nil {
		if s.Sum {
			objs := f.objects(s.Path)
			touch(objs)
			fail, pan := m.op()
			if pan {
				return sig{kind: sPanic}
			}
			m.retInt = -1
			if !fail {
				m.retInt = total(f.value(s.Path.V), objs)
			}
		} else {
			v := f.value(s.Path.V)
			if s.Path.Field >= 0 {
				v = &value{bufs: slices.Clone(f.objects(s.Path))}
			} else if s.Path.V.Kind != KPairPtr {
				v = v.clone()
			}
			m.ret = v
		}
	}
	return sig{kind: sReturn}
}

func (m *machine) callStmt(f *frame, s *Call) sig {
	fn := s.Fn
	if s.Via != VDirect && m.tape.Next(2) == 1 {
		fn = s.Other
	}
	var args []*value
	for _, a := range s.Args {
		v := f.value(a.V)
		touch(f.objects(a))
		switch {
		case a.Field >= 0:
			v = &value{bufs: slices.Clone(f.objects(a)), pins: v.pins}
		case a.V.Kind != KPairPtr:
			v = v.clone()
		}
		args = append(args, v)
	}
	sg := m.call(fn, args)
	ret, n, fail := m.ret, m.retInt, m.retErr
	if sg.kind == sPanic {
		return sg
	}
	callee := m.p.Funcs[fn]
	if callee.Result == RInt {
		m.out(n)
		return next
	}
	if s.Dst != nil {
		if ret == nil || fail {
			ret = &value{bufs: []*object{nil, nil}[:min(2, max(1, s.Dst.Locs()))]}
			if s.Dst.Kind == KSlice {
				ret.bufs = nil
			}
		}
		if s.Decl {
			f.env[s.Dst] = ret
		} else {
			f.set(s.Dst, ret)
		}
	}
	if fail && s.Err != EIgnore && s.Err != EDiscard {
		return m.list(f, s.Fail)
	}
	return next
}
