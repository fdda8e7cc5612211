package own

import (
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/flow"
	"github.com/lastuse/lastuse/escape/internal/lift"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// A region is where a group is alive, and as much behind as it takes to find a place.
type region struct {
	nodes  []int // ascending
	index  map[int]int
	graph  *flow.Graph
	outs   [][]int           // by node and edge of graph: the edge of the function's graph
	entry  map[int]bool      // indexes of nodes that are entered from outside
	liveIn map[int]flow.Bits // by node of the function's graph: values needed behind its entry
}

// find fills the region of a group.
func (g *Group) findRegion() {
	r := &region{index: map[int]int{}, entry: map[int]bool{}, liveIn: g.liveness()}
	g.region = r
	graph, in := g.f.Graph, g.asked()
	for n := range r.liveIn {
		in[n] = true
	}
	for n := range g.events {
		in[n] = true
	}
	for n, vs := range g.phis { // where paths meet, and one of them brings it
		if slices.ContainsFunc(vs, func(v int) bool { return g.f.Useful(memory.Phi(g.Values[v])) }) {
			in[n] = true
		}
	}
	if slices.ContainsFunc(g.Sites, func(s *pointsto.Site) bool { return s.AtEntry() }) {
		for n := range graph.Nodes { // what becomes of a parameter is wanted to the end
			in[n] = true
		}
	}
	edge := slices.Collect(maps.Keys(in))
	for range 8 { // so many blocks behind its end it finds a place, or none
		next := []int{}
		for k := 0; k < len(edge); k++ {
			for _, s := range graph.Succs[edge[k]] {
				if p, _ := graph.Next(s, 0); p == nil && !in[s] && graph.Nodes[s].First > 0 {
					edge = append(edge, s) // the same block goes on
				} else if p == nil && !in[s] {
					next = append(next, s)
				}
				in[s] = true
			}
		}
		edge = next
	}
	r.nodes = slices.Sorted(maps.Keys(in))
	for k, n := range r.nodes {
		r.index[n] = k
	}
	r.graph, r.outs = &flow.Graph{Succs: make([][]int, len(r.nodes))}, make([][]int, len(r.nodes))
	for k, n := range r.nodes {
		for out, s := range graph.Succs[n] {
			if in[s] {
				r.graph.Succs[k] = append(r.graph.Succs[k], r.index[s])
				r.outs[k] = append(r.outs[k], out)
			}
		}
		r.entry[k] = n == 0 || slices.ContainsFunc(graph.Preds[n], func(p int) bool { return !in[p] })
	}
}

// asked returns the nodes between sites and comparisons of their errors, which say whether anything was made.
func (g *Group) asked() map[int]bool {
	in := map[int]bool{}
	for _, s := range g.Sites {
		if s.Error != nil {
			def, _, _ := g.f.Where(s.Error)
			for _, i := range g.f.Users(s.Error) {
				if _, ok := i.(*ssa.BinOp); ok {
					g.f.Graph.Between(def, i, in)
				}
			}
		}
	}
	return in
}

// liveness returns which values of the group are needed behind the entry of each node, without regard to
// conditions. It walks from each use to the definition, so that it does no more than what it finds.
func (g *Group) liveness() map[int]flow.Bits {
	graph := g.f.Graph
	in := map[int]flow.Bits{}
	var stack []int
	for k, v := range g.Values {
		def, defAt, known := g.f.Where(v)
		isPhi := memory.Phi(v) != nil
		from, late := g.late[k]
		need := func(n int) {
			if late && n != from && !g.f.order.Reaches(from, n) {
				return
			}
			if in[n] == nil {
				in[n] = flow.NewBits(len(g.Values))
			}
			if !in[n].Has(k) {
				g.f.steps++
				in[n].Add(k)
				stack = append(stack, n)
			}
		}
		for _, i := range g.f.Users(v) {
			if phi, ok := i.(*ssa.Phi); ok {
				if g.f.Useful(phi) {
					g.phiUses(phi, v, func(pred int) {
						if !known || pred != def {
							need(pred)
						}
					})
				}
				continue
			}
			n, at, _ := graph.Where(i)
			if !known || n != def || at < defAt && !isPhi {
				need(n)
			}
		}
		for _, w := range graph.Deferred {
			if late && (!known || w[0] != def) {
				need(w[0])
			}
		}
		for len(stack) > 0 {
			n := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, p := range graph.Preds[n] {
				if !known || p != def {
					need(p)
				}
			}
		}
	}
	return in
}

// phiUses calls need for each node from whose end a phi gets v.
func (g *Group) phiUses(phi *ssa.Phi, v ssa.Value, need func(pred int)) {
	graph := g.f.Graph
	n, _, _ := graph.Where(phi)
	for _, p := range graph.Preds[n] {
		for out, s := range graph.Succs[p] {
			if k := graph.Phi(p, out); s == n && k >= 0 && g.f.Brings(phi, k, v) {
				need(p)
			}
		}
	}
}

// A test is a branch on a condition that may be known from before.
type test struct {
	key lift.Key
	neg bool // the condition holds where the key does not
	ok  bool
	// What the condition always is, if that is known.
	fixed, on bool
	then      *lift.Key // is so where the condition is
}

// needs lists the keys that acts and sites of the group depend on.
func (g *Group) needs() []lift.Key {
	var out []lift.Key
	add := func(k lift.Key) {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	for _, s := range g.Sites {
		if s.Error != nil {
			add(lift.NonNil(s.Error))
		}
		if s.OK != nil {
			add(lift.IsTrue(s.OK))
		}
	}
	for _, n := range g.region.nodes {
		for _, e := range g.events[n] {
			if k, _, ok := g.depends(e.act); ok {
				add(k)
			}
		}
	}
	return out
}

// depends returns the key that an act depends on, and what that must be; ok is false if it depends on none.
func (g *Group) depends(a pointsto.Act) (k lift.Key, want, ok bool) {
	v, want := a.Asks()
	switch {
	case v == nil:
		return lift.Key{}, false, false
	case effect.Nillable(v.Type()):
		return lift.NonNil(v), want, true
	}
	k, neg, ok := g.f.keyOf(v)
	return k, want != neg, ok
}
