package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
)

// The order checker has nothing to say on the host, and where there is a GPU with its library, there.
func TestOrder(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	require.NoError(t, compute(io.Discard, alloctest.Ordered(t, dev), onHostMemory, 32))

	gpu, lib, err := openGPU(libraries)
	if err != nil {
		t.Skip("not on a GPU: ", err)
	}
	defer gpu.Close()
	defer lib.close()
	require.NoError(t, compute(io.Discard, alloctest.Ordered(t, gpu), lib.multiply, 32))
}
