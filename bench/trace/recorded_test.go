package trace

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// TestRecorded replays the recorded programs on a host device that has little more memory than they ask for. Nothing touches
// the memory, so it costs nothing.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("../data/traces/*.trace.gz")
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			tr, err := Open(name)
			require.NoError(t, err)
			require.Zero(t, tr.Skipped)
			require.Greater(t, len(tr.Events), 50_000)
			peak := tr.Peak()
			dev, err := host.Open(host.Options{Capacity: peak/20*21 &^ (2<<20 - 1)})
			require.NoError(t, err)
			p, err := alloc.NewPool(dev, alloc.Options{})
			require.NoError(t, err)
			pl, err := tr.Player(p)
			require.NoError(t, err)
			r, err := pl.Play(1)
			require.NoError(t, err)
			require.Zero(t, r.Failures, "it stopped at step %d of %d", r.Steps, pl.Len())
			require.Zero(t, r.Stats.Live)
			require.LessOrEqual(t, float64(r.Stats.PeakReserved)/float64(peak), 1.05)
			require.NoError(t, p.Check())
			require.NoError(t, pl.Close())
			require.NoError(t, p.Close())
		})
	}
}
