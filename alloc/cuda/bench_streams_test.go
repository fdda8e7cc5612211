//go:build cgo && linux

package cuda

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv"
)

// BenchmarkMultiStreams is RMM's multi_stream_allocations: 4 kernels of half a millisecond on 1, 2 or 4
// streams, each with 8 bytes made before and freed right behind its launch. With prewarm the pool has run the
// same once, without it the pool is new, but for the driver's own, which goes on. Serialised streams would
// show as multiples. pool=none launches and makes nothing.
func BenchmarkMultiStreams(b *testing.B) {
	for _, streams := range []int{1, 2, 4} {
		for _, prewarm := range []bool{false, true} {
			for _, kind := range []string{"lastuse", "cuMemAllocAsync", "cuMemAlloc", "none"} {
				b.Run(fmt.Sprintf("device=cuda/streams=%d/prewarm=%v/pool=%s", streams, prewarm, kind),
					func(b *testing.B) {
						multiStreams(b, streams, prewarm, kind)
					})
			}
		}
	}
}

func multiStreams(b *testing.B, streams int, prewarm bool, kind string) {
	const kernels, length = 4, 500 * time.Microsecond
	d := choose(b)
	dev, err := open(d.Path, 0, Options{})
	require.NoError(b, err)
	defer dev.Close()
	base, err := alloc.NewPool(dev, alloc.Options{})
	require.NoError(b, err)
	m, err := LoadModule(base, []byte(testPTX))
	require.NoError(b, err)
	k, err := m.Kernel("spin")
	require.NoError(b, err)
	one, word := Dim{X: 1}, cudadrv.Dim{X: 1, Y: 1, Z: 1}
	// raw launches without the pool's part.
	raw := func(s *alloc.Stream, ns time.Duration) {
		require.NoError(b,
			dev.ctx.LaunchKernel(k.handle, word, word, 0, s.Handle(), []uint64{uint64(ns)}, []uint16{0}))
	}
	run := func(ss []*alloc.Stream, ns time.Duration) time.Duration {
		start := time.Now()
		for i := range kernels {
			switch s := ss[i%streams]; kind {
			case "lastuse":
				x, err := alloc.Make[byte](s, 8)
				require.NoError(b, err)
				require.NoError(b, k.Launch(s, one, one, 0, alloc.Scalar(uint64(ns))))
				x.Free()
			case "cuMemAllocAsync":
				p, err := dev.ctx.MemAllocAsync(8, s.Handle())
				require.NoError(b, err)
				raw(s, ns)
				require.NoError(b, dev.ctx.MemFreeAsync(p, s.Handle()))
			case "cuMemAlloc":
				p, err := dev.ctx.MemAlloc(8)
				require.NoError(b, err)
				raw(s, ns)
				require.NoError(b, dev.ctx.MemFree(p))
			default:
				raw(s, ns)
			}
		}
		took := time.Since(start)
		require.NoError(b, dev.ctx.Synchronize())
		return took
	}
	var enqueued time.Duration
	for b.Loop() {
		b.StopTimer()
		pool, err := alloc.NewPool(dev, alloc.Options{})
		require.NoError(b, err)
		var ss []*alloc.Stream
		for range streams {
			s, err := pool.NewStream()
			require.NoError(b, err)
			ss = append(ss, s)
			// The first launch on a stream costs the driver what later ones do not.
			require.NoError(b, k.Launch(s, one, one, 0, alloc.Scalar(uint64(1))))
			require.NoError(b, s.Sync())
		}
		if prewarm {
			run(ss, 1)
		}
		b.StartTimer()
		enqueued += run(ss, length)
		b.StopTimer()
		require.NoError(b, pool.Close())
		b.StartTimer()
	}
	b.ReportMetric(float64(enqueued.Nanoseconds())/float64(b.N)/1e3, "enqueue-µs")
	b.ReportMetric(kernels*float64(b.N)/b.Elapsed().Seconds(), "items/s")
	require.NoError(b, m.Unload())
	require.NoError(b, base.Close())
}
