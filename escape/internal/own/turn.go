package own

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/flow"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about variables that change places around a loop. Each is a site, whose token is owned as
// what the variable is given is, and is given that.

// A taking is what a phi that changes places with others is given on an edge.
type taking struct {
	phi  int
	site int
	of   []Token
	ok   bool // it surely is these, which are owned, or nothing
}

// takings lists what the phis of a node that change places with others are given by an edge that brings e.
func (g *Group) takings(was *combo, node, e int) (out []taking) {
	for k, s := range g.Sites {
		if n, _, _ := g.f.Where(s.Value); !s.Turns() || n != node {
			continue
		}
		t := taking{phi: g.index[s.Value], site: k, ok: true}
		x := g.f.Brought(s.Value, e)
		if from, known := g.index[x]; known && g.wanted(node, t.phi) {
			t.ok = !g.f.Foreign(x)
			g.tokens(was, from, func(u Token, as pointsto.Relation) {
				t.of = append(t.of, u)
				t.ok = t.ok && as == pointsto.Whole && was.st[u]&^(harmless&^Holed) == 0 &&
					(was.st[u]&Owned == 0 || was.must[u].Has(from))
			})
		} else if c, nothing := x.(*ssa.Const); !known && !(nothing && c.Value == nil) {
			t.ok = false
		}
		out = append(out, t)
	}
	return out
}

// wanted reports whether value number k is needed behind the entry of a node.
func (g *Group) wanted(node, k int) bool {
	return slices.ContainsFunc(g.sol.lives.Out[g.region.index[node]], func(l flow.Bits) bool { return l != nil && l.Has(k) })
}

// turn gives phis that change places what an edge brings.
func (g *Group) turn(c, was *combo, list []taking) {
	if len(list) == 0 {
		return
	}
	front := c.clone()
	for _, t := range list { // what they had is another one's, or nobody's
		if young := Token(2 * t.site); slices.ContainsFunc(list, func(o taking) bool { return slices.Contains(o.of, young) }) {
			for _, h := range slices.Concat(g.holds...) {
				if h.site == t.site {
					c.may.Remove(h.bit)
				}
			}
		} else {
			g.age(c, t.site)
		}
		c.st[2*t.site], c.gone[2*t.site] = 0, nil
		clear(c.must[2*t.site])
	}
	for _, t := range list {
		for _, u := range t.of {
			g.see(front, c, u, t.site)
			c.st[2*t.site] |= was.st[u] & (Owned | Absent)
			if !slices.ContainsFunc(list, func(o taking) bool { return Token(2*o.site) == u }) {
				c.st[u] = c.st[u]&^Owned | Turned
				clear(c.must[u])
				if u%2 == 0 {
					g.age(c, int(u)/2)
					c.st[u] = Absent
				}
			}
		}
		g.mark(c, t.phi, t.site)
		switch {
		case !t.ok:
			c.st[2*t.site] = Moved
		case c.st[2*t.site]&Owned != 0:
			c.must[2*t.site].Add(t.phi)
		default:
			c.st[2*t.site] = Absent
		}
	}
}
