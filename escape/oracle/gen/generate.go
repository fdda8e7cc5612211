package gen

import (
	"fmt"
	"math/rand/v2"
)

// Generate returns the program that seed stands for: valid Go that uses no freed
// buffer in any of the runs that the oracle makes.
func Generate(id int, seed uint64) *Program {
	for try := uint64(0); ; try++ {
		g := &generator{r: rand.New(rand.NewPCG(seed, try)), p: &Program{ID: id, Tags: map[string]bool{}}}
		g.p.Seed = g.r.Uint64()
		g.program()
		if len(g.p.Sites) == 0 || len(g.p.Sites) > maxSites || !g.fits() {
			continue
		}
		if Valid(g.p) == nil {
			return g.p
		}
	}
}

const maxSites = 40

// Valid says whether the program is right before any rewrite, in a sample of
// the runs that the oracle makes.
func Valid(p *Program) error {
	a := NewAnalysis(p)
	for run := range 8 {
		tr, err := a.Run(run, NoFault)
		if err != nil {
			return err
		}
		if run > 0 {
			continue
		}
		for op := range min(tr.Ops, MaxFaults) {
			for _, pan := range []bool{false, true} {
				if _, err := a.Run(run, Fault{op, pan}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// MaxFaults bounds the operations of one run that are made to fail.
const MaxFaults = 48

type generator struct {
	r     *rand.Rand
	p     *Program
	f     *state
	modes [][]mode // of the parameters of each function
	alias []bool   // functions whose result may be a parameter
	count int
}

// mode is what a function does to a parameter.
type mode uint8

const (
	borrows mode = iota
	consumes
	keeps
)

// state is what is known while one function is generated.
type state struct {
	fn      *Func
	scopes  [][]*known
	groups  []group
	loops   []string // labels of the loops around, "" for a switch
	depth   int      // loops around
	lit     int      // number of the literal around, 0 for none
	lits    int
	budget  int
	nest    int
	flags   []string
	again   bool   // the next call is to the function itself
	partial bool   // the named result is not filled in yet
	owed    []*Var // parameters to be freed before each return
}

// group is a set of variables that may hold the same buffer.
type group struct {
	up     int
	gone   bool // freed or handed away
	pinned bool // must not be: a deferred function holds it
	param  bool // may be a parameter, and so any other parameter
}

// known is a variable in scope.
type known struct {
	v     *Var
	group int
}

// aside draws what leaves all else in the program as it is where it says no.
func (g *generator) aside(fn int) *rand.Rand { return rand.New(rand.NewPCG(g.p.Seed, uint64(fn))) }

func (g *generator) chance(p float64) bool { return g.r.Float64() < p }
func (g *generator) n(k int) int           { return g.r.IntN(k) }
func (g *generator) tag(t string)          { g.p.Tags[t] = true }
func (g *generator) id() int               { g.count++; return g.count }

func (g *generator) fits() bool {
	for _, f := range g.p.Funcs {
		if f.Locs >= maxLocs {
			return false
		}
	}
	return true
}

func (g *generator) site(r Res) int {
	n := FirstSite + len(g.p.Sites)
	g.p.Sites = append(g.p.Sites, Site{N: n, Res: r})
	return n
}

func (g *generator) program() {
	g.p.Closes = g.chance(0.35)
	g.p.Insist = g.chance(0.6)
	g.p.Tex = g.chance(0.3)
	helpers := g.n(5)
	g.p.Funcs = make([]*Func, helpers+1)
	g.modes = make([][]mode, helpers+1)
	g.alias = make([]bool, helpers+1)
	plain := g.chance(0.12) // two that can stand for each other
	for i := helpers; i > 0; i-- {
		g.helper(i, plain && i > helpers-2)
	}
	g.p.Funcs[0] = g.function(&Func{Index: 0}, 6+g.n(20))
}

// helper makes function i; plain is one that takes a buffer and returns an error.
func (g *generator) helper(i int, plain bool) {
	f := &Func{Index: i}
	f.Result = []ResultKind{RNone, RErr, RErr, RErr, RBuf, RBuf, RBuf, RInt, RInt, RPair, RSlice, RPairPtr, RStack, RHeld, RTwo, RAny}[g.n(16)]
	if g.chance(0.2) {
		f.Res = RMat
	}
	// a type of the package
	own := f.Result == RPair || f.Result == RPairPtr || f.Result == RStack || f.Result == RHeld || f.Result == RTwo
	switch {
	case plain:
		f.Result, f.Res = RErr, RBuffer
	case own:
	case g.chance(0.25):
		f.Help = true
		g.tag("other package")
	}
	if !f.Help && g.chance(0.15) {
		f.Method = true
		g.tag("method")
	} else if f.Res == RBuffer && !own && !plain && g.chance(0.2) {
		f.Generic = true
		g.tag("generic")
	}
	g.f = &state{fn: f}
	params := g.n(3)
	if plain {
		params = 1
	}
	for j := range params {
		res := RBuffer
		if !f.Generic && !plain && g.chance(0.25) {
			res = RMat
		}
		kind := KBuf
		if x := g.n(20); !f.Generic && !f.Help && !plain {
			switch {
			case x < 2:
				kind = KPairPtr
			case x < 4:
				kind = KPair
			case x < 6:
				kind = KSlice
			case x < 7:
				kind = KStack
			}
		}
		m := borrows
		if plain {
		} else if kind == KBuf && g.chance(0.15) {
			m = consumes
			g.tag("consumed")
		} else if kind == KBuf && g.chance(0.06) {
			m = keeps
			g.tag("kept by callee")
		}
		v := g.newVar(fmt.Sprintf("x%d", j), kind, res)
		v.Param, v.Owned = true, m == consumes
		f.Params = append(f.Params, v)
		g.modes[i] = append(g.modes[i], m)
	}
	f.Recover = f.Result <= RErr && g.chance(0.15)
	if f.Recover {
		g.tag("recover")
	}
	f.Named = clean[f.Result] != 0 || f.Result == RBuf
	f.Named = f.Named && !f.Generic && g.chance(0.25)
	f.Half = !f.Named && (f.Result == RPair || f.Result == RPairPtr) && g.chance(0.3)
	if f.Rescue = f.Result == RBuf && !f.Named && !f.Generic && g.aside(i).IntN(3) == 0; f.Rescue {
		f.Res = RMat // a zero that is nil
	}
	f.Twin = !f.Named && !f.Half && (f.Result == RPair || f.Result == RPairPtr || f.Result == RTwo) && g.chance(0.25)
	g.p.Funcs[i] = g.function(f, 2+g.n(8))
}

// function fills in f's body; its parameters are there.
func (g *generator) function(f *Func, budget int) *Func {
	g.p.Funcs[f.Index] = f
	locs := f.Locs
	g.f = &state{fn: f, budget: budget}
	f.Locs = locs
	f.Hoist = f.Result <= RErr && !f.Generic && g.chance(0.10)
	g.push()
	for j, v := range f.Params {
		k := g.declare(v)
		g.f.groups[k.group].param = true
		if g.modes[f.Index][j] == borrows {
			g.f.groups[k.group].pinned = true
		}
		if g.modes[f.Index][j] == consumes {
			g.f.owed = append(g.f.owed, v)
			g.f.groups[k.group].pinned = true
		}
	}
	var body []Stmt
	if f.Named {
		f.Clean = g.newVar("r", clean[f.Result], f.Res)
		body = g.named(f)
	} else if f.Rescue {
		f.Clean = g.newVar("r", KBuf, f.Res)
		body = g.rescued(f)
	} else {
		if f.Result == RBuf && g.chance(0.45) {
			list, _ := g.made(f.Res)
			body = append(list, &If{Cond: g.cond(), Then: g.beside()})
		}
		body = append(body, g.stmts()...)
		if n := len(body); g.chance(0.15) && (n == 0 || !leaves(body[n-1])) {
			g.f.again = true
			body = append(body, g.doCall()...)
			g.f.again = false
		}
		if f.Recover && !f.Hoist && !f.Generic && g.chance(0.7) && (len(body) == 0 || !leaves(body[len(body)-1])) {
			body = append(body, g.thrown(f)...)
		}
		if f.Result == RBuf && g.chance(0.1) && g.empty() {
			body = append(body, &If{Cond: g.cond(), Then: g.ret(&Return{})})
		}
		if f.Hoist {
			body = append(body, g.gotos()...)
		}
		body = append(body, g.ending()...)
	}
	g.pop()
	f.Body = body
	return f
}

var letters = [...]string{KBuf: "b", KView: "v", KRaw: "p", KMethod: "m", KFiller: "i", KAny: "a", KEmbed: "e",
	KPtr: "q", KPair: "pair", KPairPtr: "pp", KArray: "arr", KSlice: "xs", KMap: "table", KFunc: "f", KChan: "ch",
	KGetter: "get", KKeys: "keys", KErr: "held", KSeq: "seq", KStack: "stack", KBox: "box", KFreer: "free", KTwo: "two",
	KGroup: "wg", KLoud: "loud", KNode: "node", KText: "text", KSelf: "self"}

// stmts returns a list of statements for the current scope, within the budget.
func (g *generator) stmts() []Stmt {
	var res []Stmt
	for g.f.budget > 0 {
		g.f.budget--
		add := g.action()
		res = append(res, add...)
		if n := len(add); n > 0 && leaves(add[n-1]) {
			return res
		}
		if g.chance(0.5) {
			res = append(res, g.probe())
		}
		if g.f.nest > 0 && g.chance(0.3) {
			break
		}
	}
	return res
}

func leaves(s Stmt) bool {
	switch s.(type) {
	case *Jump, *Return, *Panic:
		return true
	}
	return false
}

func (g *generator) probe() Stmt { return &Probe{ID: g.id()} }

// block returns the statements of a nested scope.
func (g *generator) block(before func() []Stmt) []Stmt {
	g.push()
	g.f.nest++
	defer func() { g.f.nest--; g.pop() }()
	var res []Stmt
	if g.chance(0.4) {
		res = append(res, g.probe())
	}
	if before != nil {
		res = append(res, before()...)
	}
	return append(res, g.stmts()...)
}

// fail returns what is done when an operation failed; it always leaves.
func (g *generator) fail(inLoop bool) []Stmt {
	var res []Stmt
	if g.chance(0.1) {
		if k := g.pick(func(k *known) bool { return handle(k.v) && solid(k.v) }); k != nil {
			res = append(res, &Use{Op: OSum, Args: []Path{Of(k.v)}})
		}
	}
	switch x := g.n(20); {
	case x < 3 && g.f.fn.Result == RBuf && g.f.fn.Clean == nil && g.f.lit == 0:
		if list := g.beside(); list != nil {
			return append(res, list...)
		}
	case x == 0 && !g.f.fn.Named: // its deferred function looks at err
		g.tag("explicit panic")
		return append(res, &Panic{X: g.n(9)})
	case x < 5 && inLoop && len(g.f.loops) > 0:
		if j := g.jump(); j != nil {
			return append(res, j)
		}
	case g.f.fn.Hoist && g.f.lit == 0 && x < 15:
		return append(res, &Jump{JGoto, "out"})
	}
	return append(res, g.ret(&Return{Fail: true})...)
}

// jump leaves or continues a loop around.
func (g *generator) jump() Stmt {
	var loops []int
	for i, l := range g.f.loops {
		if l != "" {
			loops = append(loops, i)
		}
	}
	if len(loops) == 0 {
		return nil
	}
	last := len(g.f.loops) - 1
	i := loops[g.n(len(loops))]
	kind := JBreak
	if g.chance(0.4) {
		kind = JContinue
	}
	j := &Jump{Kind: kind}
	name := [...]string{"break", "continue"}[kind]
	if i != last || g.chance(0.2) {
		j.Label = g.f.loops[i]
		name = "labelled " + name
	}
	g.tag(name)
	return j
}
