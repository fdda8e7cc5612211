package proof

// Before a site has run nobody has what it makes, and what happens is the same for all sites of a family:
// which calls are deferred, which goroutines run, what is known of conditions. So one walk says where those
// begin that follow a resource.

import "golang.org/x/tools/go/ssa"

// sites is what may hold when a site runs.
type sites struct {
	makes map[ssa.Value]bool
	at    map[*ssa.Call][]way
	over  bool
}

// beforeSites walks over the family up to its sites.
func (g *graph) beforeSites() *sites {
	if g.sites != nil {
		return g.sites
	}
	g.sites = &sites{makes: map[ssa.Value]bool{}, at: map[*ssa.Call][]way{}}
	w := g.f.c.walker(g, nil, nil, false, nil)
	w.sites = g.sites
	for _, o := range g.f.objs {
		if o.kind == siteObj {
			g.sites.makes[o.at] = true
		}
	}
	w.run()
	g.sites.over = w.over
	return g.sites
}

// reached notes what holds where a call returns.
func (st *sites) reached(v *ssa.Call, p phase, s *set) {
	if st.makes[v] {
		st.at[v] = append(st.at[v], way{p: p, marks: s.clone()})
	}
}
