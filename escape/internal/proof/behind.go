package proof

// What holds behind F whatever it frees there, and if that is nothing. F may write beside what it frees, in
// memory that leads to it: nobody reads that behind F, by any address, nor writes it but by assigning a
// variable or a part of one anew, behind which it is what the program had. And a name may hold nothing on
// some path where F stands. F does no harm there, and a read of the name behind it none either, but who
// reads the text takes that for a use after free: it is withheld as well (Readable).

import (
	"cmp"
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A stand is where F stands in a walk.
type stand struct {
	n       int     // of F
	to      int     // the point behind it
	p       phase   // what is known of conditions there
	nothing bool    // it is given nothing
	site    *object // what is followed, where what F is given was made with that; nil: it may be anything
}

// mayBeEmpty reports whether one of the frees may be given the constant zero of what sites make.
func (c *checker) mayBeEmpty(g *graph, frees []*free, sites set) bool {
	return slices.ContainsFunc(frees, func(x *free) bool {
		return g.resources(x).meets(sites) && g.f.some(x.pts, func(e elem) bool { return e.obj.kind == zeroObj })
	})
}

// mayWrite reports whether one of the frees may write memory of the family.
func (c *checker) mayWrite(g *graph, frees []*free, sites set) bool {
	return slices.ContainsFunc(frees, func(x *free) bool {
		return g.resources(x).meets(sites) && g.fields(x.arg)
	})
}

// written returns what F may write; own, if there are any: it is given the address of one of these.
func (g *graph) written(x *free, own []*object) set {
	var out set
	for id := range g.f.of(x.arg).all() {
		if o := g.f.elems[id].obj; own == nil || slices.Contains(own, o) {
			out.add(id)
		}
	}
	out.union(g.f.cleared(out, g.calls[x.at].does[0]))
	return out
}

// stands notes that F stands here, with all that is known but who has what is followed.
func (w *walker) stands(n int, p phase, s *set, nothing bool) {
	if w.stood == nil {
		return
	}
	k := stand{n, w.now + 1, p &^ phaseMask, nothing, nil}
	if x := w.frees[n]; !nothing && w.g.isFollowed(x) {
		if len(w.own) == 0 || !w.mayReach(s, x.arg) {
			return // what it is given another walk follows
		}
		k.site = w.site
	}
	if pt := &w.g.points[w.now]; pt.kind == atChain {
		if k.to = pt.chain.points[pt.pos+1]; pt.chain.again {
			k.to = pt.chain.points[0]
		}
	}
	if w.stood[k] == nil {
		w.stood[k] = &set{}
	}
	for id := range s.all() {
		if kind := w.mark(id).kind; kind == thisRun || kind == anyRun || !w.g.marks.holders.has(id) {
			w.stood[k].add(id)
		}
	}
}

// isFollowed reports whether all that F may be given the address of is made with what a walk follows.
func (g *graph) isFollowed(x *free) bool {
	return !g.f.some(g.f.of(x.arg), func(e elem) bool {
		return e.obj.kind == memObj && !g.f.some(x.pts, func(r elem) bool {
			return slices.Contains(g.f.instance(r.obj), e.obj)
		})
	})
}

// goBehind walks on behind each F, by itself: with the memory that it may write, or with the name of what is
// nothing there. That follows the register alone: what is put into memory as nothing is not told from other
// nothings.
func (c *checker) goBehind(g *graph, frees []*free, stood map[stand]*set, nothing bool) {
	from := func(k stand) int {
		if k.site == nil {
			return 0
		}
		return k.site.id
	}
	order := func(a, b stand) int {
		return cmp.Or(a.n-b.n, from(a)-from(b), a.to-b.to, cmp.Compare(a.p, b.p))
	}
	all := slices.SortedFunc(maps.Keys(stood), order)
	all = slices.DeleteFunc(all, func(k stand) bool { return k.nothing != nothing })
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(k stand) bool { return k.n != all[0].n || k.site != all[0].site })
		if n < 0 {
			n = len(all)
		}
		c.goBehindOne(g, frees, all[:n], stood)
		all = all[n:]
	}
}

func (c *checker) goBehindOne(g *graph, frees []*free, of []stand, stood map[stand]*set) {
	nothing := of[0].nothing
	w := c.walker(g, frees, nil, false, set{})
	w.own = g.f.instance(of[0].site)
	w.fault = func(i int, rule Rule, words string, at ssa.Instruction) {
		if !c.off[rule] && (rule == Readable || rule == Dead && !nothing) {
			c.fail(frees[i].e, rule, words, posOf(at))
		}
	}
	for _, k := range of {
		b := todo{k.to, k.p | ours + phase(k.n), stood[k].clone()}
		if x := frees[k.n]; nothing {
			w.set(&b.marks, x.arg, 0, true)
		} else {
			for e := range g.f.leads(g.written(x, w.own)) {
				for _, id := range e.obj.ids {
					if e.obj.kind != zeroObj { // F writes nothing there
						w.class.add(id)
						b.marks.add(w.elemMark(id))
					}
				}
			}
		}
		w.behind = append(w.behind, b)
	}
	w.run()
	c.givenUp(w)
}
