package own

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/flow"
	"github.com/lastuse/lastuse/escape/internal/lift"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// A Point is a moment in a node of a group's region at which its state is new: where the node is entered, or
// behind an instruction that does something to the group. The state holds until the next one.
type Point struct {
	Node int
	At   int // index in the node of the first instruction behind the point
	g    *Group
	s    state
	l    live
	prev *Point // the one before in the node, nil if there is none
	gap  bool   // a place lies between it and the next, or the end of the node
}

// Points lists the moments of a node in order. It is empty for a node that no path of the region reaches.
func (g *Group) Points(node int) []*Point {
	k, ok := g.region.index[node]
	if !ok || !g.sol.states.Reached[k] {
		return nil
	}
	var out []*Point
	g.through(node, g.sol.states.In[k], func(at int, s state) {
		p := &Point{Node: node, At: at + 1, g: g, s: s, l: g.sol.needs[moment{node, at}]}
		if len(out) > 0 {
			p.prev = out[len(out)-1]
		}
		out = append(out, p)
	})
	for k, p := range out {
		gap, i := g.f.Graph.Next(node, p.At)
		p.gap = gap != nil && (k == len(out)-1 || i < out[k+1].At-1)
	}
	return out
}

// Due reports whether a token should be freed here: it is owned, on all paths nothing else
// has become of it, and it is not needed. A parameter is not the function's to free.
func (p *Point) Due(t Token) bool {
	if p.g.IsParam(t) {
		return false
	}
	st := p.Status(t)
	return st&Owned != 0 && st&^p.g.sol.harmless == 0 && !p.Needed(t)
}

// Clean reports whether v holds nothing that has passed or is freed, nor will where the next point is:
// whatever the conditions, it is needed from here on, or nothing that it may hold is due, or no place lies
// between. Before says that this is so if it is where the node is entered.
func (p *Point) Clean(v ssa.Value) (yes, before bool) {
	k, ok := p.g.index[v]
	spent := func(t Token) bool { return p.Status(t)&(Passed|Freed) != 0 }
	renewed := slices.ContainsFunc(p.g.events[p.Node], func(e event) bool { // what is freed, it has no longer
		a, put := p.g.putOf(e)
		return put && e.at == p.At-1 && a.Slot == v
	})
	switch {
	case !ok || p.gap && !p.without(k, p.Due):
		return false, false
	case p.without(k, spent):
		return true, false
	case p.Sets(v) || !renewed && !p.without(k, p.Ends):
		return false, false
	case p.prev == nil:
		return false, true
	}
	return p.prev.Clean(v) // it has nothing else since then
}

// without reports whether, whatever the conditions, value k is needed or holds no such token.
func (p *Point) without(k int, such func(Token) bool) bool {
	ok := true
	for i, c := range p.s {
		if c != nil && (p.l[i] == nil || !p.l[i].Has(k)) {
			p.g.tokens(c, k, func(t Token, _ pointsto.Relation) { ok = ok && !such(t) })
		}
	}
	return ok
}

// OnEdge returns the moment on an edge out of a node, nil if it cannot be taken.
func (g *Group) OnEdge(node, out int) *Point {
	k, ok := g.region.index[node]
	if !ok || !g.sol.states.Reached[k] {
		return nil
	}
	to := g.f.Graph.Succs[node][out]
	m, ok := g.region.index[to]
	if !ok {
		return nil
	}
	s, ok := g.across(node, out, g.sol.states.Out[k])
	if !ok {
		return nil
	}
	return &Point{Node: to, g: g, s: s, l: g.sol.lives.Out[m]}
}

// Within reports whether a node is one of those in which the group's states are known.
func (g *Group) Within(node int) bool {
	_, ok := g.region.index[node]
	return ok
}

// Sets reports whether the instruction right in front of the point gives v what it holds.
func (p *Point) Sets(v ssa.Value) bool {
	for _, e := range p.g.events[p.Node] {
		if e.at == p.At-1 && (e.kind == define || e.kind == saved) && p.g.Values[e.n] == v {
			return true
		}
		if e.at != p.At-1 || e.kind != set {
			continue
		}
		if a, _ := p.g.putOf(e); a.Slot == v && a.When.Cond == effect.Always {
			return true
		}
	}
	return false
}

// Ends reports whether the instruction right in front of the point may free t or hand it on, or say that
// it will be freed.
func (p *Point) Ends(t Token) (ends bool) {
	for _, e := range p.g.events[p.Node] {
		if e.at != p.At-1 {
			continue
		}
		a, put := p.g.putOf(e)
		ends = ends || put && a.Frees
		for _, c := range p.s {
			if c != nil && e.kind == act {
				p.g.tokens(c, e.n, func(u Token, as pointsto.Relation) {
					do := p.g.Sites[u/2].Does(e.act, as).Do
					ends = ends || u == t && (do == pointsto.Move || do == pointsto.End || do == pointsto.Pend ||
						do == pointsto.Hand)
				})
			}
		}
	}
	return ends
}

// putOf returns what an event gives a slot, if it does that.
func (g *Group) putOf(e event) (a *memory.Assigned, ok bool) {
	if e.kind == set {
		a, ok = g.Sites[e.n].Value.(*memory.Assigned)
	}
	return a, ok
}

// Nodes lists the nodes of the function's graph in which the group is alive, and those
// behind them in which it may find a place.
func (g *Group) Nodes() []int { return g.region.nodes }

// Tokens is the number of tokens of the group; that of token t is site t/2, the newest it
// made if t is even and what it made before if t is odd.
func (g *Group) Tokens() int { return 2 * len(g.Sites) }

// Status returns what has become of a token, whatever the conditions.
func (p *Point) Status(t Token) Status {
	var st Status
	for _, c := range p.s {
		if c != nil {
			st |= c.st[t]
		}
	}
	return st
}

// Needed reports whether a value that may hold t is needed from here on a path on which t is owned.
func (p *Point) Needed(t Token) bool {
	for range p.Needing(t, Owned) {
		return true
	}
	return false
}

// IsParam reports whether a token is what a parameter held, which is not the function's to free.
func (g *Group) IsParam(t Token) bool { return g.Sites[t/2].Param >= 0 && !g.lent }

// neededBy reports whether a value of l, which are needed, may hold t.
func (g *Group) neededBy(c *combo, l flow.Bits, t Token) bool {
	for v := range g.Values {
		if l != nil && l.Has(v) && g.mayHold(c, v, t) {
			return true
		}
	}
	return false
}

// Is reports whether v is what t is, wherever t is owned.
func (p *Point) Is(v ssa.Value, t Token) bool {
	k, ok := p.g.index[v]
	if !ok {
		return false
	}
	for _, c := range p.s {
		if c != nil && c.st[t]&Owned != 0 && !c.must[t].Has(k) {
			return false
		}
	}
	return true
}

// Values lists the values that are what t is wherever t is owned.
func (p *Point) Values(t Token) []ssa.Value {
	var out []ssa.Value
	for _, v := range p.g.Values {
		if p.Is(v, t) {
			out = append(out, v)
		}
	}
	return out
}

// Held lists the tokens that v may hold, but for those it depends on, and whether each is the handle itself.
func (p *Point) Held(v ssa.Value) (ts []Token, whole bool) {
	k, whole := p.g.index[v]
	if !whole {
		return nil, false
	}
	for _, c := range p.s {
		if c == nil {
			continue
		}
		p.g.tokens(c, k, func(t Token, as pointsto.Relation) {
			switch {
			case as == pointsto.Dependent:
				return
			case !slices.Contains(ts, t):
				ts = append(ts, t)
			}
			whole = whole && (as == pointsto.Whole || c.must[t].Has(k))
		})
	}
	return ts, whole
}

// States calls do with each combination of conditions that can be, and what a token is in
// it: for those who ask what is so on a path that a condition tells.
func (p *Point) States(t Token, do func(c Combination, st Status)) {
	for i, c := range p.s {
		if c != nil {
			do(Combination{p.g, i}, c.st[t])
		}
	}
}

// A Combination is what conditions of a group are.
type Combination struct {
	g *Group
	i int
}

// NonNil returns whether v is not nil, if that is told apart.
func (c Combination) NonNil(v ssa.Value) (on, known bool) {
	if c.g == nil {
		return false, false
	}
	return c.g.value(c.i, lift.NonNil(v))
}

// True returns whether v is true, if that is told apart.
func (c Combination) True(v ssa.Value) (on, known bool) {
	if c.g == nil {
		return false, false
	}
	k, neg, ok := c.g.f.keyOf(v)
	if !ok {
		return false, false
	}
	on, known = c.g.value(c.i, k)
	return on != neg, known
}

// Has reports whether v is a value of the group.
func (g *Group) Has(v ssa.Value) bool {
	_, ok := g.index[v]
	return ok
}

// Harmless is what a token may be beside owned where it is freed: that frees nothing else, or it frees again
// what may be freed again.
func (g *Group) Harmless() Status { return g.sol.harmless }

// harmless finds that. What frees the type must say that it may be called again, as must all that the program
// frees it by.
func (g *Group) harmless() Status {
	if g.f.Again(g.Group) && !slices.ContainsFunc(g.Sites, func(s *pointsto.Site) bool {
		free := g.f.In.Frees.Of(g.f.Held(s.Value))
		return free == nil || !free.Repeatable
	}) {
		return harmless | Unsure
	}
	return harmless
}
