package gen

// Trials: programs with one change of their frees, half of them at random, half one step
// away from a plan that is right by construction. They are for judging whoever says of
// such changes whether they are right.

import (
	"math/rand/v2"
	"slices"
)

// A Trial is a program and what became of its frees.
type Trial struct {
	Old, New *Program
	How      string // what was done
	Right    bool   // by construction: a plan that nothing was done to
	Last     bool   // … which frees as early as can be, as a planner does
	Wrong    string // by construction: why a free is wrong on some branch, whether a run takes it or not
}

// Trials returns n trials with p, or fewer if it has no place for them.
func Trials(p *Program, n int, seed uint64) []*Trial {
	t := &trials{p: p, r: rand.New(rand.NewPCG(seed, 77)), gaps: gaps(p)}
	t.a = NewAnalysis(p)
	t.plans = t.a.plans()
	for range n {
		kind := t.random
		if t.n(2) == 0 {
			kind = t.planned(t.n(4) == 0)
		}
		for range 20 {
			if x := kind(); x != nil {
				x.New.Like = x.Old
				t.res = append(t.res, x)
				break
			}
		}
	}
	return t.res
}

type trials struct {
	p     *Program
	a     *Analysis
	r     *rand.Rand
	gaps  []gap
	plans []plan
	res   []*Trial
}

func (t *trials) n(k int) int { return t.r.IntN(k) }

// put puts statements into a gap of q.
func put(q *Program, g gap, s ...Stmt) {
	l := lists(q)[g.list]
	*l = slices.Insert(slices.Clone(*l), g.pos, s...)
}

// clone is a copy of the program.
func (t *trials) clone() *Program { return Clone(t.p, t.p.ID) }

// random puts, moves or deletes a free anywhere.
func (t *trials) random() *Trial {
	x := &Trial{Old: t.p, New: t.clone()}
	if t.n(3) > 0 {
		g := t.gaps[t.n(len(t.gaps))]
		s, path := t.anyFree(g)
		if s == nil {
			return nil
		}
		if _, ok := s.(*Free); ok {
			x.Wrong = t.a.known(g, path)
		}
		put(x.New, g, s)
		x.How = "a free put anywhere"
		return x
	}
	at, list, i := t.userFree()
	if at == nil {
		return nil
	}
	x.How = "a free deleted"
	if t.n(3) > 0 {
		x.How = "a free moved"
		var to []gap
		for _, g := range t.gaps {
			if slices.Contains(g.vars, at.Path.V) {
				to = append(to, g)
			}
		}
		if len(to) == 0 {
			return nil
		}
		g := to[t.n(len(to))]
		if g.list == list && (g.pos == i || g.pos == i+1) {
			return nil
		}
		l, m := lists(x.New)[list], lists(x.New)[g.list]
		free := &Free{Path: at.Path, How: at.How, Mine: true}
		if l == m && g.pos <= i {
			i++
		}
		*m = slices.Insert(slices.Clone(*m), g.pos, Stmt(free))
		*l = slices.Delete(slices.Clone(*l), i, i+1)
		return x
	}
	l := lists(x.New)[list]
	*l = slices.Delete(slices.Clone(*l), i, i+1)
	return x
}

// anyFree is a free of something in scope, nil if nothing is.
func (t *trials) anyFree(g gap) (Stmt, Path) {
	var paths []Path
	for _, v := range g.vars {
		paths = append(paths, t.p.freeable(v)...)
	}
	if len(paths) == 0 {
		return nil, Path{}
	}
	p := paths[t.n(len(paths))]
	if !g.lit && t.n(12) == 0 && p.V.Kind == KBuf {
		return &Defer{Kind: []DeferKind{DFree, DLit}[t.n(2)], Path: p, Mine: true}, p
	}
	return &Free{Path: p, Mine: true}, p
}

// userFree returns a plain free of the program, its list and its place there.
func (t *trials) userFree() (*Free, int, int) {
	var frees []*Free
	var list, at []int
	for i, l := range lists(t.p) {
		for j, s := range *l {
			if f, ok := s.(*Free); ok && f.How == FPlain && f.Path.V.Kind != KAny {
				frees, list, at = append(frees, f), append(list, i), append(at, j)
			}
		}
	}
	if frees == nil {
		return nil, 0, 0
	}
	i := t.n(len(frees))
	return frees[i], list[i], at[i]
}
