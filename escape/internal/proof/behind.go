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
	n       int   // of F
	to      int   // the point behind it
	p       phase // what is known of conditions there
	nothing bool  // it is given nothing
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

// written returns what F may write.
func (g *graph) written(x *free) set {
	out := g.f.of(x.arg).clone()
	out.union(g.f.cleared(x.arg, g.calls[x.at].does[0]))
	return out
}

// stands notes that F stands here, with all that is known but who has what is followed.
func (w *walker) stands(n int, p phase, s *set, nothing bool) {
	if w.stood == nil {
		return
	}
	k := stand{n, w.now + 1, p &^ phaseMask, nothing}
	if pt := &w.g.points[w.now]; pt.kind == atChain {
		if k.to = pt.chain.points[pt.pos+1]; pt.chain.again {
			k.to = pt.chain.points[0]
		}
	}
	if w.stood[k] == nil {
		w.stood[k] = &set{}
	}
	for id := range s.all() {
		if !w.g.marks.holders.has(id) {
			w.stood[k].add(id)
		}
	}
}

// goBehind walks on behind each F, by itself: with the memory that it may write, or with the name of what is
// nothing there. That follows the register alone: what is put into memory as nothing is not told from other
// nothings.
func (c *checker) goBehind(g *graph, frees []*free, stood map[stand]*set, nothing bool) {
	order := func(a, b stand) int { return cmp.Or(a.n-b.n, a.to-b.to, cmp.Compare(a.p, b.p)) }
	all := slices.SortedFunc(maps.Keys(stood), order)
	for n := range frees {
		of := slices.DeleteFunc(slices.Clone(all), func(k stand) bool { return k.n != n || k.nothing != nothing })
		if len(of) > 0 {
			c.goBehindOne(g, frees, of, stood)
		}
	}
}

func (c *checker) goBehindOne(g *graph, frees []*free, of []stand, stood map[stand]*set) {
	nothing := of[0].nothing
	w := c.walker(g, frees, nil, false, set{})
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
			for e := range g.f.leads(g.written(x)) {
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
