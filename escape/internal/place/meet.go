package place

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// sink returns the entries that free t on each way once, and the spots whose frees they take over. An entry
// that does not takes nothing over, so that those that it stands on do not either.
func (pl *planner) sink(t own.Token, entries []*spot, last map[int]*spot) (
	sunk map[*spot]bool, kept []*spot) {
	kept = slices.Clone(entries)
	for {
		sunk = map[*spot]bool{}
		n := len(kept)
		kept = slices.DeleteFunc(kept, func(s *spot) bool {
			under, ok := pl.meets(t, s, last)
			if !ok && last[s.node] == s {
				delete(last, s.node)
			}
			for _, r := range under {
				sunk[r] = true
			}
			return !ok
		})
		if len(kept) == n {
			return sunk, kept
		}
	}
}

// meets says what a free of t at the head of a node does on each way there. A value that is
// needed up to there holds nothing that was due before, nor does one that holds nothing that
// has passed. Where it is t alone, and t has a free of its own right in front, that one
// sinks: both ways are freed where they meet. It is false if there is another way.
func (pl *planner) meets(t own.Token, s *spot, last map[int]*spot) (sunk []*spot, ok bool) {
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
			if !slices.ContainsFunc(ts, func(u own.Token) bool {
				// Another one that is owned must have its free here as well, and asks for itself.
				other := u != t && s.point.Status(u)&own.Owned != 0
				return !other && p.Status(u)&pl.g.Spent() != 0
			}) {
				continue
			}
			r := last[n]
			if r == nil || r == s || len(graph.Succs[n]) != 1 || len(ts) != 1 || ts[0] != t ||
				p.Status(t) != own.Passed || !r.point.Is(v, t) {
				return nil, false
			}
			sunk = append(sunk, r)
		}
	}
	return sunk, true
}

// leaves reports whether the one call that ends t may leave it, and nothing else is done about that.
func (pl *planner) leaves(t own.Token) bool {
	s := pl.g.Sites[t/2]
	if len(s.Moves) > 0 || s.Joint() || !pl.g.Lost(t) {
		return false
	}
	var by *ssa.Call
	for _, n := range pl.g.Nodes() {
		for _, p := range pl.moves[n] {
			for _, m := range p.Meetings() {
				switch s.Does(m.Act, m.As).Do {
				case pointsto.Use, pointsto.Derive:
					continue
				}
				c, ok := m.Act.Instr.(*ssa.Call)
				if m.Token/2 != t/2 {
					continue
				}
				if !ok || by != nil && by != c || m.Act.When.Cond != effect.Maybe {
					return false
				}
				if k, _ := pl.f.Operand(&c.Call, m.Of); k < 0 || ir.Recursive(c.Call.StaticCallee()) {
					return false // what it runs does, or it leaves that to itself
				}
				by = c
			}
		}
	}
	return by != nil
}

// clean reports whether a value holds nothing that has passed at the end of a node.
func (pl *planner) clean(n int, v ssa.Value) bool {
	points := pl.moves[n]
	return len(points) > 0 && points[len(points)-1].Clean(v)
}

// cleanBefore reports whether what a value is in front of each edge to a node holds nothing there that has
// passed.
func (pl *planner) cleanBefore(node int, v ssa.Value) bool {
	graph := pl.f.Graph
	for _, n := range graph.Preds[node] {
		for out, m := range graph.Succs[n] {
			if m == node && n != graph.Panic && !pl.clean(n, pl.brought(n, out, v)) {
				return false
			}
		}
	}
	return true
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
