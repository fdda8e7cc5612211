package place

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// A run is the moments of a node at which a token is due, without a break. At its first
// place the token passes, so that the run ends.
type run struct {
	start int  // index of its first moment; 0: it begins where the node does
	ends  bool // it does not go on in the nodes behind
	left  bool // deferred calls run, or have run
	spot  *spot
}

// A spot is where a free of a token may stand, and the value that it frees.
type spot struct {
	node  int
	at    *ir.Place // nil: in front of the return
	point *own.Point
	value ssa.Value
	names []*types.Var
}

// same reports whether two spots are one statement.
func (s *spot) same(r *spot) bool { return s.node == r.node && s.at == r.at && s.value == r.value }

// A planner places the frees of one group.
type planner struct {
	ir    *ir.Package
	f     *own.Func
	g     *own.Group
	moves map[int][]*own.Point // by node
}

// runs lists the runs of a token in a node. What a panic leads to has none.
func (pl *planner) runs(node int, t own.Token) []run {
	if b := pl.f.Graph.Nodes[node].Block; b == nil || b == pl.f.SSA.Recover {
		return nil
	}
	points := pl.moves[node]
	var out []run
	open := false
	for k, p := range points {
		if !p.Due(t) {
			open = false
			continue
		}
		if !open {
			out = append(out, run{start: k})
			open = true
		}
		r := &out[len(out)-1]
		if r.spot == nil {
			r.spot = pl.spot(t, points, k, r.start)
		}
		gap, _ := pl.f.Graph.Next(node, p.At)
		r.ends = k < len(points)-1 || gap != nil || len(pl.f.Graph.Succs[node]) == 0
		r.left = pl.leaving(node)
	}
	return out
}

// current reports whether, at the start of a run that does not begin with its node, a
// value holds nothing that was due before.
func current(points []*own.Point, start int, v ssa.Value) bool {
	return points[start-1].Clean(v) || points[start].Sets(v)
}

// spot returns where a free of t may stand between a moment and the next, nil if nowhere.
func (pl *planner) spot(t own.Token, points []*own.Point, k, start int) *spot {
	p := points[k]
	is := func(v ssa.Value) bool { return start == 0 || current(points, start, v) }
	graph := pl.f.Graph
	node := graph.Nodes[p.Node]
	end := len(node.Instrs)
	if k+1 < len(points) {
		end = points[k+1].At - 1
	}
	for at := p.At; at < end; {
		gap, i := graph.Next(p.Node, at)
		if gap == nil || i >= end {
			break
		}
		if s := pl.named(t, p, is, gap, gap); s != nil {
			if gap.Kind == ir.InList {
				return s
			}
			if next, _ := graph.Next(p.Node, i+1); next != nil && pl.ir.Beside(gap, next) {
				if r := pl.named(t, p, is, next, next); r != nil {
					return r // the same moment, and it reads better
				}
			}
			return s
		}
		at = i + 1
	}
	if k+1 == len(points) && pl.returns(p.Node) != nil {
		if gap := pl.before(p.Node); gap != nil {
			return pl.named(t, p, is, gap, nil)
		}
	}
	return nil
}

// returns returns the return at the end of a node whose results are known then: what is
// deferred runs behind that moment. It is nil if the node ends otherwise.
func (pl *planner) returns(node int) *ssa.Return {
	n := pl.f.Graph.Nodes[node]
	rest := n.Block.Instrs[n.First:]
	r, ok := rest[len(rest)-1].(*ssa.Return)
	if !ok || pl.leaving(node) {
		return nil
	}
	if len(rest) > len(n.Instrs) { // the rest must be what runs deferred calls, and the return
		if _, ok := rest[len(n.Instrs)].(*ssa.RunDefers); !ok {
			return nil
		}
	}
	return r
}

// leaving reports whether deferred calls run in a node, or have run: no statement stands
// there.
func (pl *planner) leaving(node int) bool {
	n := pl.f.Graph.Nodes[node]
	return slices.ContainsFunc(n.Block.Instrs[:n.First+1], func(i ssa.Instruction) bool {
		_, ok := i.(*ssa.RunDefers)
		return ok
	})
}

// before returns the last place in the block of a node, at which names hold what they do
// where the block returns; nil if there is none.
func (pl *planner) before(node int) *ir.Place {
	graph := pl.f.Graph
	b := graph.Nodes[node].Block
	for n := node; n >= 0 && graph.Nodes[n].Block == b; n-- {
		var last *ir.Place
		for at := 0; ; {
			gap, i := graph.Next(n, at)
			if gap == nil {
				break
			}
			last, at = gap, i+1
		}
		if last != nil {
			return last
		}
	}
	return nil
}

// named returns the spot at a place if a variable there holds t and, of all else that it
// may hold, only what is due as well. Names hold there what they do at gap; ok says of which
// values is known that they hold nothing that was due before.
func (pl *planner) named(t own.Token, p *own.Point, ok func(ssa.Value) bool, gap, at *ir.Place) *spot {
	for _, v := range p.Values(t) {
		if !pl.frees(p, v, ok(v)) {
			continue
		}
		var names []*types.Var
		for _, x := range pl.ir.Names(v) {
			if held, _ := pl.ir.Value(gap, x); held == v && pl.ir.Visible(gap, x) {
				names = append(names, x)
			}
		}
		if len(names) > 0 {
			return &spot{node: p.Node, at: at, point: p, value: v, names: names}
		}
	}
	return nil
}

// frees reports whether a free of v frees what is due, and all of it; clean says that v
// holds nothing that was due before.
func (pl *planner) frees(p *own.Point, v ssa.Value, clean bool) bool {
	ts, whole := p.Held(v)
	return whole && !pl.f.Foreign(v) && !slices.ContainsFunc(ts, func(u own.Token) bool {
		st := p.Status(u)
		return pl.g.Sites[u/2].Param >= 0 || st&^(own.Owned|own.Absent|own.Passed) != 0 ||
			st&own.Owned != 0 && (!p.Due(u) || !p.Is(v, u)) || st&own.Passed != 0 && !clean
	})
}
