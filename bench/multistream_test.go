package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// BenchmarkMultiStreams is RMM's multi_stream_allocations on the host device, with RMM's parameters: 4
// kernels on 1, 2 or 4 streams in turn, each with 8 bytes made before its launch and freed right
// behind it, and one wait for all at the end. RMM's kernel spins for a million clocks of a GPU; here it sleeps for half
// a millisecond, as what a GPU computes takes no processor. With prewarm the pool has run the same
// once, without it it is new. pool=none launches and makes nothing: the least that any pool can
// take. The CUDA device has the same benchmark beside its code.
func BenchmarkMultiStreams(b *testing.B) {
	for _, streams := range []int{1, 2, 4} {
		for _, prewarm := range []bool{false, true} {
			for _, pool := range []string{"lastuse", "none"} {
				b.Run(fmt.Sprintf("device=host/streams=%d/prewarm=%v/pool=%s", streams, prewarm, pool), func(b *testing.B) {
					dev, err := host.Open(host.Options{})
					require.NoError(b, err)
					var enqueued time.Duration
					for b.Loop() {
						b.StopTimer()
						p, err := alloc.NewPool(dev, alloc.Options{})
						require.NoError(b, err)
						all := make([]*alloc.Stream, streams)
						for i := range all {
							all[i], err = p.NewStream()
							require.NoError(b, err)
						}
						if prewarm {
							multiStreams(b, all, pool == "lastuse", 0)
						}
						b.StartTimer()
						enqueued += multiStreams(b, all, pool == "lastuse", 500*time.Microsecond)
						b.StopTimer()
						require.NoError(b, p.Close())
						b.StartTimer()
					}
					b.ReportMetric(float64(enqueued.Nanoseconds())/float64(b.N)/1e3, "enqueue-µs")
					b.ReportMetric(multiKernels*float64(b.N)/b.Elapsed().Seconds(), "items/s")
				})
			}
		}
	}
}

const multiKernels = 4

// multiStreams launches the kernels, waits for them, and returns how long the launches took, with what was made and freed
// between them.
func multiStreams(tb testing.TB, streams []*alloc.Stream, makes bool, length time.Duration) time.Duration {
	begin := time.Now()
	for i := range multiKernels {
		s := streams[i%len(streams)]
		var x alloc.Buffer[byte]
		var err error
		if makes {
			x, err = alloc.Make[byte](s, 8)
			require.NoError(tb, err)
		}
		require.NoError(tb, host.Launch(s, func(host.Args) {
			if length > 0 {
				time.Sleep(length)
			}
		}, x.Arg()))
		x.Free()
	}
	took := time.Since(begin)
	for _, s := range streams {
		require.NoError(tb, s.Sync())
	}
	return took
}
