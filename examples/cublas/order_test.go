package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
)

// The order checker has nothing to say on the host, and where there is a GPU with the libraries, there: and
// cuBLAS and our kernel come to the same.
func TestOrder(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	pool, err := alloc.NewPool(alloctest.Ordered(t, dev), alloc.Options{})
	require.NoError(t, err)
	require.NoError(t, compare(&strings.Builder{}, pool, 32, []method{{"Go", onHostMemory}}))
	require.NoError(t, pool.Close())

	gpu, err := cuda.Open(0)
	if err != nil {
		t.Skip("not on a GPU: ", err)
	}
	defer gpu.Close()
	lib, err := openLibrary(gpu, libraries)
	if err != nil {
		t.Skip("not on a GPU with cuBLAS: ", err)
	}
	defer lib.close()
	pool, err = alloc.NewPool(alloctest.Ordered(t, gpu), alloc.Options{})
	require.NoError(t, err)
	kernel, err := compile(pool, "")
	if err != nil {
		t.Skip("not on a GPU with NVRTC: ", err)
	}
	var out strings.Builder
	require.NoError(t, compare(&out, pool, 333, []method{{"cuBLAS", lib.multiply}, {"ours", kernel.multiply}}))
	assert.Contains(t, out.String(), "largest difference to cuBLAS: 0\n", "whole numbers that a float32 holds")
	kernel.unload()
	require.NoError(t, pool.Close())
}
