package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

func TestMain(m *testing.M) { drvtest.Main(m, main) }

func TestRun(t *testing.T) {
	for _, n := range []int{1, 7, 64} {
		for _, onHost := range []bool{true, false} {
			var out strings.Builder
			require.NoError(t, run(&out, n, onHost, libraries, ""))
			assert.Contains(t, out.String(), ": right, ")
			assert.Contains(t, out.String(), "live at the end: 0 bytes\n")
		}
	}
}

func TestCheck(t *testing.T) {
	x, y := []float32{1, 2, 3, 4}, []float32{5, 6, 7, 8}
	require.NoError(t, check([]float32{19, 22, 43, 50}, x, y, 2))
	assert.EqualError(t, check([]float32{19, 43, 22, 50}, x, y, 2), "row 0, column 1 is 43, want 22", "transposed")
}

// A method that is wrong is named.
func TestWrong(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	pool, err := alloc.NewPool(dev, alloc.Options{})
	require.NoError(t, err)
	wrong := func(s *alloc.Stream, c, a, b alloc.Buffer[float32], n int) error { return c.Fill(s, 1e6) }
	err = compare(&strings.Builder{}, pool, 5, []method{{"Go", onHostMemory}, {"wrong", wrong}})
	require.ErrorContains(t, err, "wrong: row 0, column 0 is 1e+06, want ")
	assert.Zero(t, pool.Stats().Live)
	require.NoError(t, pool.Close())
}
