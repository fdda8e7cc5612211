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
// only what is known of a condition keeps from being used. Sure is Least without
// what only arrays lead to: an element that is never read again may be gone while
// another is, which the locations of this package do not tell apart.
type Event struct {
	Kind  EventKind
	Value int64
	Least []int
	Slack []int
	Sure  []int
	Live  []int // buffers that are there, by site
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
	lent    int  // calls that borrow it
	readers int  // goroutines that may read it
}

type value struct {
	bufs   []*object
	pins   []*object
	lo, hi int // of a view: elements cut

	once, done bool // of a literal: it runs once, and did
	closed     int  // of what is loud: how often its free ran
}

func (v *value) clone() *value {
	return &value{bufs: slices.Clone(v.bufs), pins: slices.Clone(v.pins), lo: v.lo, hi: v.hi}
}

type frame struct {
	fn     *Func
	index  int
	cur    Set // locations live over all paths, where a copy is a read
	low    Set // … over the paths that are open to who knows flags and types
	env    map[*Var]*value
	flags  map[string]bool
	parent *frame
	temps  []*object
	held   []*object          // deferred calls will read them
	groups map[*Var][]*object // goroutines of the group may read them
	done   map[string]bool    // flags of guarded defers
	defers []func() sig
	failed bool // the variable err of a function with named results holds an error
	lits   map[*Var]*Closure
	temp   map[string]int64 // what trials gave a name
	recur  *Recur           // a call of this literal
	left   int              // … in which so many more may be
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
		if old, ok := g.env[v]; ok {
			if v.Kind == KBuf {
				*old = *x // literals that captured the variable see it
			} else {
				g.env[v] = x
			}
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
	return f.value(p.V).at(p.Field)
}

// at returns what field i holds, all if i is negative.
func (v *value) at(i int) []*object {
	switch {
	case i < 0:
		return v.bufs
	case i < len(v.bufs):
		return v.bufs[i : i+1]
	}
	return nil
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
	holds int // statements around that hold the lock

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
		a.live = append(a.live, readable(f))
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
		case errInvalid, errTooLong, errKept, errLent, errNil, errRuns, errLoud:
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
		for o := range m.reach(f, f.cur, true) {
			o.dropped = true
		}
		if f.fn != nil && (f.fn.Recover || f.fn.Rescue) {
			return
		}
	}
}

// reach returns the objects that the locations in live lead to, from f; with all, also what may be used no
// more although its location is live: elements, and what a literal replaces behind a pointer.
func (m *machine) reach(f *frame, live Set, all bool) map[*object]bool {
	res := map[*object]bool{}
	add := func(list []*object) {
		for _, o := range list {
			if o != nil {
				res[o] = true
			}
		}
	}
	add(f.temps)
	add(f.held)
	for _, list := range f.groups {
		add(list)
	}
	for g := f; g != nil; g = g.parent {
		for v, x := range g.env {
			if v.fields() {
				for i := range 2 {
					if live.has(v.Loc+i) && i < len(x.bufs) {
						add(x.bufs[i : i+1])
					}
				}
			} else if live.has(v.Loc) && (all || v.Kind != KArray && !(v.Kind == KPtr && v.Cell)) {
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
		e.Sure = make([]int, len(m.p.Sites))
		e.Live = make([]int, len(m.p.Sites))
		live, may, sure := map[*object]bool{}, map[*object]bool{}, map[*object]bool{}
		for _, f := range m.stack {
			maps.Copy(live, m.reach(f, f.low, true))
			maps.Copy(may, m.reach(f, f.cur, true))
			maps.Copy(sure, m.reach(f, f.low, false))
		}
		for _, o := range m.made {
			if !o.freed {
				e.Live[o.site]++
			}
			if !o.freed && (o.kept || sure[o]) {
				e.Sure[o.site]++
			}
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
	if o.readers > 0 {
		panic(errRuns)
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

// look returns what p names, which is read: a pointer must be there.
func (f *frame) look(p Path) []*object {
	list := f.objects(p)
	touch(list)
	switch p.V.Kind {
	case KAny, KErr:
		return list // asked first what they hold
	}
	if p.V.Res == RMat && slices.Contains(list, nil) {
		panic(errInvalid)
	}
	return list
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
	if s.kind != sPanic {
		f.failed = retErr
	}
	f.abandoned()
	for j := len(f.defers) - 1; j >= 0; j-- {
		if t := f.defers[j](); t.kind == sPanic {
			s = t
		}
	}
	m.stack = m.stack[:depth-1]
	if s.kind == sPanic && fn.Recover {
		m.out(recovered)
		ret, retInt, retErr, s = nil, 0, false, next
	} else if s.kind == sPanic && fn.Rescue {
		m.out(recovered)
		ret, retErr, s = f.env[fn.Clean], false, next
	}
	if fn.Named && f.failed {
		for _, o := range f.objects(Of(fn.Clean)) {
			m.free(o)
		}
	}
	m.ret, m.retInt, m.retErr = ret, retInt, retErr
	return s
}

// told notes whether s failed, unless its error goes to a variable of its own or of an inner scope: a
// deferred function that frees a named result looks at it, in a panic as well.
func (f *frame) told(s Stmt, how OnErr, decl, failed bool) {
	if f.fn == nil || !how.tested() || decl && (how == EInvert || !slices.Contains(f.fn.Body, s)) {
		return
	}
	f.failed = failed
}

// recovered is what a function prints that recovers from a panic.
const recovered = -77
