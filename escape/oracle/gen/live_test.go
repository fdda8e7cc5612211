package gen

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// program is an entry function over the variables x, y and z.
func program(body func(x, y, z *Var) []Stmt) (*Program, [3]*Var) {
	var v [3]*Var
	for i, name := range []string{"x", "y", "z"} {
		v[i] = &Var{Name: name, Kind: KBuf, Loc: i}
	}
	f := &Func{Body: body(v[0], v[1], v[2]), Locs: 3}
	return &Program{Seed: 5, Funcs: []*Func{f}, Sites: []Site{{N: 8}, {N: 9}, {N: 10}}, Tags: map[string]bool{}}, v
}

func mk(v *Var) Stmt {
	return &Make{Dst: Of(v), Decl: true, N: FirstSite + v.Loc, Err: ECheck, Fail: []Stmt{&Return{Fail: true}}}
}

func use(v *Var) Stmt { return &Use{Op: OSum, Args: []Path{Of(v)}} }

// live returns the names of what is live at each probe, in order.
func live(p *Program, vars [3]*Var) map[int]string {
	l := Analyze(p.Funcs[0])
	res := map[int]string{}
	Walk(p.Funcs[0].Body, func(s Stmt) bool {
		if probe, ok := s.(*Probe); ok {
			for _, v := range vars {
				if l.At[s].Out.holds(Of(v)) {
					res[probe.ID] += v.Name
				}
			}
		}
		return true
	})
	return res
}

func TestAnalyze(t *testing.T) {
	draw := &Cond{Op: CDraw}
	for _, tc := range []struct {
		name string
		body func(x, y, z *Var) []Stmt
		want map[int]string
	}{
		{"straight", func(x, y, z *Var) []Stmt {
			return []Stmt{mk(x), &Probe{1}, mk(y), &Probe{2}, use(x), &Probe{3}, use(y), &Probe{4}}
		}, map[int]string{1: "x", 2: "xy", 3: "y"}},
		{"dead on one edge", func(x, y, z *Var) []Stmt {
			return []Stmt{mk(x), &If{Cond: draw, Then: []Stmt{&Probe{1}, use(x), &Probe{2}}, Else: []Stmt{&Probe{3}}}, &Probe{4}}
		}, map[int]string{1: "x"}},
		{"live around a loop", func(x, y, z *Var) []Stmt {
			return []Stmt{mk(x), &Loop{Kind: LCount, N: 3, Body: []Stmt{use(x), &Probe{1}}}, &Probe{2}}
		}, map[int]string{1: "x"}},
		{"break leaves it dead", func(x, y, z *Var) []Stmt {
			return []Stmt{mk(x), &Loop{Kind: LEver, Body: []Stmt{
				&If{Cond: draw, Then: []Stmt{&Probe{1}, &Jump{Kind: JBreak}}}, use(x), &Probe{2}}}, &Probe{3}}
		}, map[int]string{2: "x"}},
		{"a copy is no use", func(x, y, z *Var) []Stmt {
			return []Stmt{mk(x), &Assign{Dst: []Path{Of(y)}, Src: []Path{Of(x)}, Decl: true}, &Probe{1}}
		}, map[int]string{}},
		{"a copy that is used", func(x, y, z *Var) []Stmt {
			return []Stmt{mk(x), &Probe{1}, &Assign{Dst: []Path{Of(y)}, Src: []Path{Of(x)}, Decl: true}, &Probe{2}, use(y)}
		}, map[int]string{1: "x", 2: "y"}},
		{"swap in a loop", func(x, y, z *Var) []Stmt {
			return []Stmt{mk(x), mk(y), &Loop{Kind: LCount, N: 3, Body: []Stmt{
				&Assign{Dst: []Path{Of(x), Of(y)}, Src: []Path{Of(y), Of(x)}}, &Probe{1}}}, &Probe{2}, use(x)}
		}, map[int]string{1: "xy", 2: "x"}},
		{"overwritten", func(x, y, z *Var) []Stmt {
			return []Stmt{mk(x), use(x), &Probe{1}, &Make{Dst: Of(x), N: 9, Err: EMust}, &Probe{2}, use(x), &Probe{3}}
		}, map[int]string{2: "x"}},
		{"read by a deferred function", func(x, y, z *Var) []Stmt {
			return []Stmt{mk(x), &Probe{1}, &If{Cond: draw, Then: []Stmt{&Return{}}}, &Defer{Kind: DUse, Path: Of(x)}, &Probe{2}}
		}, map[int]string{1: "x", 2: "x"}},
		{"captured by a closure", func(x, y, z *Var) []Stmt {
			f := &Var{Name: "f", Kind: KFunc, Loc: 9}
			return []Stmt{mk(x), &Closure{V: f, Body: []Stmt{use(x)}}, &Probe{1}, &CallVar{V: f}, &Probe{2}}
		}, map[int]string{1: "x"}},
		{"until the goroutine is joined", func(x, y, z *Var) []Stmt {
			return []Stmt{mk(x), &Join{Arg: Of(x), Mid: []Stmt{&Probe{1}}}, &Probe{2}}
		}, map[int]string{1: "x"}},
		{"backward goto", func(x, y, z *Var) []Stmt {
			return []Stmt{mk(x), &Label{"again"}, use(x), &Probe{1}, &If{Cond: draw, Then: []Stmt{&Jump{JGoto, "again"}}}, &Probe{2}}
		}, map[int]string{1: "x"}},
		{"fallthrough", func(x, y, z *Var) []Stmt {
			return []Stmt{mk(x), &Switch{Cases: [][]Stmt{{&Probe{1}}, {use(x)}, {&Probe{2}}}, Fall: []bool{true, false, false}}, &Probe{3}}
		}, map[int]string{1: "x"}},
		{"an iterator keeps what it was made for, not what the variable holds by now", func(x, y, z *Var) []Stmt {
			v := &Var{Name: "v", Kind: KView, Loc: 9}
			return []Stmt{mk(x), &Probe{1}, &Each{V: v, X: z, Lit: []Path{Of(x)}, Seq: QOther, Body: []Stmt{
				use(v), &Make{Dst: Of(x), N: 9, Err: EMust}, &Probe{2}, use(x), &Probe{3}}}, &Probe{4}}
		}, map[int]string{1: "x", 2: "xz", 3: "z"}},
		{"assigned by a literal unless it panics", func(x, y, z *Var) []Stmt {
			f := &Var{Name: "f", Kind: KFunc, Loc: 9}
			body := []Stmt{&If{Cond: draw, Then: []Stmt{&Panic{}}}, &Make{Dst: Of(x), N: 9, Err: EMust}}
			return []Stmt{mk(x), &Probe{1}, &Closure{V: f, Body: body}, &CallVar{V: f}, &Probe{2}, use(x), &Probe{3}}
		}, map[int]string{2: "x"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, vars := program(tc.body)
			require.Equal(t, tc.want, live(p, vars))
		})
	}
}

// TestRunPredicts checks the interpreter's books: what must be live, and what a
// panic may leave behind.
func TestRunPredicts(t *testing.T) {
	p, _ := program(func(x, y, z *Var) []Stmt {
		return []Stmt{mk(x), mk(y), &Probe{1}, use(x), &Probe{2}, use(y), &Probe{3}}
	})
	a := NewAnalysis(p)
	tr, err := a.Run(0, NoFault)
	require.NoError(t, err)
	require.Equal(t, 4, tr.Ops)
	require.Equal(t, []int{1, 1, 0}, tr.Events[0].Least)
	require.Equal(t, []int{0, 1, 0}, tr.Events[2].Least)
	require.Equal(t, []int{0, 0, 0}, tr.Events[len(tr.Events)-1].Least)

	tr, err = a.Run(0, Fault{Op: 1}) // the second maker fails
	require.NoError(t, err)
	require.Len(t, tr.Events, 1)
	require.Equal(t, []int{0, 0, 0}, tr.Events[0].Least)
	require.Equal(t, []int{0, 0, 0}, tr.Events[0].Slack)

	tr, err = a.Run(0, Fault{Op: 2, Panic: true}) // reading x panics
	require.NoError(t, err)
	require.True(t, tr.Panics)
	require.Equal(t, []int{1, 1, 0}, tr.Events[len(tr.Events)-1].Slack, "what the panic unwound is left to the safety net")
}

// A deferred function that looks at the named result err frees in a panic, too, where err holds an error by
// then: not one of an inner scope.
func TestPanicWithError(t *testing.T) {
	for _, inner := range []bool{false, true} {
		r, none := &Var{Name: "r", Kind: KBuf}, &Var{Name: "none", Kind: KBuf, Loc: 1}
		failing := Stmt(&Call{Fn: 2, Dst: none, Decl: true, Err: ECheck, Fail: []Stmt{use(r), &Return{Fail: true}}})
		if inner {
			failing = &Block{Body: []Stmt{failing}}
		}
		p, _ := program(func(x, y, z *Var) []Stmt {
			return []Stmt{&Call{Fn: 1, Dst: x, Decl: true, Err: EDiscard}}
		})
		p.Funcs = append(p.Funcs,
			&Func{Index: 1, Result: RBuf, Named: true, Clean: r, Locs: 2, Body: []Stmt{mk(r), failing}},
			&Func{Index: 2, Result: RBuf, Body: []Stmt{&Return{Fail: true}}})
		tr, err := NewAnalysis(p).Run(0, Fault{Op: 1, Panic: true}) // reading r panics
		require.NoError(t, err)
		require.True(t, tr.Panics)
		require.Equal(t, !inner, tr.Frees[0] == 1)
	}
}

func TestValidRefusesUseAfterFree(t *testing.T) {
	p, _ := program(func(x, y, z *Var) []Stmt {
		return []Stmt{mk(x), &Free{Path: Of(x)}, use(x)}
	})
	require.Error(t, Valid(p))
}

// A freed buffer must not go into an error: to wrap it, fmt asks the error for its
// text, for which that looks at the buffer.
func TestValidRefusesFreedInError(t *testing.T) {
	for _, freed := range []bool{false, true} {
		p, _ := program(func(x, y, z *Var) []Stmt {
			body := []Stmt{mk(x), &Assign{Decl: true, Dst: []Path{Of(y)}, Src: []Path{Of(x)}}}
			if freed {
				body = append(body, &Free{Path: Of(x)})
			}
			return append(body, &Return{Path: Of(y)})
		})
		p.Funcs[0].Result = RHeld
		require.Equal(t, freed, Valid(p) != nil)
	}
}

func TestSmallerStaysWellFormed(t *testing.T) {
	p := Generate(1, 77)
	list := Smaller(p, 40)
	require.NotEmpty(t, list)
	for _, q := range list {
		require.Less(t, Size(q), Size(p)+1)
		_, err := Print(q, "oracle.test/orig")
		require.NoError(t, err)
	}
}

// TestInterfaceOfNil knows that an interface that holds a pointer is not nil, whatever
// the pointer is.
func TestInterfaceOfNil(t *testing.T) {
	var test *If
	p, vars := program(func(x, y, z *Var) []Stmt {
		a := &Var{Name: "a", Kind: KAny, Loc: 9}
		test = &If{Cond: &Cond{Op: CNot, X: &Cond{Op: CSet, Path: Of(a), N: 1}}, Then: []Stmt{use(x)}, Else: []Stmt{use(y)}}
		return []Stmt{mk(x), mk(y), &Assign{Dst: []Path{Of(a)}, Src: []Path{Of(z)}, Decl: true}, test}
	})
	a := NewAnalysis(p)
	require.False(t, a.with(0, nil).At[test].In.holds(Of(vars[0])), "x, read where it is nil")
	require.True(t, a.with(0, nil).At[test].In.holds(Of(vars[1])), "y, read where it is not")
	require.True(t, a.live[0].At[test].In.holds(Of(vars[0])), "x, over all paths")
}

// TestKnownLoopCondition knows of a loop whose condition a flag decides that its
// body is not reached.
func TestKnownLoopCondition(t *testing.T) {
	var loop *Loop
	p, vars := program(func(x, y, z *Var) []Stmt {
		cond := &Cond{Op: CAnd, X: &Cond{Op: CFlag, Var: "flag"}, Y: &Cond{Op: CAnd, X: &Cond{Op: CPos, Path: Of(y)}, Y: &Cond{Op: CMore}}}
		loop = &Loop{Kind: LWhile, Cond: cond, Body: []Stmt{use(x)}}
		return []Stmt{mk(x), mk(y), &Flag{Name: "flag"}, loop}
	})
	for _, flag := range []bool{false, true} {
		in := NewAnalysis(p).with(0, map[string]bool{"flag": flag}).At[loop].In
		require.Equal(t, flag, in.holds(Of(vars[0])), "x, read in the body")
		require.Equal(t, flag, in.holds(Of(vars[1])), "y, read in the condition")
	}
}

// A use of a pointer needs what its variable holds by then. Where a literal replaces that, what the variable
// held before is not sure to be used.
func TestSureBehindPointer(t *testing.T) {
	for _, cell := range []bool{false, true} {
		p, _ := program(func(x, y, z *Var) []Stmt {
			x.Fixed, x.Cell = true, cell
			z.Kind, z.Fixed, z.Cell = KPtr, true, cell
			again := &Make{Dst: Of(x), N: FirstSite + 1, Err: EMust}
			return []Stmt{mk(x), &Assign{Decl: true, Dst: []Path{Of(z)}, Src: []Path{Of(x)}}, &Probe{ID: 1}, again, use(z)}
		})
		tr, err := NewAnalysis(p).Run(0, Fault{Op: -1})
		require.NoError(t, err)
		want := 1
		if cell {
			want = 0
		}
		require.Equal(t, EProbe, tr.Events[0].Kind)
		require.Equal(t, 1, tr.Events[0].Least[0], "cell %v", cell)
		require.Equal(t, want, tr.Events[0].Sure[0], "cell %v", cell)
	}
}
