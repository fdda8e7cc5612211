package place

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// deferred returns the spots of a deferred call that frees a token when the function ends, behind the
// deferred calls that read it: it stands in front of them all, and of all ends at which the token is left, if
// it can and has no other spot behind. There is none if nothing deferred reads it, if it is not the
// function's own there, if the plan or the program may end it behind, or if one buffer would be freed twice.
func (pl *planner) deferred(p *placing) []*spot {
	t := p.t
	readers, late := pl.readers(pl.g.Sites[t/2])
	if len(readers) == 0 {
		return nil
	}
	gap := pl.above(readers)
	if gap != nil && pl.strays(t, p.left, gap) {
		all := slices.Clone(readers)
		for _, n := range p.left {
			all = append(all, pl.f.Graph.Nodes[n].Block.Instrs[0])
		}
		front := pl.above(all)
		behind := func(s *spot) bool { return front.Block.Dominates(pl.f.Graph.Nodes[s.node].Block) }
		if front != nil && !slices.ContainsFunc(p.spots, behind) {
			if spots := pl.deferredAt(t, late, front); spots != nil {
				return spots
			}
		}
	}
	return pl.deferredAt(t, late, gap)
}

// strays reports whether t may come to one of some nodes, and be owned there, by a way past a place.
func (pl *planner) strays(t own.Token, to []int, past *ir.Place) bool {
	made, _, _ := pl.f.Where(pl.g.Sites[t/2].Value)
	without, _, _ := pl.f.Graph.Where(past.At)
	seen := map[int]bool{without: true, pl.f.Graph.Panic: true}
	for open := []int{made}; len(open) > 0; open = open[1:] {
		if seen[open[0]] {
			continue
		}
		seen[open[0]] = true
		if slices.Contains(to, open[0]) {
			return true
		}
		for out, m := range pl.f.Graph.Succs[open[0]] {
			if p := pl.g.OnEdge(open[0], out); p != nil && p.Status(t)&own.Owned != 0 {
				open = append(open, m)
			}
		}
	}
	return false
}

// deferredAt is deferred at a place, if there is one; late are variables of which is read what they hold by
// then.
func (pl *planner) deferredAt(t own.Token, late []ssa.Value, gap *ir.Place) []*spot {
	if gap == nil {
		return nil
	}
	node, at, _ := pl.f.Graph.Where(gap.At)
	for _, x := range late {
		if spots := pl.atEnd(t, x, gap, node); spots != nil {
			return spots
		}
	}
	p := pl.pointAt(node, at)
	if p == nil || p.Status(t)&own.Owned == 0 || len(late) > 0 { // it frees what is there by then
		return nil
	}
	ends := map[own.Token]bool{} // of which no free is planned
	for u := range own.Token(pl.g.Tokens()) {
		ends[u] = pl.staysFrom(node, at, u) && pl.anew(node, u)
	}
	s := pl.named(p, moment{t: t, clean: func(v ssa.Value) bool { return pl.clean(p, v) },
		due: func(u own.Token) bool { return ends[u] }}, gap, Where{Place: gap, Deferred: true})
	if s == nil {
		return nil
	}
	return []*spot{s}
}

// pointAt returns the point that holds in front of an instruction of a node; nil if the group is not alive.
func (pl *planner) pointAt(node, at int) (p *own.Point) {
	for _, q := range pl.moves[node] {
		if q.At <= at {
			p = q
		}
	}
	return p
}

// full reports whether a variable surely holds something at a place.
func (pl *planner) full(x ssa.Value, gap *ir.Place) bool {
	node, at, _ := pl.f.Graph.Where(gap.At)
	p := pl.pointAt(node, at)
	if p == nil {
		return false
	}
	ts, _ := p.Held(x)
	return slices.ContainsFunc(ts, func(u own.Token) bool { return p.Status(u) == own.Owned && p.Is(x, u) })
}

// readers lists the deferred calls that read what a site makes, and the variables of which some of them read
// what these hold by the end.
func (pl *planner) readers(s *pointsto.Site) (calls []ssa.Instruction, late []ssa.Value) {
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
				calls = append(calls, i)
				if !slices.Contains(late, v) {
					late = append(late, v)
				}
			}
		}
	}
	return calls, late
}

// atEnd returns the spots of a literal that is deferred at a place and frees what a variable holds when the
// function ends: one for each end of the function at which it may hold t. There is none if the variable holds
// something else at one of them that is not due, or t is owned at one where it does not hold it.
func (pl *planner) atEnd(t own.Token, x ssa.Value, gap *ir.Place, node int) (spots []*spot) {
	at := Where{Place: gap, Deferred: true, Ends: true}
	name, ok := pl.holder(x, gap, at)
	if !ok || !pl.f.IsSlot(x) || ir.Circles(gap.Block) {
		return nil
	}
	behind, empty := pl.behind(node), name.Nillable() && (pl.f.MayBeNil(x) || !pl.full(x, gap))
	for _, w := range pl.f.Graph.Deferred {
		p := pl.ended(w[0])
		if p == nil {
			continue
		}
		ts, _ := p.Held(x)
		panics := w[0] == pl.f.Graph.Panic // perhaps between what makes t and what stores it
		switch {
		case p.Status(t)&own.Owned != 0 && !panics && !(behind[w[0]] && p.Is(x, t)):
			return nil
		case !behind[w[0]] || len(ts) == 0:
			continue
		case !pl.frees(p, x, moment{t: t, clean: func(v ssa.Value) bool { return pl.clean(p, v) }, due: p.Due, part: panics}):
			return nil
		}
		if slices.Contains(ts, t) {
			spots = append(spots, &spot{node: node, at: at, point: p, value: x, name: name, empty: empty})
		}
	}
	return spots
}

// share gives the spots of what a literal frees when the function ends to all that it may free there.
func (pl *planner) share(spots map[own.Token][]*spot) {
	for t := range own.Token(pl.g.Tokens()) {
		for _, s := range spots[t] {
			if !s.at.Ends {
				continue
			}
			ts, _ := s.point.Held(s.value)
			for _, u := range ts {
				if s.point.Status(u)&own.Owned != 0 && !slices.ContainsFunc(spots[u], s.same) {
					spots[u] = append(spots[u], s)
				}
			}
		}
	}
}

// ended returns the moment at which the deferred calls that run in a node have run; nil if the group is not
// alive there. One of them may panic, so that they are not over at the end of the node.
func (pl *planner) ended(node int) *own.Point {
	if node == pl.f.Graph.Panic && len(pl.moves[node]) > 0 {
		return pl.end(node)
	}
	for _, n := range pl.f.Graph.Succs[node] {
		if n != pl.f.Graph.Panic && len(pl.moves[n]) > 0 {
			return pl.moves[n][0]
		}
	}
	return nil
}

// behind returns the nodes that can be reached from one.
func (pl *planner) behind(node int) map[int]bool {
	seen := map[int]bool{node: true}
	for open := []int{node}; len(open) > 0; open = open[1:] {
		for _, s := range pl.f.Graph.Succs[open[0]] {
			if !seen[s] {
				seen[s] = true
				open = append(open, s)
			}
		}
	}
	return seen
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
