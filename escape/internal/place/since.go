package place

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// This file is about what is due inside of a statement, where nothing can be put: behind one of the calls in
// its header, or in front of others that it evaluates. If these get names, there is room between them.

// A Since is a moment behind which something is due, on all ways to the frees that have it, and on no others.
// One statement there may stand for them all.
type Since struct {
	After ssa.Instruction
	Guard bool // as of a free; and so it is if one of the frees behind gets a test
	Holes bool
	Spots int // how many frees it stands for
}

// An origin is where a run begins that goes on to some spots.
type origin struct {
	run   run
	after ssa.Instruction
	from  *own.Point
	spots []*spot
}

// trace notes of the spots of t since when it is due.
func (pl *planner) trace(t own.Token, spots []*spot, runs map[int][]run) {
	nodes := pl.f.Graph.Nodes
	for n, list := range runs {
		for _, r := range list {
			o := &origin{run: r, from: pl.moves[n][r.start]}
			if r.start > 0 {
				o.after = nodes[n].Instrs[o.from.At-1]
			} else if o.after = logical(nodes[n].Instrs); o.after == nil {
				continue
			}
			switch {
			case r.spot != nil && slices.Contains(spots, r.spot):
				o.spots = []*spot{r.spot}
			case r.spot == nil && !r.ends:
				o.spots = pl.ahead(n, spots, runs)
			}
			if pl.fits(t, o) {
				for _, s := range o.spots {
					if p := s.since; p == nil || nodes[n].Block.Dominates(nodes[p.run.node].Block) {
						s.since = o
					}
				}
			}
		}
	}
}

// logical returns what a logical operation of a statement gives, if some instructions begin with that: where
// its ways meet.
func logical(instrs []ssa.Instruction) ssa.Instruction {
	for _, i := range instrs {
		phi, ok := i.(*ssa.Phi)
		if !ok {
			break
		}
		if phi.Comment == token.LAND.String() || phi.Comment == token.LOR.String() {
			return phi
		}
	}
	return nil
}

// ahead lists the spots of the runs in which one that begins in a node goes on; none if not all have one, or
// if something else leads to one of them as well.
func (pl *planner) ahead(node int, spots []*spot, runs map[int][]run) (out []*spot) {
	graph := pl.f.Graph
	on := map[int]bool{node: true} // it goes on behind these
	var met []int
	for open := []int{node}; len(open) > 0; open = open[1:] {
		for _, m := range graph.Succs[open[0]] {
			if m == graph.Panic || !pl.f.Runs(m) || slices.Contains(met, m) {
				continue
			}
			if len(runs[m]) == 0 || runs[m][0].start > 0 {
				return nil
			}
			met = append(met, m)
			switch r := runs[m][0]; {
			case r.spot == nil && !r.ends:
				on[m] = true
				open = append(open, m)
			case r.spot == nil || !slices.Contains(spots, r.spot):
				return nil
			default:
				out = append(out, r.spot)
			}
		}
	}
	for _, m := range met {
		if slices.ContainsFunc(graph.Preds[m], func(n int) bool { return n != graph.Panic && !on[n] }) {
			return nil
		}
	}
	return out
}

// fits reports whether a free by the name that all spots have frees t where its run begins, and nothing that
// is not due.
func (pl *planner) fits(t own.Token, o *origin) bool {
	if len(o.spots) == 0 {
		return false
	}
	s := o.spots[0]
	v, clean := s.value, func(v ssa.Value) bool { return pl.current(o.from.Node, o.run.start, v) }
	if m, ok := v.(*memory.Former); ok && !o.from.Sets(v) && clean(v) {
		v = m.Slot // which has it still
	}
	return !slices.ContainsFunc(o.spots, func(q *spot) bool { return q.value != s.value || q.name != s.name }) &&
		o.from.Is(v, t) && pl.frees(o.from, v, moment{t: t, clean: clean, due: o.from.Due}) && pl.called(s, o.after)
}

// called reports whether the name of a spot has its value in front of the statement of an instruction.
func (pl *planner) called(s *spot, i ssa.Instruction) bool {
	b := i.Block()
	end := slices.Index(b.Instrs, i)
	var q *ir.Place
	for q = pl.ir.LastBefore(b, end); q == nil; q = pl.ir.LastBefore(b, len(b.Instrs)) {
		if b = b.Idom(); b == nil {
			return false
		}
	}
	switch n := s.name; {
	case n.Save != nil:
		return n.Save.Block.Dominates(q.Block) && n.Save.Pos <= q.Pos
	case n.Result == nil:
		of := s.value
		if f, ok := of.(*memory.Field); ok {
			of = f.Root
		}
		held, _ := pl.ir.Value(q, n.Var)
		return held == of
	}
	return true
}

// like reports whether what two tokens are due since is the same moment, and their spots are the same.
func (o *origin) like(p *origin) bool {
	return o != nil && p != nil && o.after == p.after && slices.EqualFunc(o.spots, p.spots, (*spot).same)
}

// since returns the moment that a free has: one that all that is freed by it have, there as well.
func (pl *planner) since(o *origin, tokens []own.Token, spots map[own.Token][]*spot) *Since {
	if o == nil {
		return nil
	}
	held, _ := o.from.Held(o.spots[0].value)
	for _, u := range held {
		if o.from.Status(u)&own.Owned != 0 && !slices.Contains(tokens, u) {
			tokens = append(tokens, u)
		}
	}
	out := &Since{After: o.after, Spots: len(o.spots)}
	for _, u := range tokens {
		if !slices.ContainsFunc(spots[u], func(q *spot) bool { return q.since.like(o) }) {
			return nil
		}
		out.Guard = out.Guard || pl.nothing(o.spots[0], o.from, u)
		out.Holes = out.Holes || o.from.Status(u)&own.Holed != 0
	}
	return out
}
