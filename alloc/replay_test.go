package alloc_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/bench/trace"
)

// TestRecorded replays the recorded programs on host devices that have little more memory than they ask
// for, with small granules and with those of alloc/cuda. Nothing touches the memory, so it costs nothing.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("../bench/data/traces/*.trace.gz")
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, name := range files {
		tr, err := trace.Open(name)
		require.NoError(t, err)
		require.Zero(t, tr.Skipped)
		require.Greater(t, len(tr.Events), 50_000)
		peak := tr.Peak()
		for _, c := range []struct {
			granule int64
			percent int64 // of peak: the device's capacity
			growth  alloc.Growth
			most    float64
		}{
			{2 << 20, 105, alloc.Balanced, 1.05},
			{4 << 20, 105, alloc.Balanced, 1.05},
			{4 << 20, 1000, alloc.Balanced, 1.20},
			{4 << 20, 1000, alloc.Tight, 1.05},
		} {
			of := fmt.Sprintf("%s/%dMiB/%d/%d", filepath.Base(name), c.granule>>20, c.percent, c.growth)
			t.Run(of, func(t *testing.T) {
				capacity := peak / 100 * c.percent &^ (2<<20 - 1)
				dev, err := host.Open(host.Options{Granularity: c.granule, Capacity: capacity})
				require.NoError(t, err)
				p, err := alloc.NewPool(dev, alloc.Options{Growth: c.growth})
				require.NoError(t, err)
				r, err := tr.Replay(p, 1)
				require.NoError(t, err)
				require.Zero(t, r.Failures, "it stopped at step %d", r.Steps)
				require.Zero(t, r.Stats.Live)
				require.LessOrEqual(t, float64(r.Stats.PeakReserved)/float64(peak), c.most)
				require.NoError(t, p.Check())
				require.NoError(t, p.Close())
			})
		}
	}
}
