package proof

// A name may hold nothing on some path where F stands. F does no harm there, and a read of the name behind it
// none either, but who reads the text takes that for a use after free: it is withheld as well (Readable).

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// An empty is what is known of conditions where a free that was put in is given nothing.
type empty struct {
	n int
	p phase
}

// mayBeEmpty reports whether one of the frees may be given the constant zero of what sites make.
func (c *checker) mayBeEmpty(g *graph, frees []*free, sites set) bool {
	return !c.off[Readable] && slices.ContainsFunc(frees, func(x *free) bool {
		return g.resources(x).meets(sites) && g.f.some(x.pts, func(e elem) bool { return e.obj.kind == zeroObj })
	})
}

// readEmpty withholds the frees behind which a name is read that they were given with nothing in it. It follows the
// register alone: what is put into memory as nothing is not told from other nothings.
func (c *checker) readEmpty(g *graph, frees []*free, at map[empty]bool) {
	w := c.walker(g, frees, nil, false, set{})
	w.fault = func(i int, rule Rule, words string, at ssa.Instruction) {
		if rule == Readable {
			c.fail(frees[i].e, rule, words, posOf(at))
		}
	}
	for e := range at {
		if call, ok := frees[e.n].at.(*ssa.Call); ok {
			w.behind = append(w.behind, todo{n: g.calls[call].point + 1, p: e.p&^phaseMask | ours + phase(e.n)})
			b := &w.behind[len(w.behind)-1]
			w.set(&b.marks, frees[e.n].arg, 0, true)
		}
	}
	w.run()
}
