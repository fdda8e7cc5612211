package own

import (
	"slices"

	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about collections: what is put into one is its own from then on. One in which there is
// nothing is absent. Its names are the slices that are all of it.

// hand is what becomes of a token that value v holds, and that an act puts into a collection; or of the
// collection, if that grows. One into which anything else than what surely is owned is put has moved.
func (g *Group) hand(c *combo, t Token, v int, a pointsto.Act) {
	k := slices.IndexFunc(g.Sites, func(s *pointsto.Site) bool { return s.Owning() == a.Into })
	all, to := Token(2*k), g.index[a.To]
	if t == all {
		whole := c.must[all].Has(v)
		if a.To != g.Values[v] || g.f.IsSlot(a.To) { // other slices are not all of it now
			clear(c.must[all])
		}
		if whole {
			c.must[all].Add(to)
		}
		g.mark(c, to, k)
		return
	}
	may, holed := Owned|Absent, c.st[t]&Absent
	if a.Into.Has(g.Values[v]) { // of a slice, it may be there already
		may, holed = may|Given|Holed, c.st[t]&Holed
	}
	if holed != 0 {
		c.st[all] |= Holed
	}
	if c.st[t]&^may != 0 || c.st[t]&Owned != 0 && !c.must[t].Has(v) {
		c.st[all] = c.st[all]&^Owned | Moved
		clear(c.must[all])
		g.settle(c, t, v, Moved, false, false)
	} else if c.st[t]&Owned != 0 {
		c.st[t] = c.st[t]&^Owned | Given
		clear(c.must[t])
		g.named(c, k, c.st[all]&Owned == 0, to)
	}
	g.see(c, c, t, k)
	g.mark(c, to, k)
}

// named makes a collection one that owns something, and value v all of it, if it was empty.
func (g *Group) named(c *combo, k int, empty bool, v int) {
	all := Token(2 * k)
	switch {
	case empty:
		clear(c.must[all])
		c.must[all].Add(v)
	case !c.must[all].Has(v):
		clear(c.must[all])
	}
	c.st[all] |= Owned
	g.mark(c, v, k)
}

// see makes what may hold a token in was a view of what has it now, which is site k.
func (g *Group) see(was, c *combo, t Token, k int) {
	for v, holds := range g.holds {
		for _, h := range holds {
			if h.site == int(t)/2 && was.may.Has(h.bit+int(t)%2) {
				g.mark(c, v, k)
			}
		}
	}
}
