package gen

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTruth puts frees by a trial into small programs, and asks what they do wrong.
func TestTruth(t *testing.T) {
	draw := &Cond{Op: CDraw}
	free := func(v *Var) Stmt { return &Free{Path: Of(v), Mine: true} }
	later := func(v *Var) Stmt { return &Defer{Kind: DLit, Path: Of(v), Mine: true} }
	group, pair := &Var{Kind: KGroup, Loc: 3}, &Var{Kind: KPair, Res: RMat, Loc: 3}
	loud := func(how LoudKind) *Var { return &Var{Kind: KLoud, Form: int(how), Loc: 3} }
	lock, door := loud(LLock), loud(LClose)
	tally := loud(LTally)
	for _, tc := range []struct {
		name string
		body func(x, y, z *Var, put ...Stmt) []Stmt // put is what the trial puts in
		put  func(x, y, z *Var) Stmt
		want string
	}{
		{"dead", func(x, y, z *Var, put ...Stmt) []Stmt {
			return append(append([]Stmt{mk(x), use(x)}, put...), &Probe{1})
		}, func(x, y, z *Var) Stmt { return free(x) }, ""},
		{"before a use", func(x, y, z *Var, put ...Stmt) []Stmt {
			return append(append([]Stmt{mk(x)}, put...), use(x))
		}, func(x, y, z *Var) Stmt { return free(x) }, "uses a freed buffer"},
		{"before a panic that has it", func(x, y, z *Var, put ...Stmt) []Stmt {
			return append(append([]Stmt{mk(x)}, put...), &Panic{With: Of(x)})
		}, func(x, y, z *Var) Stmt { return free(x) }, "uses a freed buffer"},
		{"before the end of a goroutine", func(x, y, z *Var, put ...Stmt) []Stmt {
			return []Stmt{mk(x), &Join{Arg: Of(x), Mid: put}}
		}, func(x, y, z *Var) Stmt { return free(x) }, "what a goroutine reads"},
		{"deferred, a goroutine is left behind", func(x, y, z *Var, put ...Stmt) []Stmt {
			return append(append([]Stmt{mk(x)}, put...), &Group{V: group}, &Spawn{V: group, Arg: Of(x), Leaks: true},
				&If{Cond: draw, Then: []Stmt{&Panic{}}}, &Wait{V: group})
		}, func(x, y, z *Var) Stmt { return later(x) }, "what somebody keeps"},
		{"deferred, each iteration's own", func(x, y, z *Var, put ...Stmt) []Stmt {
			return []Stmt{&Loop{Kind: LCount, N: 3, Body: append(append([]Stmt{mk(x)}, put...), use(x))}, &Probe{1}}
		}, func(x, y, z *Var) Stmt { return later(x) }, ""},
		{"nothing in a field", func(x, y, z *Var, put ...Stmt) []Stmt {
			return append([]Stmt{&Compose{V: pair}}, put...)
		}, func(x, y, z *Var) Stmt { return &Free{Path: At(pair, 0), Mine: true} }, "frees nothing"},
		{"by what locks, with the lock held", func(x, y, z *Var, put ...Stmt) []Stmt {
			return []Stmt{mk(x), &Wrap{V: lock, Src: Of(x)}, &Hold{V: lock, Body: put}}
		}, func(x, y, z *Var) Stmt { return free(lock) }, "can be done once"},
		{"by what closes a channel, which is closed", func(x, y, z *Var, put ...Stmt) []Stmt {
			return append([]Stmt{mk(x), &Wrap{V: door, Src: Of(x)}, &Free{Path: Of(door)}}, put...)
		}, func(x, y, z *Var) Stmt { return free(door) }, "can be done once"},
		{"by what counts, once more", func(x, y, z *Var, put ...Stmt) []Stmt {
			list := append([]Stmt{mk(x), &Wrap{V: tally, Src: Of(x)}, &Free{Path: Of(tally)}}, put...)
			return append(list, &State{V: tally})
		}, func(x, y, z *Var) Stmt { return free(tally) }, "is 2, not 1"},
		{"of the call around", func(x, y, z *Var, put ...Stmt) []Stmt {
			least := append([]Stmt{use(y)}, put...)
			return []Stmt{&Recur{Last: y, N: 3, Body: []Stmt{mk(x), &Deeper{Arg: Of(x), Last: y, Least: least}}}}
		}, func(x, y, z *Var) Stmt { return free(y) }, "what the caller has"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			old, v := program(func(x, y, z *Var) []Stmt { return tc.body(x, y, z) })
			ref, err := NewReference(old, 8, 8)
			require.NoError(t, err)
			edited := *old
			f := *old.Funcs[0]
			f.Body = tc.body(v[0], v[1], v[2], tc.put(v[0], v[1], v[2]))
			edited.Funcs = []*Func{&f}
			if tc.want == "" {
				require.Empty(t, ref.Differs(&edited))
			} else {
				require.Contains(t, ref.Differs(&edited), tc.want)
			}
		})
	}
}

// TestOriginal demands that programs which go wrong by themselves are no programs.
func TestOriginal(t *testing.T) {
	beside := &Func{Index: 1, Result: RBuf, Beside: true, Locs: 1}
	b := &Var{Name: "b", Kind: KBuf}
	beside.Body = []Stmt{mk(b), &Free{Path: Of(b)}, &Return{Path: Of(b), Fail: true}}
	for _, tc := range []struct {
		name string
		body func(x, y, z *Var) []Stmt
	}{
		{"reads what came freed beside an error", func(x, y, z *Var) []Stmt {
			return []Stmt{&Call{Fn: 1, Dst: y, Decl: true, Err: EDiscard}, use(y)}
		}},
		{"reads a nil pointer", func(x, y, z *Var) []Stmt {
			x.Res = RMat
			return []Stmt{&Zero{x}, use(x)}
		}},
		{"defers the free of a nil pointer", func(x, y, z *Var) []Stmt {
			x.Res = RMat
			return []Stmt{&Zero{x}, &Defer{Kind: DFree, Path: Of(x)}}
		}},
		{"defers the free of what a goroutine reads that is left behind", func(x, y, z *Var) []Stmt {
			group := &Var{Kind: KGroup, Loc: 3}
			return []Stmt{mk(x), &Defer{Kind: DFree, Path: Of(x)},
				&Group{V: group}, &Spawn{V: group, Arg: Of(x), Leaks: true},
				&If{Cond: &Cond{Op: CDraw}, Then: []Stmt{&Panic{}}}, &Wait{V: group}}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, _ := program(tc.body)
			p.Funcs = append(p.Funcs, beside)
			require.Error(t, Valid(p))
		})
	}
}
