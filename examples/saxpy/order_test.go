package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
)

// The order checker has nothing to say, on the host and where there is a GPU there.
func TestOrder(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, compute(&out, alloctest.Ordered(t, dev), goFunction, 1<<16))
	assert.Contains(t, out.String(), "right\n")

	gpu, err := cuda.Open(0)
	if err != nil {
		t.Skip("no GPU: ", err)
	}
	defer gpu.Close()
	require.NoError(t, compute(&out, alloctest.Ordered(t, gpu), loadPTX, 1<<16))
}
