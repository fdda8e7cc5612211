package own

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/flow"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/lift"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// A solution is what is known at the nodes of a group's region.
type solution struct {
	states *flow.Result[state]
	lives  *flow.Result[live]
	needs  map[moment]live

	harmless Status // see Harmless
}

// A moment is behind an instruction of a node that has events, or where the node is entered, at -1.
type moment struct{ node, at int }

// A Func is a function, and what becomes of what its values hold.
type Func struct {
	*pointsto.Func
	Groups []*Group
	order  *flow.Order
	tests  []test // by node
	runs   map[*ssa.BasicBlock]bool
	known  map[lift.Key]map[*ssa.BasicBlock]answer
	steps  int
}

// Solve finds what becomes of what the values of a function may hold.
func Solve(held *pointsto.Func) *Func {
	f := &Func{Func: held, runs: map[*ssa.BasicBlock]bool{}}
	f.findTests()
	if len(held.Groups) == 0 {
		return f // nobody asks for more
	}
	for _, b := range f.SSA.Blocks {
		f.runs[b] = ir.ComesToAnEnd(b)
	}
	f.order = flow.NewOrder(&flow.Graph{Succs: f.Graph.Succs})
	for _, h := range held.Groups {
		g := &Group{Group: h, f: f}
		f.Groups = append(f.Groups, g)
		if g.Why() == "" {
			g.prepare()
			g.solve()
		}
	}
	return f
}

// Early is the group as it would be without some acts. Lent says that what its function is given is the
// function's to free.
func (g *Group) Early(gone func(a pointsto.Act) bool, lent bool) *Group {
	e := &Group{Group: g.Group, f: g.f, lent: lent}
	e.prepare()
	for n, list := range e.events {
		e.events[n] = slices.DeleteFunc(list, func(e event) bool { return e.kind == act && gone(e.act) })
	}
	e.solve()
	return e
}

// Work is the work done for a function: uses that were followed, visits of nodes, events
// in them, and values that are needed in a node.
func (f *Func) Work() int { return f.Steps + f.steps }

func (g *Group) solve() {
	g.findRegion()
	g.chooseConds()
	g.sortEvents()
	r := g.region
	lives := &flow.Problem[live]{Backward: true, Start: map[int]live{}, Node: func(k int, l live) live {
		g.f.steps += 1 + len(g.events[r.nodes[k]])
		return g.needed(r.nodes[k], l, nil)
	}, Edge: func(e flow.Edge, l live) (live, bool) {
		return g.neededAcross(r.nodes[e.From], r.outs[e.From][e.Out], l), true
	}, Join: joinLives}
	nothing := make(live, 1<<len(g.conds))
	for k := range r.nodes {
		lives.Start[k] = nothing
	}
	g.sol = &solution{lives: flow.Solve(r.graph, lives), needs: map[moment]live{}, harmless: g.harmless()}
	for k, n := range r.nodes {
		g.sol.needs[moment{n, -1}] = g.needed(n, g.sol.lives.In[k], func(at int, l live) { g.sol.needs[moment{n, at}] = l })
	}
	states := &flow.Problem[state]{Start: map[int]state{}, Node: func(k int, s state) state {
		g.f.steps += 1 + len(g.events[r.nodes[k]])
		return g.through(r.nodes[k], s, nil)
	}, Edge: func(e flow.Edge, s state) (state, bool) {
		return g.across(r.nodes[e.From], r.outs[e.From][e.Out], s)
	}, Join: joinStates}
	for k := range r.nodes {
		if r.entry[k] {
			states.Start[k] = g.start(r.nodes[k])
		}
	}
	g.sol.states = flow.Solve(r.graph, states)
}

// Runs reports whether statements of a node run and come to an end: not what a panic leads to, nor what
// go/ssa makes for a range over a function that calls its body when it must not, nor a block in which the
// program stops.
func (f *Func) Runs(node int) bool { return f.runs[f.Graph.Nodes[node].Block] }

// InLoop reports whether two nodes are of one loop, which the body of a range over a function is.
func (f *Func) InLoop(a, b int) bool { return memory.IsBody(f.SSA) || f.order.Together(a, b) }
