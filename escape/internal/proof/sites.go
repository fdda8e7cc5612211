package proof

// Before a site has run nobody has what it makes, and what happens is the same for all sites of a family:
// which calls are deferred, which goroutines run, what is known of conditions. So one walk says where those
// begin that follow a resource.

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// sites is what may hold when a site runs.
type sites struct {
	makes map[ssa.Value]bool
	at    map[ssa.Value][]way
	over  string                   // why that was given up
	races map[*ssa.DebugRef]*spawn // what was put in reads there what this, which may run, can reach
}

// beforeSites walks over the family up to its sites.
func (g *graph) beforeSites() *sites {
	if g.sites != nil {
		return g.sites
	}
	g.sites = &sites{makes: map[ssa.Value]bool{}, at: map[ssa.Value][]way{},
		races: map[*ssa.DebugRef]*spawn{}}
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

// races notes where a statement that was put in reads memory while a goroutine that can reach it may run.
func (w *walker) races(r *ssa.DebugRef, s *set) {
	if !w.g.inserted(r.Expr.Pos()) {
		return
	}
	var read set
	switch r.X.Type().Underlying().(type) {
	case *types.Map, *types.Slice: // a loop reads its elements
		read.union(w.f.of(r.X))
	}
	if i, ok := r.X.(ssa.Instruction); ok && callOf(i) == nil {
		for _, x := range w.f.entry(i).reads {
			read.union(w.f.of(x))
		}
	}
	for e := range w.f.leads(read) {
		for _, sp := range w.g.spawns {
			if e.obj.kind == memObj && slices.ContainsFunc(e.obj.ids, func(id int) bool { return w.reached(s, sp, id) }) {
				w.sites.races[r] = sp
			}
		}
	}
}

// raced withholds statements that were put in where they read what a goroutine may write at the same time: of
// a map that ends the program.
func (c *checker) raced(g *graph, d *differ) {
	if len(g.spawns) == 0 {
		return
	}
	for r, sp := range g.beforeSites().races {
		for _, e := range d.edits {
			if e.kind != Deleted && e.stmt.Pos() <= r.Expr.Pos() && r.Expr.End() <= e.stmt.End() {
				c.fail(e, Joins, "a goroutine that can reach what is read there may still run", sp.at.Pos())
			}
		}
	}
}

// reached notes what holds where a call returns, or where what is handed to a literal is there.
func (st *sites) reached(v ssa.Value, p phase, s *set) {
	if st.makes[v] {
		st.at[v] = append(st.at[v], way{p: p, marks: s.clone()})
	}
}
