package own

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/flow"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// across returns what a state becomes on an edge, and false if the edge cannot be taken.
func (g *Group) across(n, out int, s state) (state, bool) {
	to := make(state, len(s))
	any := false
	for i, c := range s {
		if c == nil || !g.passes(i, n, out) {
			continue
		}
		d := g.onEdge(c, n, out)
		for _, j := range g.arrive(i, n, out) {
			to[j] = merge(to[j], d)
			any = true
		}
	}
	return to, any
}

// passes reports whether an edge can be taken where conditions are as in combo i.
func (g *Group) passes(i, n, out int) bool {
	t := g.f.tests[n]
	if t.fixed && out < 2 {
		return t.on == (out == 0)
	}
	if !t.ok || out > 1 {
		return true
	}
	is := (out == 0) != t.neg
	if t.then != nil && is {
		if on, known := g.value(i, *t.then); known && !on {
			return false
		}
	}
	on, known := g.value(i, t.key)
	return !known || on == is
}

// onEdge returns what a combo becomes on an edge: what a nil holds was never made, phis
// take what their operand holds, and older tokens that nobody can reach are forgotten.
func (g *Group) onEdge(c *combo, n, out int) *combo {
	given := c
	ours := func() *combo {
		if c == given {
			c = c.clone()
		}
		return c
	}
	if t := g.f.tests[n]; t.ok && out < 2 && t.key.AsksThere() {
		if v, ok := t.key.X.(ssa.Value); ok {
			isNil := (out == 0) == t.neg
			if k, ok := g.index[v]; ok {
				g.tested(ours(), k, isNil)
			}
			for _, k := range g.parts[v] { // where a pointer is nil, it has none
				if isNil {
					g.tested(ours(), k, true)
				}
			}
			b := g.f.Graph.Nodes[n].Block
			if k, ok := g.index[g.f.Container(v)]; ok && isNil && g.f.AllIn(v, b.Instrs[len(b.Instrs)-1]) {
				g.emptied(ours(), k, g.region.liveIn[g.f.Graph.Succs[n][out]])
			}
		}
	}
	if x, y := g.f.tests[n].key.Compares(); x != nil && out < 2 {
		same := (out == 0) == g.f.tests[n].neg
		g.compared(ours(), x, y, same)
		g.compared(c, y, x, same)
	}
	m := g.f.Graph.Succs[n][out]
	for _, e := range g.events[n] {
		if m == g.f.Graph.Panic && e.kind == made && e.at == len(g.f.Graph.Nodes[n].Instrs)-1 {
			ours() // it gave nothing
			c.st[2*e.n] = Absent
			clear(c.must[2*e.n])
		}
	}
	if e := g.f.Graph.Phi(n, out); e >= 0 && len(g.phis[m]) > 0 {
		was := c
		c = c.clone()
		for _, v := range g.phis[m] {
			g.define(c, v)
		}
		takes := g.takings(was, m, e)
		for _, v := range g.phis[m] {
			if slices.ContainsFunc(takes, func(t taking) bool { return t.phi == v }) {
				continue
			}
			if from, ok := g.index[g.f.Brought(g.Values[v], e)]; ok {
				g.derive(c, was, from, v, pointsto.Act{Op: pointsto.Copy})
			}
		}
		g.turn(c, was, takes)
	}
	for k := range g.Sites {
		if old := 2*k + 1; c.st[old] != Absent && c.st[old]&Turned == 0 && !g.neededBy(c, g.region.liveIn[m], Token(old)) {
			ours()
			c.st[old], c.gone[old] = Absent, nil
			clear(c.must[old])
		}
	}
	return c
}

// tested is what follows where value v is nil, or is not: what it would be is not there,
// or is, if there is nothing else that it may be.
func (g *Group) tested(c *combo, v int, isNil bool) {
	var only []Token
	g.tokens(c, v, func(t Token, as pointsto.Relation) {
		if as == pointsto.Whole && (c.st[t] == Absent || c.must[t].Has(v)) {
			only = append(only, t)
		}
	})
	if !isNil && (len(only) != 1 || len(g.holds[v]) > 1 || g.f.Foreign(g.Values[v])) {
		return
	}
	for _, t := range only {
		if !isNil {
			c.st[t] &^= Absent
			continue
		}
		c.st[t] = c.st[t]&^Owned | Absent
		clear(c.must[t])
	}
}

// emptied is what follows where nothing is in container v: what it alone would have, of the values that are
// needed, is not there.
func (g *Group) emptied(c *combo, v int, needed flow.Bits) {
	g.tokens(c, v, func(t Token, _ pointsto.Relation) {
		if !g.neededBy(c, needed.Without(v), t) {
			c.st[t] = c.st[t]&^Owned | Absent
			clear(c.must[t])
		}
	})
	g.define(c, v)
}

func (g *Group) mayHold(c *combo, v int, t Token) bool {
	return slices.ContainsFunc(g.holds[v], func(h held) bool { return h.site == int(t/2) && c.may.Has(h.bit+int(t%2)) })
}

// compared is what follows for value v where it is the same as w, or is not: the same, it is nothing that w
// is not, and else not the one token that w is. What is made here no other parameter is.
func (g *Group) compared(c *combo, v, w ssa.Value, same bool) {
	k, ok := g.index[v]
	m, also := g.index[w]
	_, param := w.(*ssa.Parameter)
	if !ok || !also && !param || also && g.f.Foreign(w) {
		return
	}
	is := map[Token]bool{}
	if also {
		g.tokens(c, m, func(t Token, _ pointsto.Relation) { is[t] = true })
	}
	for _, h := range g.holds[k] {
		t := Token(2 * h.site)
		if h.as != pointsto.Whole || is[t] == same || !same && (len(is) > 1 || !is[t]) || !c.may.Has(h.bit) {
			continue
		}
		if same && c.must[t].Has(k) {
			c.st[t] = c.st[t]&^Owned | Absent
			clear(c.must[t])
		}
		c.may.Remove(h.bit)
		c.must[t].Remove(k)
	}
}
