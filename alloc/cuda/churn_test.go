//go:build cgo && linux

package cuda

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

var churn = flag.Int("churn", 1000, "how many modules TestModuleChurn loads")

// resident returns the process's resident memory in bytes.
func resident(t *testing.T) int64 {
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	n, err := strconv.ParseInt(string(bytes.Fields(text)[1]), 10, 64)
	require.NoError(t, err)
	return n * int64(os.Getpagesize())
}

// TestModuleChurn loads, runs and unloads modules of ever different contents with one kernel name: device memory, process
// memory and tables stay as they are, and the n-th costs what the first cost.
func TestModuleChurn(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: takes seconds")
	}
	e := start(t, alloc.Options{})
	p := buffer[uint32](t, e.s, 1)
	defer p.Free()
	got := make([]uint32, 1)
	step := func(i int) {
		m, err := LoadModule(e.pool, []byte(constant(i)))
		require.NoError(t, err)
		k, err := m.Kernel("constant")
		require.NoError(t, err)
		require.NoError(t, k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0, p.Arg()))
		require.NoError(t, p.CopyTo(e.s, got))
		require.EqualValues(t, i, got[0], "the kernel of this module")
		require.NoError(t, m.Unload())
	}
	n := *churn
	warm := n / 10
	for i := range warm {
		step(1 + i)
	}
	freeBefore, _, err := e.dev.MemInfo()
	require.NoError(t, err)
	booksBefore := e.pool.Tracker().Bytes()
	rssBefore := resident(t)
	// What other programs do to the machine's clock meanwhile can look like a slope, once. One that is the driver's
	// or ours is there every time.
	var slope, mean float64
	for try := range 4 {
		times := make([]float64, n) // ns
		for i := range n {
			start := time.Now()
			step(1 + warm + try*n + i)
			times[i] = float64(time.Since(start).Nanoseconds())
		}
		slope, mean = fit(times)
		t.Logf("%d steps: mean %.0f ns, fitted slope %.3f ns a step (%.2f %% of the mean over all steps)", n, mean, slope, 100*slope*float64(n)/mean)
		if slope*float64(n) < mean/4 {
			break
		}
	}
	freeAfter, _, err := e.dev.MemInfo()
	require.NoError(t, err)
	rssAfter := resident(t)
	t.Logf("device memory %+d bytes, process memory %+d bytes, books %+d bytes", freeBefore-freeAfter, rssAfter-rssBefore, e.pool.Tracker().Bytes()-booksBefore)
	assert.LessOrEqual(t, freeBefore-freeAfter, int64(2<<20), "device memory")
	assert.LessOrEqual(t, rssAfter-rssBefore, int64(16<<20), "process memory")
	assert.Equal(t, booksBefore, e.pool.Tracker().Bytes(), "the tracker's books")
	assert.Empty(t, e.dev.modules.all)
	assert.Empty(t, e.dev.modules.books)
	assert.Less(t, slope*float64(n), mean/4, "a step a quarter slower at the end")
}

// fit returns slope and mean of a line through times by least squares. The slowest twentieth is left out: those are
// other programs'.
func fit(times []float64) (slope, mean float64) {
	limit := slices.Sorted(slices.Values(times))[len(times)-1-len(times)/20]
	var sx, sy, sxx, sxy, n float64
	for i, y := range times {
		if y > limit {
			continue
		}
		x := float64(i)
		sx, sy, sxx, sxy, n = sx+x, sy+y, sxx+x*x, sxy+x*y, n+1
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx), sy / n
}
