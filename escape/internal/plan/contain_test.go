package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/place"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
	"github.com/lastuse/lastuse/escape/internal/report"
)

// frees lists the frees of each function that is decided, as "name: text".
func frees(r *Result) (out []string) {
	for _, f := range r.Funcs {
		if f.Refused != "" {
			continue
		}
		for _, fr := range f.Frees {
			out = append(out, f.SSA.Name()+": "+fr.Text)
		}
	}
	return out
}

const two = header + `
func a() { b := Must(1); b.Use() }

func c() { d := Must(1); d.Use() }
`

// TestContainedPlan panics while one function is planned: it is skipped with the place of the panic, and the
// one behind it is decided.
func TestContainedPlan(t *testing.T) {
	in := check(t, two)
	var none []int
	in.Keep = func(s *pointsto.Site) string {
		if s.Value.Parent().Name() == "a" {
			return fmt.Sprint(none[s.N])
		}
		return ""
	}
	r := Run(in)
	require.Equal(t, []string{"c: d.Free()"}, frees(r))
	require.Len(t, r.Skipped(), 1)
	require.Equal(t, "p.a", r.Skipped()[0].Name)
	require.Regexp(t, `^internal error at contain_test\.go:\d+: runtime error: index out of range`, r.Skipped()[0].Why)
	require.Empty(t, r.Bugs())
}

// TestContainedSolve panics while a function is solved: of what it does nothing is known.
func TestContainedSolve(t *testing.T) {
	in := check(t, two)
	r := Run(in)
	s := &solver{in: in, frees: r.ed.frees, failures: &failures{skipped: map[*ssa.Function]string{}},
		to: &memory.Input{IR: r.IR, Frees: r.ed.frees, Effect: func(*ssa.CallCommon) *effect.Summary { panic("no effects") }}}
	f := r.Funcs[0].SSA
	for range 2 {
		sf := s.solve(f)
		require.Nil(t, sf.Own)
		require.True(t, sf.Summary.Unknown)
		require.Regexp(t, `^internal error at contain_test\.go:\d+: no effects$`, s.skipped[f])
	}
}

// TestContainedEdits panics while the edits of one function are made.
func TestContainedEdits(t *testing.T) {
	in := check(t, two)
	r := Run(in)
	r.Funcs[0].Frees[0].Name = place.Name{} // of nothing
	r.Edits = r.ed.edits(r.Funcs)
	require.Equal(t, []string{"c: d.Free()"}, frees(r))
	require.Len(t, r.Skipped(), 1)
	require.Contains(t, r.Funcs[0].Refused, InternalError)
}

// TestTooLarge declines a function of more instructions than the limit, says so, and goes on: of the function
// that calls it that is the reason.
func TestTooLarge(t *testing.T) {
	in := check(t, header+"func large(b *Buf, x int) int {\n"+strings.Repeat("\tx = x*x + 1\n", 2000)+"\treturn x\n}\n"+
		"func lends() { b := Must(1); large(b, 1) }\nfunc small() { b := Must(1); b.Use() }\n")
	require.Empty(t, Run(in).Skipped())
	in.Limit = 1000
	r := Run(in)
	require.Len(t, r.Skipped(), 1)
	require.Equal(t, Failure{"p.large", r.Skipped()[0].Pos, tooLarge}, r.Skipped()[0])
	require.Equal(t, []string{"small: b.Free()"}, frees(r))
	for _, f := range r.Funcs {
		if f.SSA.Name() == "lends" {
			text, _ := report.Words(r.Why.Of(f.Own.Func, &f.Verdicts[0]).String(), nil)
			require.Equal(t, "passed to large: not decided: "+tooLarge, text)
		}
	}
}
