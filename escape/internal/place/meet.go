package place

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// A taking is a spot whose free of a token another one takes over, where ways meet behind it.
type taking struct {
	of   *placing
	spot *spot
	by   *spot
}

// sink keeps of the entries of tokens those that free on each way there once, and gives them what they take
// over. An entry that does not takes nothing over, so that those that it stands on do not either.
func (pl *planner) sink(all []*placing) {
	var taken []taking
	for again := true; again; {
		again, taken = false, nil
		for _, p := range all {
			p.entries = slices.DeleteFunc(p.entries, func(r run) bool {
				under, ok := pl.meets(p, r.spot, all)
				taken = append(taken, under...)
				if !ok {
					if p.last[r.node] == r.spot {
						delete(p.last, r.node)
					}
					p.open = append(p.open, r)
					again = true
				}
				return !ok
			})
		}
	}
	for _, p := range all {
		for _, r := range p.entries {
			p.spots = append(p.spots, r.spot)
		}
	}
	for _, k := range taken {
		k.of.spots = slices.DeleteFunc(k.of.spots, func(s *spot) bool { return s == k.spot })
		if !slices.ContainsFunc(k.of.spots, k.by.same) {
			by := *k.by
			k.of.spots = append(k.of.spots, &by)
		}
	}
}

// meets says what a free of a token at the head of a node does on each way there. A value that is needed up
// to there holds nothing that was due before, nor does one that holds nothing that has passed. Where all that
// has passed has a free of its own right in front, these sink: all ways are freed where they meet. It is
// false if there is another way.
func (pl *planner) meets(p *placing, s *spot, all []*placing) (sunk []taking, ok bool) {
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
			edge := pl.g.OnEdge(n, out)
			if edge == nil || len(pl.moves[n]) > 0 && pl.clean(pl.end(n), v) {
				continue
			}
			if under := pl.under(n, s, v, all); under != nil {
				sunk = append(sunk, under...)
				continue
			}
			ts, _ := edge.Held(s.value)
			for _, u := range ts {
				// Another one that is owned must have its free here as well, and asks for itself.
				other := u != p.t && s.point.Status(u)&own.Owned != 0
				if other || !pl.spent(edge.Status(u), u == p.t) {
					continue
				}
				k := slices.IndexFunc(all, func(q *placing) bool { return q.t == u })
				if k < 0 || len(graph.Succs[n]) != 1 || edge.Status(u)&^(own.Passed|own.Absent) != 0 {
					return nil, false
				}
				r := all[k].last[n]
				if r == nil || r == s || !r.point.Is(v, u) {
					return nil, false
				}
				sunk = append(sunk, taking{all[k], r, s})
			}
		}
	}
	return sunk, true
}

// under lists the frees of a value right in front of ways that meet, which hold nothing else that has passed.
func (pl *planner) under(node int, by *spot, v ssa.Value, all []*placing) (out []taking) {
	for _, q := range all {
		if r := q.last[node]; r != nil && r != by && r.value == v && len(pl.f.Graph.Succs[node]) == 1 {
			out = append(out, taking{q, r, by})
		}
	}
	return out
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

// clean reports whether a value holds nothing at a point that has passed.
func (pl *planner) clean(p *own.Point, v ssa.Value) bool {
	yes, before := p.Clean(v)
	return yes || before && pl.cleanBefore(p.Node, v)
}

// cleanBefore reports whether what a value is in front of each edge to a node holds nothing there that has
// passed.
func (pl *planner) cleanBefore(node int, v ssa.Value) bool {
	graph := pl.f.Graph
	type at struct {
		node int
		v    ssa.Value
	}
	seen := map[at]bool{}
	for open := []at{{node, v}}; len(open) > 0; open = open[1:] {
		to := open[0]
		if seen[to] {
			continue
		}
		seen[to] = true
		for _, n := range graph.Preds[to.node] {
			for out, m := range graph.Succs[n] {
				if m != to.node || n == graph.Panic {
					continue
				}
				if len(pl.moves[n]) == 0 {
					return false
				}
				w := pl.brought(n, out, to.v)
				yes, before := pl.end(n).Clean(w)
				if !yes && !before {
					return false
				}
				if before {
					open = append(open, at{n, w})
				}
			}
		}
	}
	return true
}

// end returns the last point of a node.
func (pl *planner) end(n int) *own.Point { return pl.moves[n][len(pl.moves[n])-1] }

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
