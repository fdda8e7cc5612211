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

// A spawn is an instruction that starts a goroutine.
type spawn struct {
	at      ssa.CallInstruction
	reaches set   // elements that it shares with others
	group   group // that it is waited for by; none: nobody waits
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
	firsts   map[*ssa.BasicBlock]int
	loops    map[*ssa.BasicBlock]bool
	lives    map[*ssa.BasicBlock]map[ssa.Value]bool
	objects  map[*ssa.BasicBlock]set              // see liveObjects
	panicked map[*ssa.Function]map[ssa.Value]bool // see unwound
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
			objects: map[*ssa.BasicBlock]set{}, lives: map[*ssa.BasicBlock]map[ssa.Value]bool{},
			panicked: map[*ssa.Function]map[ssa.Value]bool{}},
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
				g.points[n].entry = g.f.entry(i)
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
	if r, handed := g.f.owns[o.at]; handed {
		return r.part(o.index)
	}
	if k := g.calls[o.at.(ssa.CallInstruction)]; k != nil {
		return k.sum.result(o.index % partBase).part(o.index)
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
	switch at := o.at.(type) {
	case *ssa.Alloc, *ssa.Call, *ssa.Parameter:
		i, ok := at.(ssa.Instruction)
		u = ok && at.Parent() == f.root && !g.loops[i.Block()] || !f.older()[o]
		u = u && !o.escaped && (g.together[at.Parent()] || !slices.ContainsFunc(o.ids, g.common.has))
	}
	g.onlies[o] = u
	return u
}
