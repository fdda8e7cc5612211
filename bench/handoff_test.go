package bench

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

const (
	handedBatch = 64   // buffers that go through the channel at a time
	handedQueue = 4    // batches that the channel holds
	handedSize  = 4096 // bytes of a buffer
)

// handOver runs pairs of goroutines of which one makes n buffers and the other frees them, the shape
// of xmalloc's test. It returns the wall time.
func handOver[H any](pairs, n int, malloc func(pair int) H, free func(H)) time.Duration {
	var wg sync.WaitGroup
	begin := time.Now()
	for pair := range pairs {
		full, empty := make(chan []H, handedQueue), make(chan []H, handedQueue)
		for range handedQueue {
			empty <- make([]H, 0, handedBatch)
		}
		wg.Go(func() {
			defer close(full)
			for done := 0; done < n; {
				batch := (<-empty)[:0]
				for ; len(batch) < handedBatch && done < n; done++ {
					batch = append(batch, malloc(pair))
				}
				full <- batch
			}
		})
		wg.Go(func() {
			for batch := range full {
				for _, h := range batch {
					free(h)
				}
				empty <- batch
			}
		})
	}
	wg.Wait()
	return time.Since(begin)
}

// BenchmarkHandOff has buffers made by one goroutine and freed by another, by several such pairs at once, each with a
// stream of its own. ns/buffer is wall time by the buffers of one pair. The same on a stand-in of the shape that
// PyTorch's allocator has (ordered-ns/buffer), and with numbers in place of buffers, which is what the
// channel takes (channel-ns/buffer). All take turns.
func BenchmarkHandOff(b *testing.B) {
	const n = 20_000
	for _, pairs := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("pairs=%d", pairs), func(b *testing.B) {
			p, s := plainPool(b, granule, 0, pairs)
			ours := func(pair int) alloc.Buffer[byte] {
				x, err := alloc.Make[byte](s[pair], handedSize)
				if err != nil {
					b.Error(err)
				}
				return x
			}
			theirs := newOrdered(1 << 40)
			handOver(pairs, n, ours, alloc.Buffer[byte].Free) // warm
			handOver(pairs, n, func(int) uintptr { return theirs.malloc(handedSize) }, theirs.free)
			runtime.GC()
			var lastuse, ordered, channel time.Duration
			for b.Loop() {
				lastuse += handOver(pairs, n, ours, alloc.Buffer[byte].Free)
				ordered += handOver(pairs, n, func(int) uintptr { return theirs.malloc(handedSize) }, theirs.free)
				channel += handOver(pairs, n, func(pair int) int { return pair }, func(int) {})
			}
			each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(b.N) / n }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(each(lastuse), "ns/buffer")
			b.ReportMetric(each(ordered), "ordered-ns/buffer")
			b.ReportMetric(each(channel), "channel-ns/buffer")
			st := p.Stats()
			require.Zero(b, st.Live)
			require.Equal(b, st.Made, st.Freed)
			require.NoError(b, p.Close())
		})
	}
}
