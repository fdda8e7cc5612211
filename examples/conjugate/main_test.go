package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/examples/conjugate/linear"
	"github.com/lastuse/lastuse/examples/conjugate/plain"
	"github.com/lastuse/lastuse/examples/conjugate/rewritten"
	"github.com/lastuse/lastuse/internal/built"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

func TestMain(m *testing.M) { drvtest.Main(m, main) }

func hostDevice(t testing.TB) alloc.Device {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	return dev
}

// direct solves a tridiagonal system by elimination.
func direct(y linear.System) []float64 {
	n := len(y.Right)
	at := func(i, j int) float64 {
		for k := y.Starts[i]; k < y.Starts[i+1]; k++ {
			if int(y.Columns[k]) == j {
				return float64(y.Values[k])
			}
		}
		return 0
	}
	x, diagonal := make([]float64, n), make([]float64, n)
	for i := range n {
		x[i], diagonal[i] = float64(y.Right[i]), at(i, i)
		if i > 0 {
			f := at(i, i-1) / diagonal[i-1]
			diagonal[i] -= f * at(i-1, i)
			x[i] -= f * x[i-1]
		}
	}
	for i := n - 1; i >= 0; i-- {
		if i < n-1 {
			x[i] -= at(i, i+1) * x[i+1]
		}
		x[i] /= diagonal[i]
	}
	return x
}

type solver func(*alloc.Stream, *linear.Kernels, linear.System, float32, int) ([]float32, int, error)

// solve solves a system of n rows, and checks the numbers, and that nothing is left to the collector.
func solve(t *testing.T, dev alloc.Device, n int, f solver, o alloc.Options, with linear.Options) ([]float32, int) {
	t.Helper()
	pool, err := alloc.NewPool(dev, o)
	require.NoError(t, err)
	k, err := linear.Open(pool, with)
	require.NoError(t, err)
	s, err := pool.NewStream()
	require.NoError(t, err)
	y := linear.Tridiagonal(n, uint64(n))
	x, steps, err := f(s, k, y, tolerance, mostSteps)
	require.NoError(t, err)
	for i, want := range direct(y) {
		require.InDelta(t, want, float64(x[i]), 2e-6, "element %d of %d", i, n)
	}
	assert.Less(t, y.Error(x), 2e-5)
	require.Zero(t, pool.Stats().Live)
	require.Zero(t, pool.Stats().Late)
	k.Close()
	require.NoError(t, pool.Close())
	return x, steps
}

func TestSolve(t *testing.T) {
	for _, n := range []int{1, 2, 3, 100, 4096} {
		_, steps := solve(t, hostDevice(t), n, rewritten.Solve, alloc.Options{}, linear.Options{})
		assert.LessOrEqual(t, steps, min(n, 20))
	}
}

// Neither Check mode nor the order checker has anything to say.
func TestChecked(t *testing.T) {
	solve(t, hostDevice(t), 100, rewritten.Solve, alloc.Options{Check: true}, linear.Options{})
	solve(t, alloctest.Ordered(t, hostDevice(t)), 100, rewritten.Solve, alloc.Options{}, linear.Options{})
}

// What the program came from computes the same; its memory waits for the collector.
func TestPlain(t *testing.T) {
	want, steps := solve(t, hostDevice(t), 500, rewritten.Solve, alloc.Options{}, linear.Options{})
	pool, err := alloc.NewPool(hostDevice(t), alloc.Options{})
	require.NoError(t, err)
	k, err := linear.Open(pool, linear.Options{})
	require.NoError(t, err)
	defer k.Close()
	s, err := pool.NewStream()
	require.NoError(t, err)
	got, n, err := plain.Solve(s, k, linear.Tridiagonal(500, 500), tolerance, mostSteps)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, steps, n)
	assert.Positive(t, pool.Stats().Live)
}

// Whichever call of the device fails, what was made is freed, by the collector where nobody else does it.
func TestFailures(t *testing.T) {
	failed := 0
	for n := int64(1); ; n++ {
		dev := alloctest.NewFaulty(hostDevice(t))
		pool, err := alloc.NewPool(dev, alloc.Options{})
		require.NoError(t, err)
		s, err := pool.NewStream()
		require.NoError(t, err)
		k, err := linear.Open(pool, linear.Options{})
		require.NoError(t, err)
		before := dev.Calls()
		dev.FailNth(n)
		_, _, err = rewritten.Solve(s, k, linear.Tridiagonal(20, 1), tolerance, mostSteps)
		made := dev.Calls() - before
		dev.Heal()
		require.NoError(t, s.Sync())
		require.Zero(t, pool.Stats().Live, "call %d: %v", n, err)
		if err != nil {
			failed++
		}
		require.NoError(t, pool.Close())
		if made < n {
			break
		}
	}
	require.Greater(t, failed, 20)
}

func TestRun(t *testing.T) {
	var out strings.Builder
	require.NoError(t, linear.Run(&out, 1000, true, linear.Options{}, solved))
	assert.Contains(t, out.String(), "device: host\n1000 rows, 2998 elements: ")
	assert.Contains(t, out.String(), "live at the end: 0 bytes, ")
	assert.EqualError(t, linear.Run(&out, 0, true, linear.Options{}, solved), "0 rows: want at least 1, and at most 715827883")
	assert.EqualError(t, linear.Run(&out, 1<<62, true, linear.Options{}, solved),
		"4611686018427387904 rows: want at least 1, and at most 715827883")
}

// What -fix writes is in the repository.
func TestRewrite(t *testing.T) {
	if testing.Short() {
		t.Skip("builds lastuse: seconds")
	}
	tool, err := built.Command("cmd/lastuse")
	require.NoError(t, err)
	diff, err := exec.Command(tool, "-diff", "./plain").Output()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.ExitCode(), "findings")
	want, err := os.ReadFile("testdata/fix.diff")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(diff), "go generate ./examples/conjugate")
	out, err := exec.Command(tool, "-test=false", "./rewritten", "./linear", ".").CombinedOutput()
	require.NoError(t, err, "findings are left: %s", out)
}

// The same on a GPU with cuBLAS; the order checker has nothing to say.
func TestGPU(t *testing.T) {
	gpu, err := cuda.Open(0)
	if err != nil {
		t.Skip("not on a GPU: ", err)
	}
	defer gpu.Close()
	pool, err := alloc.NewPool(gpu, alloc.Options{})
	require.NoError(t, err)
	k, err := linear.Open(pool, linear.Options{GPU: gpu})
	if errors.Is(err, cuda.ErrUnavailable) || err != nil && strings.Contains(err.Error(), "is wanted") {
		t.Skip("not on a GPU with cuBLAS and NVRTC: ", err)
	}
	require.NoError(t, err)
	k.Close()
	require.NoError(t, pool.Close())
	for _, n := range []int{1, 3, 1000, 100_000} {
		solve(t, alloctest.Ordered(t, gpu), n, rewritten.Solve, alloc.Options{}, linear.Options{GPU: gpu})
	}
	var out strings.Builder
	require.NoError(t, linear.Run(&out, 1<<20, false, linear.Options{}, solved))
	t.Log(out.String())
}
