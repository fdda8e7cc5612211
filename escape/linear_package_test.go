package escape

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/types/typeutil"
)

// wide generates a package of n types that own through a field, with methods
// that are not exported: what a field holds on entry is asked for each.
func wide(n int) string {
	var w strings.Builder
	w.WriteString(bufType)
	for i := range n {
		fmt.Fprintf(&w, `
type t%[1]d struct{ b *Buf }

func (t *t%[1]d) grow() { t.b = Must(%[1]d) }

func (t *t%[1]d) Use() {
	t.b = nil
	t.grow()
	t.b.Put(t.b)
}

func (t *t%[1]d) Free() { t.b.Free() }
`, i)
	}
	return w.String()
}

// TestLinearPackage fits the work of summaries over the number of functions in a
// package, which no function's own size shows. Allocations stand for work.
func TestLinearPackage(t *testing.T) {
	if testing.Short() {
		t.Skip("decides packages of up to 480 types, each twice")
	}
	measure := func(n int) (time.Duration, uint64) {
		best, allocs := time.Duration(math.MaxInt64), uint64(math.MaxUint64)
		for range 2 {
			p, fns := checked(t, "p.go", wide(n))
			clear(p.sums)
			clear(p.cache)
			clear(p.freeing)
			p.index, p.held = nil, nil
			p.frees, p.holds = typeutil.Map{}, typeutil.Map{}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			start := time.Now()
			p.summarizeAll(fns)
			best = min(best, time.Since(start))
			runtime.ReadMemStats(&after)
			allocs = min(allocs, after.Mallocs-before.Mallocs)
			require.Len(t, p.freeing, n)
		}
		return best, allocs
	}
	small, large := 60, 480
	ta, na := measure(small)
	tb, nb := measure(large)
	scale := math.Log(float64(large) / float64(small))
	time, work := math.Log(float64(tb)/float64(ta))/scale, math.Log(float64(nb)/float64(na))/scale
	t.Logf("%d types %v, %d allocations; %d types %v, %d: exponents %.2f, %.2f", small, ta, na, large, tb, nb, time, work)
	require.Less(t, work, 1.1)
}
