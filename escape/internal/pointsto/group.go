package pointsto

import "golang.org/x/tools/go/ssa"

// A Group is sites that one value may hold, and all values that may hold them. Groups have
// nothing to do with one another.
type Group struct {
	Sites   []*Site
	Values  []ssa.Value // in the order in which they are found
	Crowded bool        // more sites meet in one value than are followed
}

// group makes the groups of sites that have one root.
func (f *Func) group(root func(site int) int, values []ssa.Value, crowded map[int]bool) {
	byRoot := map[int]*Group{}
	for _, s := range f.Sites {
		g := byRoot[root(s.N)]
		if g == nil {
			g = &Group{}
			byRoot[root(s.N)] = g
			f.Groups = append(f.Groups, g)
		}
		g.Sites = append(g.Sites, s)
		g.Crowded = g.Crowded || crowded[s.N]
	}
	for _, v := range values {
		g := byRoot[root(f.holds[v][0].Site.N)]
		g.Values = append(g.Values, v)
	}
}
