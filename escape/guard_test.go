package escape

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGuarded panics inside the analysis of a function: it is declined with the
// place of the panic, and the one after it is decided.
func TestGuarded(t *testing.T) {
	p, fns := checked(t, "p.go", bufType+"func a() { b := Must(1); b.Put(b) }\nfunc c() { b := Must(1); b.Put(b) }\n")
	var a *fn
	for _, f := range fns {
		if f.name == "p.a" {
			a = f
		}
	}
	require.NotNil(t, a)
	var none []int
	require.False(t, p.guarded(a, func() { none[len(fns)] = 1 }))
	require.Regexp(t, `^internal error at guard_test\.go:\d+: runtime error: index out of range`, a.declined)
	require.Empty(t, a.flow.objs)
	res := &Result{}
	p.reports(fns, res, func(string) ([]byte, error) { return nil, nil })
	require.Len(t, res.Skipped, 1)
	require.Equal(t, a.declined, res.Skipped[0].Reason)
	require.Len(t, res.Funcs, 1)
	require.Equal(t, "p.c", res.Funcs[0].Name)
}
