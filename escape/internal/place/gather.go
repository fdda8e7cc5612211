package place

import (
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// This file is about ways that meet behind the last use of a token on some of them, with a use on others, or
// no place. No name says there on which ways it is owned still, so it is freed on all.

// gather returns spots for runs that have none, or none that suits all ways there: they free t whatever the
// way; and the spots on these ways that go for that. The name is that of what makes t: it has nothing else,
// also where t has passed. A run without such a spot has none here, either.
func (pl *planner) gather(t own.Token, runs []run, spots []*spot) (found map[int]*spot, gone map[*spot]bool) {
	found, gone = map[int]*spot{}, map[*spot]bool{}
	ways := map[int]bool{}
	for _, r := range runs {
		points := pl.moves[r.node]
		var s *spot
		for k := r.start; k < len(points) && points[k].Due(t) && s == nil; k++ {
			s = pl.spot(points, k, pl.only(points[k], t))
		}
		if s != nil && t%2 == 0 && !pl.leaving(r.node) {
			if found[r.node] != nil {
				return nil, nil
			}
			found[r.node] = s
			maps.Copy(ways, pl.waysTo(r.node, t))
		}
	}
	made, at, _ := pl.f.Where(pl.g.Sites[t/2].Value)
	for n := range ways {
		if found[n] != nil { // it would be freed in each turn, or once more behind
			return nil, nil
		}
		if slices.ContainsFunc(pl.moves[n], func(p *own.Point) bool {
			return (n != made || p.At > at) && p.Status(t)&^(own.Owned|own.Passed|own.Absent) != 0
		}) {
			return nil, nil // somebody else frees it on one of them
		}
	}
	for _, q := range spots {
		gone[q] = ways[q.node]
		if ts, _ := q.point.Held(q.value); gone[q] && slices.ContainsFunc(ts, func(u own.Token) bool {
			return u != t && q.point.Status(u)&own.Owned != 0
		}) {
			return nil, nil // that frees something else as well
		}
		if found[q.node] != nil || ways[q.node] && !pl.allLead(q.node, ways, found, t) {
			return nil, nil
		}
	}
	return found, gone
}

// only is a moment of a token that goes by what makes it, a call that returns that, or a slot that has had it
// since then, and by nothing else.
func (pl *planner) only(p *own.Point, t own.Token) moment {
	made := pl.g.Sites[t/2].Value
	is := func(v ssa.Value) bool {
		for v != nil && v != made && isResult(v) {
			v = pl.f.MadeOf(v)
		}
		return v == made
	}
	by := func(v ssa.Value) bool { return is(v) || pl.f.IsSlot(v) && pl.has(v, p, t, is) }
	return moment{t: t, only: by, clean: func(ssa.Value) bool { return true }, due: p.Due}
}

// has reports whether a slot is given t right where that is made, and nothing else on the ways from there to
// a point.
func (pl *planner) has(v ssa.Value, p *own.Point, t own.Token, is func(ssa.Value) bool) (given bool) {
	made, at, _ := pl.f.Where(pl.g.Sites[t/2].Value)
	ways := pl.waysTo(p.Node, t)
	ways[p.Node] = true
	for n := range ways {
		for k, i := range pl.f.Graph.Nodes[n].Instrs {
			switch s, store := i.(*ssa.Store); {
			case n == made && k <= at, n == p.Node && k >= p.At:
			case store && pl.f.Sets(s, v):
				if given || !is(s.Val) || s.Block() != pl.f.Graph.Nodes[made].Block {
					return false
				}
				given = true
			case pl.mayGive(i, v):
				return false
			}
		}
	}
	return given
}

// mayGive reports whether an instruction that is no store may give a slot something, or let others do that.
func (pl *planner) mayGive(i ssa.Instruction, v ssa.Value) bool {
	m, literal := i.(*ssa.MakeClosure)
	switch i.(type) {
	case *ssa.UnOp, *ssa.FieldAddr, *ssa.IndexAddr, *ssa.DebugRef:
		return false
	}
	return slices.ContainsFunc(i.Operands(nil), func(x *ssa.Value) bool {
		return *x != nil && pl.f.Reaches(*x, v) != memory.None &&
			!(literal && pl.f.LooksAt(m, slices.Index(m.Bindings, *x)))
	})
}

// aside adds the spots of t on ways that leave those to the nodes where it is gathered: t has passed there,
// and is kept for the frees behind. A run in none has no spot: it is missed, unless all ways from there have
// one.
func (pl *planner) aside(p *placing, to, none []int) {
	ways, missed := map[int]bool{}, 0
	for _, n := range to {
		maps.Copy(ways, pl.waysTo(n, p.t))
	}
	var left []int
	leave := func(n int) {
		for out, m := range pl.f.Graph.Succs[n] {
			on := pl.g.OnEdge(n, out)
			if on == nil || m == pl.f.Graph.Panic || ways[m] || slices.Contains(to, m) || slices.Contains(left, m) {
				continue
			}
			switch on.Status(p.t) & (own.Passed | own.Owned) {
			case own.Passed:
				left = append(left, m)
			case own.Passed | own.Owned:
				missed++
			}
		}
	}
	for _, n := range pl.g.Nodes() {
		if ways[n] && !slices.Contains(to, n) {
			leave(n)
		}
	}
	for k := 0; k < len(left); k++ {
		var s *spot
		points := pl.moves[left[k]]
		for i := 0; i < len(points) && s == nil; i++ {
			s = pl.spot(points, i, pl.only(points[i], p.t))
		}
		switch {
		case s != nil:
			p.spots = append(p.spots, s)
		case len(pl.f.Graph.Succs[left[k]]) == 0:
			missed++
		default:
			leave(left[k])
		}
	}
	for _, n := range none {
		if missed > 0 || !ways[n] {
			p.missed++
			p.ends = append(p.ends, n)
		}
	}
}

// waysTo returns the nodes from which ways lead to another one before t is made anew, that in which it is
// made among them.
func (pl *planner) waysTo(to int, t own.Token) map[int]bool {
	made, _, _ := pl.f.Where(pl.g.Sites[t/2].Value)
	seen := map[int]bool{}
	for open := []int{to}; len(open) > 0; open = open[1:] {
		for _, n := range pl.f.Graph.Preds[open[0]] {
			if n != pl.f.Graph.Panic && !seen[n] && pl.f.Runs(n) {
				seen[n] = true
				if n != made {
					open = append(open, n)
				}
			}
		}
	}
	return seen
}

// allLead reports whether all ways from a node lead to one of others before t is made anew.
func (pl *planner) allLead(from int, ways map[int]bool, to map[int]*spot, t own.Token) bool {
	graph := pl.f.Graph
	made, _, _ := pl.f.Where(pl.g.Sites[t/2].Value)
	seen := map[int]bool{}
	for open := []int{from}; len(open) > 0; open = open[1:] {
		for _, m := range graph.Succs[open[0]] {
			switch {
			case m == graph.Panic || !pl.f.Runs(m) || to[m] != nil || seen[m]:
			case m == made || !ways[m]:
				return false
			default:
				seen[m] = true
				open = append(open, m)
			}
		}
	}
	return true
}
