package bench

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/tracker"
)

// BenchmarkTracker is a warm pair of Make and Free with the books kept as by default, with a stack
// for each allocation (rate=1), and with counters alone (rate=none), by several goroutines with a
// stream each. Time is wall time per pair of one goroutine. What the books cost as a whole is the
// difference to the same benchmark in a binary that is built without them: see bare.go in
// bench/report.
func BenchmarkTracker(b *testing.B) {
	for _, size := range []int{256, 4 << 10, 64 << 10, 1 << 20} {
		for _, rate := range []struct {
			name  string
			bytes int64
		}{{"default", 0}, {"1", 1}, {"none", -1}} {
			for _, g := range []int{1, 4, 16} {
				b.Run(fmt.Sprintf("size=%s/rate=%s/goroutines=%d", sizeName(size), rate.name, g), func(b *testing.B) {
					p, err := alloc.NewPool(newSim(granule), alloc.Options{Tracker: tracker.New(tracker.Options{Rate: rate.bytes})})
					require.NoError(b, err)
					streams := make([]*alloc.Stream, g)
					for i := range streams {
						streams[i], err = p.NewStream()
						require.NoError(b, err)
						pairs(b, streams[i], size, 100)
					}
					runtime.GC()
					b.ResetTimer()
					var wg sync.WaitGroup
					for _, s := range streams {
						wg.Go(func() { pairs(b, s, size, b.N) })
					}
					wg.Wait()
					b.StopTimer()
					runtime.KeepAlive(p)
				})
			}
		}
	}
}

// pairs makes and frees n buffers.
func pairs(tb testing.TB, s *alloc.Stream, size, n int) {
	for range n {
		buf, err := alloc.Make[byte](s, size)
		if err != nil {
			tb.Error(err)
			return
		}
		buf.Free()
	}
}

// sizeName returns bytes as the names of benchmarks have them.
func sizeName(n int) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%dGiB", n>>30)
	case n >= 1<<20:
		return fmt.Sprintf("%dMiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%dKiB", n>>10)
	}
	return fmt.Sprintf("%dB", n)
}
