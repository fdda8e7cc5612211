package place

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/own"
)

// meets says what a free of t at the head of a node does on each way there. A value that is
// needed up to there holds nothing that was due before, nor does one that holds nothing that
// has passed. Where it is t alone, and t has a free of its own right in front, that one
// sinks: both ways are freed where they meet. It is false if there is another way.
func (pl *planner) meets(t own.Token, s *spot, spots, entries []*spot) (sunk []*spot, ok bool) {
	graph := pl.f.Graph
	for _, n := range graph.Preds[s.node] {
		for out, m := range graph.Succs[n] {
			v := pl.brought(n, out, s.value)
			if c, ok := v.(*ssa.Const); m != s.node || n == graph.Panic || ok && c.Value == nil {
				continue
			}
			if !pl.g.Within(n) {
				return nil, false // nothing is known
			}
			p := pl.g.OnEdge(n, out)
			if p == nil || pl.clean(n, v) {
				continue
			}
			ts, _ := p.Held(s.value)
			if !slices.ContainsFunc(ts, func(u own.Token) bool { return p.Status(u)&own.Passed != 0 }) {
				continue
			}
			r := pl.inFront(n, spots, entries)
			if r == nil || len(ts) != 1 || ts[0] != t || p.Status(t) != own.Passed || !r.point.Is(v, t) {
				return nil, false
			}
			sunk = append(sunk, r)
		}
	}
	return sunk, true
}

// clean reports whether a value holds nothing that has passed at the end of a node.
func (pl *planner) clean(n int, v ssa.Value) bool {
	points := pl.moves[n]
	return len(points) > 0 && points[len(points)-1].Clean(v)
}

// inFront returns the spot of a node that leads to one node only, and is entered with
// nothing due.
func (pl *planner) inFront(n int, spots, entries []*spot) *spot {
	graph := pl.f.Graph
	if len(graph.Succs[n]) != 1 || slices.ContainsFunc(entries, func(s *spot) bool { return s.node == n }) {
		return nil
	}
	var last *spot
	for _, s := range spots {
		if s.node == n {
			last = s
		}
	}
	return last
}

// brought returns what a value that is a phi of the node behind an edge is in front of it.
func (pl *planner) brought(n, out int, v ssa.Value) ssa.Value {
	phi, ok := v.(*ssa.Phi)
	if !ok {
		return v
	}
	to := pl.f.Graph.Succs[n][out]
	if at, _, _ := pl.f.Graph.Where(phi); at != to {
		return v
	}
	if k := pl.f.Graph.Phi(n, out); k >= 0 {
		return phi.Edges[k]
	}
	return v
}
