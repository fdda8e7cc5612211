package host_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// TestColdStreams is RMM's benchmark of allocations on several streams, four kernels on each of four
// streams, cold: every stream needs memory while the work of all others is held back. No stream waits
// for another: each one's kernels run when its own gate opens, whatever the others do.
func TestColdStreams(t *testing.T) {
	const streams, kernels = 4, 4
	for _, size := range []int{8, 1 << 20} {
		for _, mapping := range []bool{true, false} {
			dev, err := host.Open(host.Options{NoMapping: !mapping})
			require.NoError(t, err)
			p, err := alloc.NewPool(dev, alloc.Options{})
			require.NoError(t, err)
			var all []*alloc.Stream
			var gates []chan struct{}
			var ran [streams]int
			for range streams {
				s, err := p.NewStream()
				require.NoError(t, err)
				gate := make(chan struct{})
				require.NoError(t, host.Launch(s, func(host.Args) { <-gate }))
				all, gates = append(all, s), append(gates, gate)
			}
			for range kernels {
				for i, s := range all {
					b, err := alloc.Make[byte](s, size)
					require.NoError(t, err)
					require.NoError(t, host.Launch(s, func(a host.Args) {
						host.Slice[byte](a, 0)[0] = byte(i)
						ran[i]++
					}, b.Arg()))
					b.Free()
				}
			}
			for i := streams - 1; i >= 0; i-- { // the last first: it may wait for none before it
				close(gates[i])
				e := all[i].Record()
				require.Eventually(t, e.Query, 10*time.Second, time.Millisecond, "stream %d waits for another", i)
				assert.Equal(t, kernels, ran[i])
			}
			st := p.Stats()
			assert.Zero(t, st.Waits, "waits between streams")
			assert.Zero(t, st.Waited, "Makes that waited")
			assert.Zero(t, st.Ordered)
			require.NoError(t, p.Close())
		}
	}
}
