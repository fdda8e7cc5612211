package own

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/flow"
)

// A solution is what is known at the nodes of a group's region.
type solution struct {
	states *flow.Result[state]
	lives  *flow.Result[live]
	needs  map[int]map[int]live // by node: what is needed behind its entry (-1) and instructions
}

// Solve finds what the values of a function hold and what becomes of it.
func Solve(in *Input, fn *ssa.Function) *Func {
	f := &Func{SSA: fn, Graph: in.IR.Graph(fn), in: in, made: map[ssa.Value]*Site{},
		read: &reader{ir: in.IR, in: in, closed: map[ssa.Value]bool{}, useful: map[*ssa.Phi]bool{}}}
	f.find()
	if len(f.Sites) == 0 {
		return f
	}
	f.follow()
	f.findTests()
	f.order = flow.NewOrder(&flow.Graph{Succs: f.Graph.Succs})
	for _, g := range f.Groups {
		if g.Why() == "" {
			g.prepare()
			g.findRegion()
			g.chooseConds()
			g.sortEvents()
			g.solve()
		}
	}
	return f
}

// Steps is the work done for a function: uses that were followed, visits of nodes, events
// in them, and values that are needed in a node.
func (f *Func) Steps() int { return f.steps }

func (g *Group) solve() {
	r := g.region
	lives := &flow.Problem[live]{Backward: true, Start: map[int]live{}, Node: func(k int, l live) live {
		g.f.steps += 1 + len(g.events[r.nodes[k]])
		return g.needed(r.nodes[k], l, nil)
	}, Edge: func(e flow.Edge, l live) (live, bool) {
		return g.neededAcross(r.nodes[e.From], r.outs[e.From][e.Out], l), true
	}, Join: joinLives}
	for k := range r.nodes {
		lives.Start[k] = make(live, 1<<len(g.conds))
	}
	g.sol = &solution{lives: flow.Solve(r.graph, lives), needs: map[int]map[int]live{}}
	for k, n := range r.nodes {
		at := map[int]live{}
		at[-1] = g.needed(n, g.sol.lives.In[k], func(i int, l live) { at[i] = l })
		g.sol.needs[n] = at
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
