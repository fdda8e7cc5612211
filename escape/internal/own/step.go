package own

import (
	"slices"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/flow"
	"github.com/lastuse/lastuse/escape/internal/lift"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// start returns the state where a node of the region is entered from outside. Where the
// function is entered, what its parameters hold is owned, as far as it can tell. What was
// made before may have passed in between, and any value that is not needed may hold it.
func (g *Group) start(node int) state {
	c := g.newCombo()
	for k, s := range g.Sites {
		if s.Param < 0 && slices.ContainsFunc(g.f.Graph.Preds[node], func(p int) bool {
			n, _, _ := g.f.Where(s.Value)
			return !g.Within(p) && g.f.order.Reaches(n, p)
		}) {
			c.st[2*k] |= Passed
			for v := range g.holds {
				g.mark(c, v, k)
			}
		}
	}
	s := make(state, 1<<len(g.conds))
	for k := range s {
		if !g.ruledOut(k, node) {
			s[k] = c.clone()
			for n, site := range g.Sites {
				if site.AtEntry() && node == 0 {
					g.make(s[k], k, n)
				}
			}
		}
	}
	return s
}

// ruledOut reports whether no way from outside of the region leads to a node on which conditions are
// as in combo i.
func (g *Group) ruledOut(i, node int) bool {
	if node == 0 {
		return false
	}
	for _, p := range g.f.Graph.Preds[node] {
		for out, to := range g.f.Graph.Succs[p] {
			if to == node && !g.Within(p) && g.passes(i, p, out) && !g.contradicts(i, p) {
				return false
			}
		}
	}
	return true
}

// contradicts reports whether conditions are not as in combo i where a node is entered.
func (g *Group) contradicts(i, node int) bool {
	for c, k := range g.conds {
		if a := g.f.before(k, node); a != unknown && (a == yes) != (i>>c&1 == 1) {
			return true
		}
	}
	return false
}

// mark makes value v hold the newest of a site.
func (g *Group) mark(c *combo, v, site int) {
	for _, h := range g.holds[v] {
		if h.site == site {
			c.may.Add(h.bit)
		}
	}
}

// through returns what a state becomes in a node. It calls seen with the state at the entry
// and behind each instruction that has events.
func (g *Group) through(n int, s state, seen func(at int, s state)) state {
	list := g.events[n]
	owned := false // s is this function's to change
	own := func() {
		if !owned {
			s, owned = s.clone(), true
		}
	}
	behind := func(at, end int) {
		if seen != nil {
			seen(at, s)
			owned = false
		}
		if gap, i := g.f.Graph.Next(n, at+1); gap != nil && i < end {
			if p := (&Point{Node: n, g: g, s: s, l: g.sol.needs[moment{n, at}]}); g.anyDue(p) {
				own()
				g.pass(p, s)
			}
		}
	}
	next := func(k int) int {
		if k < len(list) {
			return list[k].at
		}
		return len(g.f.Graph.Nodes[n].Instrs)
	}
	behind(-1, next(0))
	for k, e := range list {
		own()
		if e.kind == forget {
			s.forget(e.n)
		} else {
			for i, c := range s {
				if c != nil {
					g.happen(c, i, e, g.sol.needs[moment{n, e.at}][i])
				}
			}
		}
		if k == len(list)-1 || list[k+1].at != e.at {
			behind(e.at, next(k+1))
		}
	}
	return s
}

func (g *Group) anyDue(p *Point) bool {
	for t := range Token(g.Tokens()) {
		if p.Due(t) {
			return true
		}
	}
	return false
}

// pass notes of all that is due that a place was passed. It is for the plan alone to say
// whether it is freed there. What a token may be does not grow with this, so the order of
// visits shows if a token that seemed due is not in the end: it may have passed, too. No
// free comes of that, since a free stands where its token is due in the end.
func (g *Group) pass(p *Point, s state) {
	for t := range Token(g.Tokens()) {
		if !p.Due(t) {
			continue
		}
		for _, c := range s {
			if c != nil && c.st[t]&Owned != 0 {
				c.st[t] = c.st[t]&^Owned | Passed
				clear(c.must[t])
			}
		}
	}
}

// forget joins what was told apart by a condition.
func (s state) forget(n int) {
	for i := range s {
		if i>>n&1 == 0 {
			both := merge(s[i], s[i|1<<n])
			s[i], s[i|1<<n] = both, both
			if both != nil {
				s[i|1<<n] = both.clone()
			}
		}
	}
}

// happen changes a combo, which is number i, by an event behind which the values of l are needed.
func (g *Group) happen(c *combo, i int, e event, l flow.Bits) {
	switch e.kind {
	case define, ended:
		g.define(c, e.n)
	case made:
		g.make(c, i, e.n)
	case saved:
		g.define(c, e.n)
		g.derive(c, c, g.index[g.Values[e.n].(*memory.Former).Slot], e.n, pointsto.Act{Op: pointsto.Copy})
	case set:
		g.put(c, i, e, l)
	case fresh:
		if e.act.Into != nil {
			g.hand(c, Token(2*e.n), g.index[e.act.Of], e.act)
			return
		}
		g.named(c, e.n, c.st[2*e.n]&Owned == 0, g.index[e.act.To])
		if g.Sites[e.n].Holes {
			c.st[2*e.n] |= Holed
		}
	case act:
		sure, may := g.holdsThen(i, e.act)
		if !may {
			return
		}
		var handed []Token
		g.tokens(c, e.n, func(t Token, as pointsto.Relation) {
			switch d := g.Sites[t/2].Does(e.act, as); d.Do {
			case pointsto.End:
				if g.IsParam(t) || !g.neededBy(c, l, t) {
					g.settle(c, t, e.n, Freed, sure, e.ends)
				} else {
					g.settle(c, t, e.n, Unsure, sure, e.ends)
				}
			case pointsto.Pend:
				g.settle(c, t, e.n, Pending, sure, e.ends)
			case pointsto.Move:
				g.settle(c, t, e.n, Moved, sure, false)
			case pointsto.Hand:
				handed = append(handed, t)
			}
		})
		for _, t := range handed {
			g.hand(c, t, e.n, e.act)
		}
		if to, ok := g.index[e.act.To]; ok && e.act.To != nil {
			g.derive(c, c, e.n, to, e.act)
		}
	}
}

// define forgets what a value held: it is computed anew. A variable in memory keeps what it has.
func (g *Group) define(c *combo, v int) {
	for _, h := range g.holds[v] {
		c.may.Set(h.bit, false)
		c.may.Set(h.bit+1, false)
	}
	for t := range c.must {
		c.must[t].Remove(v)
		if c.gone[t] != nil {
			c.gone[t].Remove(v)
		}
	}
}

// derive makes value to hold in c what value v holds in was, as far as it may.
func (g *Group) derive(c, was *combo, v, to int, a pointsto.Act) {
	for _, h := range g.holds[v] {
		for _, o := range g.holds[to] {
			if o.site != h.site {
				continue
			}
			for age := range 2 {
				if was.may.Has(h.bit + age) {
					c.may.Add(o.bit + age)
				}
			}
		}
	}
	if a.Op != pointsto.Copy || a.When.Cond == effect.Maybe {
		return
	}
	for t := range c.must {
		if was.must[t].Has(v) {
			c.must[t].Add(to)
		}
		if was.gone[t] != nil && was.gone[t].Has(v) {
			c.gone[t].Add(to)
		}
	}
}

// age makes what a site made last older, and whoever held it holds that.
func (g *Group) age(c *combo, k int) {
	for v := range g.holds {
		for _, h := range g.holds[v] {
			if h.site == k && c.may.Has(h.bit) {
				c.may.Remove(h.bit)
				c.may.Add(h.bit + 1)
			}
		}
	}
	young, old := Token(2*k), Token(2*k+1)
	c.joinNames(old, c.st[young], c.must[young])
	c.joinGone(old, c.gone[young])
	c.st[old] |= c.st[young]
}

// make is a site's turn: what it made before is older now.
func (g *Group) make(c *combo, i, k int) {
	g.age(c, k)
	young := Token(2 * k)
	s := g.Sites[k]
	if a, put := s.Value.(*memory.Assigned); s.Owning() != nil || put && a.Nothing { // nothing is in there
		c.st[young] = Absent
		clear(c.must[young])
		return
	}
	c.st[young] = Owned
	if s.Holes {
		c.st[young] |= Holed
	}
	if s.Nil {
		c.st[young] |= Absent
	}
	if s.Error != nil {
		switch failed, known := g.value(i, lift.NonNil(s.Error)); {
		case !known:
			c.st[young] |= Absent
		case failed:
			c.st[young] = Absent
		}
	}
	if s.OK != nil {
		switch on, known := g.value(i, lift.IsTrue(s.OK)); {
		case !known:
			c.st[young] |= Absent
		case !on:
			c.st[young] = Absent
		}
	}
	clear(c.must[young])
	c.gone[young] = nil
	if v := g.index[s.Value]; c.st[young]&Owned != 0 {
		c.must[young].Add(v)
	}
	g.mark(c, g.index[s.Value], k)
	for _, v := range s.With {
		g.mark(c, g.index[v], k)
	}
}

// put is a call that gives a slot what a site makes, if it does so, behind which the values of l are needed.
func (g *Group) put(c *combo, i int, e event, l flow.Bits) {
	sure, may := g.holdsThen(i, e.act)
	if !may {
		return
	}
	var not *combo
	if !sure {
		not = c.clone()
	}
	a := g.Sites[e.n].Value.(*memory.Assigned)
	v, slot := g.index[a], g.index[a.Slot]
	turns := 1
	if a.Many {
		turns = 2
	}
	for range turns {
		g.define(c, v)
		g.make(c, i, e.n)
		if a.Frees {
			g.replaced(c, slot, l)
		}
		g.define(c, slot)
		g.derive(c, c, v, slot, pointsto.Act{Op: pointsto.Copy})
	}
	if not != nil {
		c.join(not)
	}
}

// replaced is the free of what a slot holds, which is given something else at once.
func (g *Group) replaced(c *combo, slot int, l flow.Bits) {
	l = l.Without(slot)
	g.tokens(c, slot, func(t Token, as pointsto.Relation) {
		switch {
		case pointsto.Does(pointsto.Free, as).Do != pointsto.End:
			g.settle(c, t, slot, Moved, true, false)
		case g.IsParam(t) || !g.neededBy(c, l, t):
			g.settle(c, t, slot, Freed, true, false)
		default:
			g.settle(c, t, slot, Unsure, true, false)
		}
	})
}

// value returns what a key is in combo i, if the group tells its states apart by it.
func (g *Group) value(i int, k lift.Key) (on, known bool) {
	c := slices.Index(g.conds, k)
	return c >= 0 && i>>c&1 == 1, c >= 0
}

// holdsThen returns whether an act surely happens in combo i, and whether it may.
func (g *Group) holdsThen(i int, a pointsto.Act) (sure, may bool) {
	switch a.When.Cond {
	case effect.Maybe:
		return a.To != nil, true
	case effect.Never, effect.Always:
		return true, true
	}
	k, want, ok := g.depends(a)
	on, known := g.value(i, k)
	known = known && ok
	return known && on == want, !known || on == want
}
