package own

// Lost reports whether, on some way, t is owned or was due where the function ends, where the group is no
// longer followed, or where it is made again. What is owned where the program stops, nobody loses.
func (g *Group) Lost(t Token) bool {
	if t%2 == 1 {
		return true // it is older than what was made since
	}
	gone := func(p *Point) bool { return p.Status(t)&(Owned|Passed) != 0 }
	made, at, _ := g.f.Where(g.Sites[t/2].Value)
	for k, n := range g.region.nodes {
		points := g.Points(n)
		if len(points) == 0 {
			continue
		}
		for _, p := range points {
			if n == made && p.At == at+1 && p.prev != nil && gone(p.prev) {
				return true
			}
		}
		next := g.f.Graph.Succs[n]
		if len(next) == 0 && g.f.Runs(n) && gone(points[len(points)-1]) {
			return true
		}
		for out, to := range next {
			if g.Within(to) || !g.f.Runs(to) {
				continue
			}
			if s, ok := g.across(n, out, g.sol.states.Out[k]); ok && gone(&Point{Node: to, g: g, s: s}) {
				return true
			}
		}
	}
	return false
}
