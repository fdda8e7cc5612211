package main

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/oracle/gen"
)

// A judge that never convicts proves nothing. Here programs are rewritten by
// hand, rightly, and then wrongly in every way that an insertion can go wrong;
// the judge must pass the first and catch each of the others.

// sample is a program with its frees at the optimum; without them it is the original.
type sample struct {
	name string
	prog func(b *builder) []gen.Stmt
}

type builder struct {
	locs, ids int
	sites     []gen.Site
}

func (b *builder) v(name string, kind gen.Kind, res gen.Res) *gen.Var {
	v := &gen.Var{Name: name, Kind: kind, Res: res, Loc: b.locs}
	b.locs += v.Locs()
	return v
}

func (b *builder) make(v *gen.Var, fail ...gen.Stmt) []gen.Stmt {
	b.ids++
	b.sites = append(b.sites, gen.Site{N: gen.FirstSite + len(b.sites), Res: v.Res})
	m := &gen.Make{Dst: gen.Of(v), Decl: true, N: b.sites[len(b.sites)-1].N, Err: gen.ECheck, ErrID: b.ids}
	m.Fail = append(fail, &gen.Return{Fail: true})
	return []gen.Stmt{m, &gen.Use{Op: gen.OFill, Args: []gen.Path{gen.Of(v)}, X: 3, Init: true}}
}

func (b *builder) probe() gen.Stmt { b.ids++; return &gen.Probe{ID: b.ids} }

func sum(v *gen.Var) gen.Stmt  { return &gen.Use{Op: gen.OSum, Args: []gen.Path{gen.Of(v)}} }
func free(v *gen.Var) gen.Stmt { return &gen.Free{Path: gen.Of(v)} }

var samples = []sample{
	{"straight line", func(b *builder) []gen.Stmt {
		x, y := b.v("x", gen.KBuf, gen.RBuffer), b.v("y", gen.KBuf, gen.RBuffer)
		return slices.Concat(b.make(x), b.make(y, free(x)),
			[]gen.Stmt{sum(x), free(x), b.probe(), sum(y), free(y), b.probe()})
	}},
	{"branch", func(b *builder) []gen.Stmt {
		x := b.v("x", gen.KBuf, gen.RMat)
		return slices.Concat(b.make(x), []gen.Stmt{
			&gen.If{Cond: &gen.Cond{Op: gen.CDraw},
				Then: []gen.Stmt{sum(x), free(x), b.probe()},
				Else: []gen.Stmt{free(x), b.probe()}},
			b.probe()})
	}},
	{"loop", func(b *builder) []gen.Stmt {
		x, y := b.v("x", gen.KBuf, gen.RBuffer), b.v("y", gen.KBuf, gen.RMat)
		return slices.Concat(b.make(x), []gen.Stmt{
			&gen.Loop{Kind: gen.LCount, N: 4, Label: "l", Body: slices.Concat(b.make(y, free(x)),
				[]gen.Stmt{sum(y), free(y), b.probe(), sum(x), b.probe()})},
			free(x), b.probe()})
	}},
	{"view", func(b *builder) []gen.Stmt {
		x, v := b.v("x", gen.KBuf, gen.RBuffer), b.v("v", gen.KView, gen.RBuffer)
		return slices.Concat(b.make(x), []gen.Stmt{
			&gen.Assign{Decl: true, Dst: []gen.Path{gen.Of(v)}, Src: []gen.Path{gen.Of(x)}, Lo: 1, Hi: 1},
			b.probe(), sum(v), free(x), b.probe()})
	}},
	{"swap", func(b *builder) []gen.Stmt {
		x, y := b.v("x", gen.KBuf, gen.RBuffer), b.v("y", gen.KBuf, gen.RBuffer)
		return slices.Concat(b.make(x), b.make(y, free(x)), []gen.Stmt{
			&gen.Loop{Kind: gen.LCount, N: 4, Label: "l", Body: []gen.Stmt{
				&gen.Use{Op: gen.OMove, Args: []gen.Path{gen.Of(x), gen.Of(y)}, X: 1},
				&gen.Assign{Dst: []gen.Path{gen.Of(x), gen.Of(y)}, Src: []gen.Path{gen.Of(y), gen.Of(x)}},
				b.probe()}},
			free(y), b.probe(), sum(x), free(x), b.probe()})
	}},
	{"early return", func(b *builder) []gen.Stmt {
		x := b.v("x", gen.KBuf, gen.RBuffer)
		return slices.Concat(b.make(x), []gen.Stmt{
			&gen.If{Cond: &gen.Cond{Op: gen.CDraw}, Then: []gen.Stmt{free(x), b.probe(), &gen.Return{}}},
			sum(x), free(x), b.probe()})
	}},
}

// pair returns the program without and with its frees.
func (s sample) pair(id int) (orig, fixed *gen.Program) {
	b := &builder{}
	body := s.prog(b)
	fixed = &gen.Program{ID: id, Seed: 11, Sites: b.sites, Funcs: []*gen.Func{{Body: body, Locs: b.locs}}, Tags: map[string]bool{}}
	orig = gen.Clone(fixed, id)
	each(orig, func(l *[]gen.Stmt, i int) { *l = slices.Delete(*l, i, i+1) })
	return orig, fixed
}

// each calls do for every free in p, last ones of a list first.
func each(p *gen.Program, do func(l *[]gen.Stmt, i int)) {
	var visit func(l *[]gen.Stmt)
	visit = func(l *[]gen.Stmt) {
		for i := len(*l) - 1; i >= 0; i-- {
			s := (*l)[i]
			for _, inner := range gen.Lists(s) {
				visit(inner)
			}
			if _, ok := s.(*gen.Free); ok {
				do(l, i)
			}
		}
	}
	visit(&p.Funcs[0].Body)
}

// mutations change the free at l[i]; they report whether that makes it wrong.
var mutations = []struct {
	name   string
	change func(l *[]gen.Stmt, i int) bool
	kinds  []Kind
}{
	{"removed", func(l *[]gen.Stmt, i int) bool {
		*l = slices.Delete(*l, i, i+1)
		return true
	}, []Kind{Missed}},
	{"duplicated", func(l *[]gen.Stmt, i int) bool {
		*l = slices.Insert(*l, i, (*l)[i])
		return true
	}, []Kind{Twice}},
	{"one statement earlier", func(l *[]gen.Stmt, i int) bool {
		if i == 0 {
			return false
		}
		v := (*l)[i].(*gen.Free).Path.V
		uses := false
		gen.Walk((*l)[i-1:i], func(s gen.Stmt) bool {
			for _, p := range gen.Reads(s) {
				uses = uses || p.V == v || p.V.Kind == gen.KView
			}
			return true
		})
		(*l)[i-1], (*l)[i] = (*l)[i], (*l)[i-1]
		return uses
	}, []Kind{UseAfter, Changed, Twice, Early}},
	{"one statement later", func(l *[]gen.Stmt, i int) bool {
		if i+1 >= len(*l) {
			return false
		}
		_, probe := (*l)[i+1].(*gen.Probe)
		(*l)[i+1], (*l)[i] = (*l)[i], (*l)[i+1]
		return probe
	}, []Kind{Inexact}},
}

func TestJudgeConvicts(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a batch")
	}
	type trial struct {
		name  string
		kinds []Kind // nil: nothing may be found
	}
	var origs, fixeds []*gen.Program
	trials := map[int]trial{}
	add := func(s sample, name string, kinds []Kind, change func(p *gen.Program) bool) {
		orig, fixed := s.pair(len(origs))
		if !change(fixed) {
			return
		}
		trials[len(origs)] = trial{s.name + ", " + name, kinds}
		origs, fixeds = append(origs, orig), append(fixeds, fixed)
	}
	for _, s := range samples {
		add(s, "right", nil, func(*gen.Program) bool { return true })
		n := 0
		_, fixed := s.pair(0)
		each(fixed, func(*[]gen.Stmt, int) { n++ })
		for _, m := range mutations {
			for k := range n {
				add(s, fmt.Sprintf("free %d %s", k, m.name), m.kinds, func(p *gen.Program) bool {
					at, wrong := 0, false
					each(p, func(l *[]gen.Stmt, i int) {
						if at == k {
							wrong = m.change(l, i)
						}
						at++
					})
					return wrong
				})
			}
		}
	}
	o := &Oracle{Options: RunOptions{8, 8}}
	b, err := newBatch(t.TempDir(), Pool{})
	require.NoError(t, err)
	require.NoError(t, b.put("orig", origs))
	require.NoError(t, b.put("fixed", fixeds))
	res, err := o.judge(context.Background(), b, origs)
	require.NoError(t, err)
	require.Greater(t, len(res), 4*len(samples))
	for _, oc := range res {
		tr := trials[oc.Prog.ID]
		if tr.kinds == nil {
			require.Empty(t, oc.Fails, tr.name)
			for _, v := range oc.Verdicts {
				require.True(t, v.Seen && v.Freed && v.Exact, tr.name)
			}
			continue
		}
		require.True(t, slices.ContainsFunc(oc.Fails, func(f Failure) bool { return slices.Contains(tr.kinds, f.Kind) }),
			"%s: want one of %v, have:\n%s", tr.name, tr.kinds, describe(oc))
	}
	t.Logf("%d wrong rewrites, all found", len(res)-len(samples))
}
