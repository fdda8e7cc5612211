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
	"github.com/lastuse/lastuse/examples/jacobi/plain"
	"github.com/lastuse/lastuse/examples/jacobi/rewritten"
	"github.com/lastuse/lastuse/internal/built"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

func TestMain(m *testing.M) { drvtest.Main(m, main) }

func hostDevice(t testing.TB) alloc.Device {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	return dev
}

// relaxed is what so many steps make of a system, by Go alone.
func relaxed(y linear.System, steps int) []float64 {
	x := make([]float64, len(y.Right))
	for range steps {
		to := make([]float64, len(x))
		for i, sum := range y.Right {
			rest, own := float64(sum), 0.0
			for j := y.Starts[i]; j < y.Starts[i+1]; j++ {
				if int(y.Columns[j]) == i {
					own = float64(y.Values[j])
				} else {
					rest -= float64(y.Values[j]) * x[y.Columns[j]]
				}
			}
			to[i] = rest / own
		}
		x = to
	}
	return x
}

// solve solves a system of n rows in each of the ways, each time on a pool of its own. It checks the numbers,
// and that nothing is left to the collector.
func solve(t *testing.T, dev func() alloc.Device, n, most int, o alloc.Options, with linear.Options) {
	t.Helper()
	y := linear.Tridiagonal(n, uint64(n))
	took := 0
	for _, w := range ways {
		pool, err := alloc.NewPool(dev(), o)
		require.NoError(t, err)
		k, err := linear.Open(pool, with)
		require.NoError(t, err)
		s, err := pool.NewStream()
		require.NoError(t, err)
		x, steps, err := rewritten.Solve(s, k, w.way, y, goal(n), most)
		require.NoError(t, err, w.name)
		require.Positive(t, steps)
		if took == 0 {
			took = steps
		}
		require.Equal(t, took, steps, "steps, %s", w.name)
		for i, want := range relaxed(y, steps) {
			require.InDelta(t, want, float64(x[i]), 1e-6, "%s: element %d of %d", w.name, i, n)
		}
		require.Zero(t, pool.Stats().Live, w.name)
		require.Zero(t, pool.Stats().Late, w.name)
		k.Close()
		require.NoError(t, pool.Close())
	}
	if most == mostSteps {
		require.Less(t, took, 40)
	} else {
		require.Equal(t, most, took)
	}
}

func TestSolve(t *testing.T) {
	for _, n := range []int{1, 2, 3, 100, 4096} {
		solve(t, func() alloc.Device { return hostDevice(t) }, n, mostSteps, alloc.Options{}, linear.Options{})
	}
	for most := range 4 { // the result is in one vector or in the other
		solve(t, func() alloc.Device { return hostDevice(t) }, 50, most+1, alloc.Options{}, linear.Options{})
	}
}

// Neither Check mode nor the order checker has anything to say.
func TestChecked(t *testing.T) {
	solve(t, func() alloc.Device { return hostDevice(t) }, 100, mostSteps, alloc.Options{Check: true}, linear.Options{})
	solve(t, func() alloc.Device { return alloctest.Ordered(t, hostDevice(t)) }, 100, mostSteps, alloc.Options{}, linear.Options{})
}

// What the program came from computes the same; its memory waits for the collector.
func TestPlain(t *testing.T) {
	for _, w := range ways {
		y := linear.Tridiagonal(500, 500)
		pool, err := alloc.NewPool(hostDevice(t), alloc.Options{})
		require.NoError(t, err)
		k, err := linear.Open(pool, linear.Options{})
		require.NoError(t, err)
		defer k.Close()
		s, err := pool.NewStream()
		require.NoError(t, err)
		want, steps, err := rewritten.Solve(s, k, w.way, y, goal(500), mostSteps)
		require.NoError(t, err)
		require.Zero(t, pool.Stats().Live)
		got, n, err := plain.Solve(s, k, plain.Way(w.way), y, goal(500), mostSteps)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.Equal(t, steps, n)
		assert.Positive(t, pool.Stats().Live)
	}
}

// Whichever call of the device fails, what was made is freed.
func TestFailures(t *testing.T) {
	for _, w := range ways {
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
			_, _, err = rewritten.Solve(s, k, w.way, linear.Tridiagonal(20, 1), goal(20), 3)
			made := dev.Calls() - before
			dev.Heal()
			require.NoError(t, s.Sync())
			require.Zero(t, pool.Stats().Live, "%s: call %d: %v", w.name, n, err)
			if err != nil {
				failed++
			}
			require.NoError(t, pool.Close())
			if made < n {
				break
			}
		}
		require.Greater(t, failed, 10, w.name)
	}
}

func TestRun(t *testing.T) {
	var out strings.Builder
	require.NoError(t, linear.Run(&out, 1000, true, linear.Options{}, solved))
	assert.Contains(t, out.String(), "device: host\ncall by call: 1000 rows, ")
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
	assert.Equal(t, string(want), string(diff), "go generate ./examples/jacobi")
	out, err := exec.Command(tool, "-test=false", "./rewritten", ".").CombinedOutput()
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
		solve(t, func() alloc.Device { return alloctest.Ordered(t, gpu) }, n, mostSteps, alloc.Options{}, linear.Options{GPU: gpu})
	}
	var out strings.Builder
	require.NoError(t, linear.Run(&out, 1<<20, false, linear.Options{}, solved))
	t.Log(out.String())
}
