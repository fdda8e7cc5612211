package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/cuda"
	"github.com/lastuse/lastuse/alloc/host"
)

// The order checker has nothing to say, on the host and where there is a GPU there.
func TestOrder(t *testing.T) {
	dev, err := host.Open(host.Options{Capacity: 1 << 30})
	require.NoError(t, err)
	r := &repl{out: io.Discard, lacks: io.EOF}
	require.NoError(t, r.loop(alloctest.Ordered(t, dev), madeUp(100)))

	gpu, err := cuda.Open(0)
	if err != nil {
		t.Skip("no GPU: ", err)
	}
	defer gpu.Close()
	require.NoError(t, (&repl{out: io.Discard}).loop(alloctest.Ordered(t, gpu), madeUp(100)))
}
