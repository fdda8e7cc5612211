package trace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

// TestSteps: places are few, one at a time belongs to one buffer, and all is freed at the end.
func TestSteps(t *testing.T) {
	tr := &Trace{Events: []Event{
		{Ptr: 1, Size: 10}, {Ptr: 2, Size: 20, Stream: 3}, {Free: true, Ptr: 1, Size: 10}, {Ptr: 3, Size: 30}, {Free: true, Ptr: 9}, {Ptr: 1, Size: 40},
	}}
	steps, places := tr.Steps()
	require.Equal(t, []Step{{0, 0, 10}, {1, 3, 20}, {0, 0, -1}, {0, 0, 30}, {2, 0, 40}, {1, 3, -1}, {0, 0, -1}, {2, 0, -1}}, steps)
	require.Equal(t, 3, places)
	require.Equal(t, 4, tr.Streams())
}

// TestPlay plays a trace twice on one pool, and stops at the first failure where that is asked for.
func TestPlay(t *testing.T) {
	tr := &Trace{Events: []Event{{Ptr: 1, Size: 3 << 20}, {Ptr: 2, Size: 3 << 20}, {Free: true, Ptr: 2, Size: 3 << 20}, {Ptr: 3, Size: 100}}}
	p := pool(t, alloc.Options{Limit: 4 << 20, CollectWait: 1})
	pl, err := tr.Player(p)
	require.NoError(t, err)
	for range 2 {
		r, err := pl.Play(0)
		require.NoError(t, err)
		require.Equal(t, 1, r.Failures)
		require.Equal(t, pl.Len(), r.Steps)
		require.Zero(t, r.Stats.Live)
		r, err = pl.Play(1)
		require.NoError(t, err)
		require.Equal(t, 1, r.Failures)
		require.Equal(t, 1, r.Steps, "the second Make has failed")
		require.Zero(t, r.Stats.Live)
	}
	require.NoError(t, pl.Close())
	require.NoError(t, p.Close())
}
