//go:build cgo && linux

package cuda

import (
	"bytes"
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv"
)

var churn = flag.Int("churn", 1000, "how many modules TestModuleChurn loads")

// resident returns the process's resident memory in bytes, without what the Go heap could give back.
func resident(t *testing.T) int64 {
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	n, err := strconv.ParseInt(string(bytes.Fields(text)[1]), 10, 64)
	require.NoError(t, err)
	return n * int64(os.Getpagesize())
}

// goHeap returns the bytes of live Go objects.
func goHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestModuleChurn loads, runs and unloads modules of ever different contents with one kernel name: device
// memory, the Go heap and tables stay as they are, and the n-th costs what the first cost.
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
	// The same by the driver's calls alone: what the process grows by then is the driver's.
	var before int64
	for i := range n {
		if i == n/2 {
			before = resident(t)
		}
		bare(t, e, p, i)
	}
	drivers := resident(t) - before
	for i := range n / 10 {
		step(1 + n + i)
	}
	freeBefore, _, err := e.dev.MemInfo()
	require.NoError(t, err)
	booksBefore := e.pool.Tracker().Bytes()
	// What other programs do to the machine's clock meanwhile can look like a slope, once. One that is the
	// driver's or ours is there every time.
	var slope, mean float64
	var rss []int64 // after each half of a run
	heapBefore := goHeap()
	for try := range 4 {
		times := make([]float64, n) // ns
		for i := range n {
			if i%(n/2) == 0 {
				rss = append(rss, resident(t))
			}
			start := time.Now()
			step(1 + 2*n + try*n + i)
			times[i] = float64(time.Since(start).Nanoseconds())
		}
		slope, mean = fit(times)
		t.Logf("%d steps: mean %.0f ns, fitted slope %.3f ns a step (%.2f %% of the mean over all steps)", n,
			mean, slope, 100*slope*float64(n)/mean)
		if slope*float64(n) < mean/4 {
			break
		}
	}
	rss = append(rss, resident(t))
	freeAfter, _, err := e.dev.MemInfo()
	require.NoError(t, err)
	last := len(rss) - 1
	ours := rss[last] - rss[last-1]
	t.Logf("device memory %+d bytes, books %+d bytes, process memory in %d steps %+d KiB, by the driver's calls alone %+d KiB",
		freeBefore-freeAfter, e.pool.Tracker().Bytes()-booksBefore, n/2, ours>>10, drivers>>10)
	assert.LessOrEqual(t, freeBefore-freeAfter, int64(2<<20), "device memory")
	// A real driver's compiler keeps from 0 to 25 MiB of 500 texts, with this package and without, so that
	// there the process's memory is said only; where nothing is compiled TestModuleReload holds it on all
	// drivers.
	if !e.Real() {
		assert.LessOrEqual(t, ours, max(0, drivers)+4<<20, "process memory")
	}
	// What the runtime keeps and what other tests have left come and go by some 200 KiB.
	assert.LessOrEqual(t, goHeap()-heapBefore, int64(n)<<9, "the Go heap")
	assert.Equal(t, booksBefore, e.pool.Tracker().Bytes(), "the tracker's books")
	assert.Empty(t, e.dev.modules.all)
	assert.Empty(t, e.dev.modules.books)
	assert.Less(t, slope*float64(n), mean/4, "a step a quarter slower at the end")
}

// TestModuleReload loads, runs and unloads one module again and again, which the driver's compiler has
// compiled before: process memory stays as it is.
func TestModuleReload(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: takes seconds")
	}
	e := start(t, alloc.Options{})
	p := buffer[uint32](t, e.s, 1)
	defer p.Free()
	text := []byte(constant(3))
	n := *churn
	var before int64
	for i := range 2 * n {
		if i == n {
			before = resident(t)
		}
		m, err := LoadModule(e.pool, text)
		require.NoError(t, err)
		k, err := m.Kernel("constant")
		require.NoError(t, err)
		require.NoError(t, k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0, p.Arg()))
		require.NoError(t, m.Unload())
	}
	grown := resident(t) - before
	t.Logf("process memory %+d KiB in %d steps", grown>>10, n)
	assert.LessOrEqual(t, grown, int64(2<<20))
}

// bare loads the i-th module, runs it and unloads it by the driver's calls alone.
func bare(t *testing.T, e *env, p alloc.Buffer[uint32], i int) {
	c := &e.dev.ctx
	m, err := c.ModuleLoad([]byte(constant(1 + i)))
	require.NoError(t, err)
	f, err := c.ModuleGetFunction(m, "constant")
	require.NoError(t, err)
	one := cudadrv.Dim{X: 1, Y: 1, Z: 1}
	require.NoError(t,
		c.LaunchKernel(f, one, one, 0, e.s.LaunchHandle(), []uint64{uint64(p.Ptr(e.s))}, []uint16{0}))
	require.NoError(t, c.Synchronize())
	require.NoError(t, c.ModuleUnload(m))
}

// fit returns slope and mean of a line through times by least squares. The slowest twentieth is left out:
// those are other programs'.
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
