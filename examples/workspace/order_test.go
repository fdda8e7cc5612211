package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
)

// The order checker has nothing to say, whether the collector finds the buffers or not.
func TestOrder(t *testing.T) {
	dev, err := host.Open(host.Options{Capacity: 1 << 20})
	require.NoError(t, err)
	pool, err := alloc.NewPool(alloctest.Ordered(t, dev), alloc.Options{})
	require.NoError(t, err)
	s := pool.DefaultStream()
	require.NoError(t, loop(s, 4096, 100, func(int) {}))
	for i := range 4 {
		require.NoError(t, branch(s, 4096, i%2 == 0, io.Discard))
	}
	require.ErrorIs(t, early(s, 4096, -1), errNegative)
	require.NoError(t, s.Sync())
	_ = pool.Close() // names what is live: that is the program's subject
}
