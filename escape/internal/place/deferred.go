package place

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// deferred returns the spot of a deferred call that frees t when the function ends, behind the deferred calls
// that read it: it stands in front of them all. It is nil if nothing deferred reads t, if t is not the
// function's own there, if the plan or the program may end it behind, or if one buffer would be freed twice.
func (pl *planner) deferred(t own.Token) *spot {
	readers, ok := pl.readers(pl.g.Sites[t/2])
	if !ok {
		return nil
	}
	gap := pl.above(readers)
	if gap == nil {
		return nil
	}
	node, at, _ := pl.f.Graph.Where(gap.At)
	var p *own.Point
	for _, q := range pl.moves[node] {
		if q.At <= at {
			p = q
		}
	}
	if p == nil {
		return nil
	}
	ends := map[own.Token]bool{} // of which no free is planned
	for u := range own.Token(pl.g.Tokens()) {
		ends[u] = pl.staysFrom(node, at, u) && pl.anew(node, u)
	}
	return pl.named(p, moment{t, func(v ssa.Value) bool { return pl.clean(p, v) }, func(u own.Token) bool { return ends[u] }}, gap,
		Where{Place: gap, Deferred: true})
}

// readers lists the deferred calls that read what a site makes. It is false if there is none, or if one reads
// what a variable holds by the end.
func (pl *planner) readers(s *pointsto.Site) (calls []ssa.Instruction, ok bool) {
	holds := func(v ssa.Value) bool {
		return slices.ContainsFunc(pl.f.Holds(v), func(h pointsto.Hold) bool { return h.Site == s })
	}
	for _, v := range pl.g.Values {
		if d, ok := v.(*memory.Deferred); ok && holds(v) {
			calls = append(calls, d.Defer)
		}
		if !memory.InMemory(v) || !holds(v) {
			continue
		}
		for _, i := range pl.f.Users(v) {
			if slices.ContainsFunc(pl.f.Acts(i, v), func(a pointsto.Act) bool {
				return a.Op == pointsto.Await && a.To == nil
			}) {
				return nil, false
			}
		}
	}
	return calls, len(calls) > 0
}

// above returns the last place through which all paths to some instructions lead.
func (pl *planner) above(list []ssa.Instruction) *ir.Place {
	b := list[0].Block()
	for slices.ContainsFunc(list, func(i ssa.Instruction) bool { return !b.Dominates(i.Block()) }) {
		b = b.Idom()
	}
	end := len(b.Instrs)
	for _, i := range list {
		if i.Block() == b {
			end = min(end, slices.Index(b.Instrs, i))
		}
	}
	return pl.ir.LastBefore(b, end)
}

// staysFrom reports whether, from an instruction on, nobody ends, moves or frees what t is there: neither the
// program, nor a deferred call of it.
func (pl *planner) staysFrom(node, at int, t own.Token) bool {
	seen := map[int]bool{}
	open := []int{node}
	stays := true
	for first := true; len(open) > 0 && stays; first = false {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		for _, p := range pl.moves[n] {
			if !first || p.At > at {
				stays = stays && !p.Ends(t&^1) && !p.Ends(t|1)
			}
		}
		for _, s := range pl.f.Graph.Succs[n] {
			if !seen[s] {
				seen[s] = true
				open = append(open, s)
			}
		}
	}
	return stays
}

// anew reports whether what t is has been made anew whenever a node runs again.
func (pl *planner) anew(node int, t own.Token) bool {
	made, _, _ := pl.f.Where(pl.g.Sites[t/2].Value)
	seen := map[int]bool{}
	open := []int{node}
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		for _, s := range pl.f.Graph.Succs[n] {
			if s == node && s != made {
				return false
			}
			if s != made && !seen[s] {
				seen[s] = true
				open = append(open, s)
			}
		}
	}
	return true
}
