package proof

// The points of a family in order: instructions, panics, what is deferred, literals where they are called.

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"
)

type pointKind uint8

const (
	atInstr   pointKind = iota
	afterCall           // of the instruction at the point before
	atEnter             // of a function
	atLeave
	atPanic // something in the function panics
	atChain // before a deferred call
)

type point struct {
	kind  pointKind
	fn    *ssa.Function
	instr ssa.Instruction
	entry *entry // of instr, if it is no call
	chain *chain
	pos   int
}

// A chain is deferred calls in the order in which they run, from a RunDefers or a panic.
type chain struct {
	calls  []*ssa.Defer
	points []int
	to     int // point behind, -1 where a panic goes on
	fn     *ssa.Function
	again  bool // some are in loops: any order is possible
}

// A back is where a literal returns to.
type back struct {
	to     int
	result ssa.Value // the register that takes its results, nil if nobody does
	fn     *ssa.Function
	anyway bool // also if it panics: a callee may recover, and only a goroutine may have ended
}

// A spawn is an instruction that starts a goroutine.
type spawn struct {
	at      ssa.CallInstruction
	reaches set       // elements that it shares with others
	group   ssa.Value // that makes the group which it is waited for by; nil: nobody waits
	runs    map[*ssa.Function]bool
}

type graph struct {
	f      *family
	points []point
	meets  []bool // points that several others lead to, or that a path comes back to
	calls  map[ssa.CallInstruction]*call
	breaks bool // it matters how a panic leaves the root
	goesOn bool // something may go on although a literal panics
	exits
	spawning
	blocks
	looked
	edited
}

// exits are the points where functions begin and end, and what runs at their ends.
type exits struct {
	enter  map[*ssa.Function]int
	leave  map[*ssa.Function]int
	panic  map[*ssa.Function]int
	chains map[ssa.Instruction][]int
	unwind map[*ssa.Function][]int
	back   map[*ssa.Function][]back
	defers map[*ssa.Function][]*ssa.Defer // by the function at whose end they run
}

// spawning is what goroutines run.
type spawning struct {
	spawns   []*spawn
	spawned  map[*ssa.Function]bool                   // what goroutines started here run
	lasting  map[*ssa.Function]map[*ssa.Function]bool // see findLasting
	together map[*ssa.Function]bool                   // see findTogether
	within   map[*ssa.Function]bool                   // literals that may run inside themselves
	common   set                                      // elements that these write
}

// blocks is what is known of blocks.
type blocks struct {
	firsts map[*ssa.BasicBlock]int
	loops  map[*ssa.BasicBlock]bool
	lives  map[*ssa.BasicBlock]map[ssa.Value]bool
	elems  map[*ssa.BasicBlock]set
}

// looked has what was looked for once.
type looked struct {
	onlies map[*object]bool
	knows  *knowledge
	marks  *marks
	sites  *sites
	order  *evaluation
	varied map[*ssa.Alloc]bool // flags into which something else than zero is stored
}

// edited is what the edits are.
type edited struct {
	puts    [][2]token.Pos     // statements that were put in
	putBack map[token.Pos]bool // calls of frees that were taken out
}

func newGraph(f *family, puts [][2]token.Pos, putBack map[token.Pos]bool) *graph {
	g := &graph{f: f, edited: edited{puts, putBack}, calls: map[ssa.CallInstruction]*call{},
		exits: exits{enter: map[*ssa.Function]int{}, leave: map[*ssa.Function]int{}, panic: map[*ssa.Function]int{},
			chains: map[ssa.Instruction][]int{}, unwind: map[*ssa.Function][]int{},
			back: map[*ssa.Function][]back{}, defers: map[*ssa.Function][]*ssa.Defer{}},
		blocks: blocks{firsts: map[*ssa.BasicBlock]int{}, loops: map[*ssa.BasicBlock]bool{},
			elems: map[*ssa.BasicBlock]set{}, lives: map[*ssa.BasicBlock]map[ssa.Value]bool{}},
		looked: looked{marks: newMarks(), onlies: map[*object]bool{}, varied: map[*ssa.Alloc]bool{}}}
	for _, fn := range f.fns {
		g.add(fn)
	}
	for _, fn := range f.fns {
		g.link(fn)
	}
	g.within = map[*ssa.Function]bool{}
	for _, fn := range f.fns {
		g.within[fn] = reachable(g.runs, g.runs(fn)...)[fn]
	}
	g.meet()
	g.findTogether()
	g.findSpawns()
	g.findLasting()
	return g
}

// meet finds the points at which paths meet; on each cycle there is one.
func (g *graph) meet() {
	g.meets = make([]bool, len(g.points))
	for n, p := range g.points {
		g.meets[n] = p.kind != atInstr && p.kind != afterCall
		if p.kind == atChain && p.chain.to >= 0 {
			g.meets[p.chain.to] = true
		}
	}
	for b, n := range g.firsts {
		if len(b.Preds) != 1 && n < len(g.points) {
			g.meets[n] = true
		}
	}
	for _, list := range g.back {
		for _, b := range list {
			g.meets[b.to] = true
		}
	}
}

// strange says why the points of a family do not tell what runs; "" if they do.
func (g *graph) strange() string {
	for fn := range g.defers {
		if fn.Signature.Results().Len() > 0 && g.leavesOut(fn) {
			return "the body of a range over a function defers, and may change a result"
		}
	}
	return ""
}

// leavesOut reports whether go/ssa leaves out that deferred calls run where fn returns: it does where nothing
// but bodies of ranges over functions defers.
func (g *graph) leavesOut(fn *ssa.Function) bool {
	for i := range instrsOf(fn) {
		if _, runs := i.(*ssa.RunDefers); runs {
			return false
		}
	}
	return slices.ContainsFunc(g.defers[fn], func(d *ssa.Defer) bool { return d.Parent() != fn })
}

// runs returns the literals that fn calls, or has called.
func (g *graph) runs(fn *ssa.Function) (out []*ssa.Function) {
	for i := range instrsOf(fn) {
		if k := g.calls[callOf(i)]; k != nil {
			out = append(append(out, k.bodies...), k.callbacks...)
		}
	}
	return out
}

func (g *graph) point(p point) int { g.points = append(g.points, p); return len(g.points) - 1 }

// add makes the points of a function.
func (g *graph) add(fn *ssa.Function) {
	g.enter[fn] = g.point(point{kind: atEnter, fn: fn})
	g.leave[fn] = g.point(point{kind: atLeave, fn: fn})
	g.panic[fn] = g.point(point{kind: atPanic, fn: fn})
	for _, b := range fn.Blocks {
		g.loops[b] = inLoop(b)
		g.firsts[b] = len(g.points)
		for _, i := range b.Instrs {
			n := g.point(point{kind: atInstr, fn: fn, instr: i})
			g.point(point{kind: afterCall, fn: fn, instr: i})
			if c := callOf(i); c != nil {
				g.calls[c] = g.called(c)
			} else {
				g.points[n].entry = g.f.c.entry(i)
			}
			if d, ok := i.(*ssa.Defer); ok {
				owner := fn
				for owner.Synthetic == yield && owner.Parent() != nil {
					owner = owner.Parent()
				}
				g.defers[owner] = append(g.defers[owner], d)
			}
		}
	}
}

// called returns what a call does, which nothing changes any more; its point is the last but one.
func (g *graph) called(c ssa.CallInstruction) *call {
	k := g.f.resolve(c)
	k.point = len(g.points) - 2
	for n := range k.args {
		k.does = append(k.does, g.f.param(k, n))
	}
	return k
}

// link makes the chains of deferred calls and notes where literals return to.
func (g *graph) link(fn *ssa.Function) {
	order := map[*ssa.BasicBlock]int{}
	for n, b := range postorder(fn) {
		order[b] = n
	}
	calls := slices.Clone(g.defers[fn])
	// The last registered runs first: on a path, that is the one which is first in postorder.
	slices.SortStableFunc(calls, func(a, b *ssa.Defer) int {
		if a.Block() == b.Block() {
			return indexIn(a.Block(), b) - indexIn(a.Block(), a)
		}
		return order[a.Block()] - order[b.Block()]
	})
	again := slices.ContainsFunc(calls, func(d *ssa.Defer) bool {
		return g.loops[d.Block()] || d.Parent() != fn
	})
	make := func(to int) []int {
		ch := &chain{calls: calls, to: to, fn: fn, again: again}
		for n := range len(calls) + 1 {
			ch.points = append(ch.points, g.point(point{kind: atChain, fn: fn, chain: ch, pos: n}))
		}
		return ch.points
	}
	g.unwind[fn] = make(-1)
	for _, b := range fn.Blocks {
		for n, i := range b.Instrs {
			at := g.firsts[b] + 2*n
			switch i.(type) {
			case *ssa.RunDefers:
				g.chains[i] = make(at + 2)
			case *ssa.Return:
				if g.leavesOut(fn) {
					g.chains[i] = make(g.leave[fn])
				}
			}
			k := g.calls[callOf(i)]
			if k == nil {
				continue
			}
			if _, ok := i.(*ssa.Defer); ok {
				continue // chains return themselves
			}
			for _, body := range k.bodies {
				r := back{to: at + 1, fn: fn, anyway: k.spawns}
				if !k.spawns {
					r.result = k.v
				}
				g.returns(body, r)
			}
			for _, body := range k.callbacks { // the callee goes on: see walker.call
				g.returns(body, back{to: at, fn: fn, anyway: body.Synthetic != yield})
			}
		}
	}
	for _, pts := range g.chains {
		g.chainBacks(g.points[pts[0]].chain, fn)
	}
	g.chainBacks(g.points[g.unwind[fn][0]].chain, fn)
}

func (g *graph) chainBacks(ch *chain, fn *ssa.Function) {
	if ch.fn != fn {
		return
	}
	for n, d := range ch.calls {
		k := g.calls[d]
		for _, body := range k.bodies {
			g.returns(body, back{to: ch.points[n+1], fn: fn})
			if ch.again {
				g.returns(body, back{to: ch.points[0], fn: fn})
			}
		}
		for _, body := range k.callbacks {
			g.returns(body, back{to: ch.points[n], fn: fn, anyway: body.Synthetic != yield})
		}
	}
}

// quiet are packages of the standard library of which no exported function calls recover itself.
var quiet = []string{"bufio", "context", "io", "net", "net/http", "os", "runtime", "sync", "time"}

// recovers reports whether a deferred call may end a panic: a function comes back from one only where a
// function that it deferred asks for the panic. Of literals it is seen whether they, or those in them, do.
func (g *graph) recovers(ch *chain) bool {
	var asks func(fn *ssa.Function) bool
	asks = func(fn *ssa.Function) bool {
		for i := range instrsOf(fn) {
			if k := g.calls[callOf(i)]; k != nil && k.builtin == "recover" {
				return true
			}
		}
		return fn.Synthetic != "" || slices.ContainsFunc(fn.AnonFuncs, asks)
	}
	return slices.ContainsFunc(ch.calls, func(d *ssa.Defer) bool {
		k := g.calls[d]
		known := k.builtin != "" || len(k.bodies) > 0 || !d.Call.IsInvoke() && slices.Contains(quiet, pathOf(k.fn))
		return !known || k.builtin == "recover" || slices.ContainsFunc(k.bodies, asks)
	})
}

// returns notes where a literal returns to. The body of a range over a function ends the loop if it panics,
// though the callee may recover.
func (g *graph) returns(body *ssa.Function, b back) {
	g.back[body] = append(g.back[body], b)
	g.goesOn = g.goesOn || b.anyway
}

func (g *graph) first(b *ssa.BasicBlock) int { return g.firsts[b] }

// edge returns which edge into its k-th successor b is.
func (g *graph) edge(b *ssa.BasicBlock, k int) int {
	to := b.Succs[k]
	same := 0
	for _, s := range b.Succs[:k] {
		if s == to {
			same++
		}
	}
	for n, p := range to.Preds {
		if p == b {
			if same == 0 {
				return n
			}
			same--
		}
	}
	return 0
}

func postorder(fn *ssa.Function) []*ssa.BasicBlock {
	var out []*ssa.BasicBlock
	seen := map[*ssa.BasicBlock]bool{}
	var visit func(b *ssa.BasicBlock)
	visit = func(b *ssa.BasicBlock) {
		if seen[b] {
			return
		}
		seen[b] = true
		for _, s := range b.Succs {
			visit(s)
		}
		out = append(out, b)
	}
	if len(fn.Blocks) > 0 {
		visit(fn.Blocks[0])
	}
	return out
}

// panics reports whether an instruction may panic where that matters: somebody defers, or goes on. What was
// put in does not: it reads through nothing that may be nil, and frees what may be freed, or it is withheld.
func (g *graph) panics(i ssa.Instruction) bool {
	if g.f.c.off[Panics] {
		return false
	}
	return mayPanic(i) && (len(g.defers) > 0 || g.breaks || g.goesOn) && !g.inserted(i.Pos())
}

// inserted reports whether pos lies in a statement that was put in or put back.
func (g *graph) inserted(pos token.Pos) bool {
	return slices.ContainsFunc(g.puts, func(r [2]token.Pos) bool { return r[0] <= pos && pos < r[1] })
}

// made returns what is said of what a site makes.
func (g *graph) made(o *object) Result {
	if k := g.calls[o.at.(ssa.CallInstruction)]; k != nil {
		return k.sum.partOfResult(o.index)
	}
	return Result{Zero: true, Beside: true}
}

// unique reports whether the newest instance of memory is the only one that anybody can
// reach: it is made once, or its address stays in registers, which a new run of what makes
// it makes anew, too; and nobody else may write it at the same time.
func (g *graph) unique(f *family, o *object) bool {
	if u, ok := g.onlies[o]; ok {
		return u
	}
	u := false
	switch o.at.(type) {
	case *ssa.Alloc, *ssa.Call:
		at := o.at.(ssa.Instruction)
		u = at.Parent() == f.root && !g.loops[at.Block()] || !f.older()[o]
		u = u && !o.escaped && (g.together[at.Parent()] || !slices.ContainsFunc(o.ids, g.common.has))
	}
	g.onlies[o] = u
	return u
}
