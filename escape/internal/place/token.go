package place

import (
	"slices"

	"github.com/lastuse/lastuse/escape/internal/own"
)

// A placing is the frees of one token in the making.
type placing struct {
	t       own.Token
	runs    map[int][]run // by node
	spots   []*spot       // of runs that begin within their nodes; in the end, all
	entries []run         // that begin where their nodes do, and have a spot
	last    map[int]*spot // by node: the last one in it
	open    []run         // without a spot
	left    []int         // the nodes of runs behind deferred calls
	due     bool          // anywhere
	missed  int           // how often it is due without a spot
	ends    []int         // the nodes of such runs, of those that are known
}

// begin looks for the spots of each run of a token.
func (pl *planner) begin(t own.Token) *placing {
	p := &placing{t: t, last: map[int]*spot{}, runs: map[int][]run{}}
	var all []*spot
	for _, n := range pl.g.Nodes() {
		p.runs[n] = pl.runs(n, t)
		for _, r := range p.runs[n] {
			p.due = true
			switch {
			case r.left && slices.ContainsFunc(all, pl.inBlock(n)): // freed before
			case r.spot == nil && r.ends && r.left:
				p.left = append(p.left, n)
			case r.spot == nil && r.ends:
				p.open = append(p.open, r)
			case r.spot == nil: // it goes on in the next node
			default:
				if all = append(all, r.spot); r.start == 0 {
					p.entries = append(p.entries, r)
				} else {
					p.spots = append(p.spots, r.spot)
				}
				p.last[n] = r.spot
			}
		}
	}
	return p
}

// finish returns the spots at which a token is freed, once it is known which of those where ways meet suit
// all ways there.
func (pl *planner) finish(p *placing) []*spot {
	var at, none []int
	gather := func(runs []run) (some bool) {
		found, gone := pl.gather(p.t, runs, p.spots)
		p.spots = slices.DeleteFunc(p.spots, func(q *spot) bool { return gone[q] })
		for _, r := range runs {
			if s := found[r.node]; s != nil {
				p.spots, at = append(p.spots, s), append(at, r.node)
			} else if len(found) > 0 || len(runs) == 1 {
				none = append(none, r.node)
			}
		}
		return len(found) > 0 || len(runs) < 2
	}
	if !gather(p.open) { // some lead to others
		for _, r := range p.open {
			gather([]run{r})
		}
	}
	pl.aside(p, at, none)
	pl.trace(p.t, p.spots, p.runs)
	if len(p.left) > 0 {
		if list := pl.deferred(p); list != nil {
			p.spots, p.left = append(p.spots, list...), nil
		}
	}
	lost := pl.lost(p.t) + len(p.left)
	if (p.due || lost > 0) && !pl.g.Lost(p.t) {
		p.due, p.missed = false, 0 // wherever that is so, the program stops
		return nil
	}
	p.due, p.missed = p.due || lost > 0, p.missed+lost
	return p.spots
}

// comesOn reports whether ways on which a token has no spot may come to a place, and so to others.
func (pl *planner) comesOn(p *placing) bool {
	place := func(from int) bool {
		for n := range pl.behind(from) {
			if gap, _ := pl.f.Graph.Next(n, 0); gap != nil {
				return true
			}
		}
		return false
	}
	return p != nil && (p.missed > len(p.ends) || slices.ContainsFunc(p.ends, place))
}

// inBlock tells of a spot whether it stands in front of the return of a node's block.
func (pl *planner) inBlock(node int) func(*spot) bool {
	nodes := pl.f.Graph.Nodes
	return func(s *spot) bool { return s.at.Place == nil && nodes[s.node].Block == nodes[node].Block }
}

// A crossing is the moment on an edge within the function, and the first one behind it.
type crossing struct{ on, behind *own.Point }

// crossings lists them once, as each token asks.
func (pl *planner) crossings() []crossing {
	if pl.edges != nil {
		return pl.edges
	}
	graph := pl.f.Graph
	pl.edges = []crossing{}
	for _, from := range pl.g.Nodes() {
		for out, to := range graph.Succs[from] {
			if from == graph.Panic || to == graph.Panic || len(pl.moves[to]) == 0 {
				continue
			}
			if p := pl.g.OnEdge(from, out); p != nil {
				pl.edges = append(pl.edges, crossing{p, pl.moves[to][0]})
			}
		}
	}
	return pl.edges
}

// lost counts the edges on which t is due and behind which it is not, since something
// else has become of it on another path.
func (pl *planner) lost(t own.Token) int {
	n := 0
	for _, c := range pl.crossings() {
		if c.on.Due(t) && !c.behind.Due(t) && !c.behind.Needed(t) {
			n++
		}
	}
	return n
}
