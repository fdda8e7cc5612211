package place

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/own"
)

// This file is about ways that meet behind the last use of a token on some of them, with a use on others. No
// name says there on which ways it is owned still, so it is freed on all.

// gather returns a spot for a run that has none, if it frees t whatever the way, and the spots on the ways
// there that go for that. The name is that of what makes t: it has nothing else, also where t has passed.
func (pl *planner) gather(t own.Token, node int, r run, spots []*spot) (s *spot, gone map[*spot]bool) {
	made := pl.g.Sites[t/2].Value
	points := pl.moves[node]
	for k := r.start; k < len(points) && points[k].Due(t) && s == nil; k++ {
		if st := points[k].Status(t); st&^(own.Owned|own.Passed|own.Absent) != 0 || t%2 == 1 {
			return nil, nil
		}
		s = pl.spot(points, k, moment{t, func(v ssa.Value) bool { return v == made }, points[k].Due})
	}
	if s == nil || pl.leaving(node) {
		return nil, nil
	}
	if again, _ := pl.leads(node, node, t); again {
		return nil, nil // it would be freed in each turn
	}
	gone = map[*spot]bool{}
	for _, q := range spots {
		some, all := pl.leads(q.node, node, t)
		if some && !all || q.node == node {
			return nil, nil
		}
		gone[q] = some
	}
	return s, gone
}

// leads reports whether some ways from a node lead to another one before t is made anew, and whether all do.
func (pl *planner) leads(from, to int, t own.Token) (some, all bool) {
	graph := pl.f.Graph
	made, _, _ := pl.f.Where(pl.g.Sites[t/2].Value)
	seen := map[int]bool{}
	all = true
	for open := []int{from}; len(open) > 0; {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		all = all && len(graph.Succs[n]) > 0
		for _, m := range graph.Succs[n] {
			switch {
			case m == graph.Panic || !pl.f.Runs(m) || seen[m]:
			case m == made:
				all = false
			case m == to:
				some = true
			default:
				seen[m] = true
				open = append(open, m)
			}
		}
	}
	return some, all
}
