package bench

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// neverFree makes and fills buffers of 1 MiB, total bytes of them, with a limit, from several
// goroutines that each hold a few in cycles of Go objects, and frees them or leaves that
// to the collector.
func neverFree(tb testing.TB, total, limit int64, goroutines int, explicit bool) (alloc.Stats, time.Duration) {
	const size = 1 << 20
	dev, err := host.Open(host.Options{})
	require.NoError(tb, err)
	p, err := alloc.NewPool(dev, alloc.Options{Limit: limit})
	require.NoError(tb, err)
	type node struct { // of a ring
		b    alloc.Buffer[byte]
		next *node
	}
	begin := time.Now()
	var wg sync.WaitGroup
	for range goroutines {
		s, err := p.NewStream()
		require.NoError(tb, err)
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range total / size / int64(goroutines) / 4 {
				var ring *node
				for range 4 {
					b, err := alloc.Make[byte](s, size)
					if err == nil {
						err = b.Fill(s, 1)
					}
					if err != nil {
						tb.Error(err)
						return
					}
					n := &node{b: b}
					if ring == nil {
						ring = n
						n.next = n
					} else {
						n.next, ring.next = ring.next, n
					}
				}
				if explicit {
					for n := ring.next; ; n = n.next {
						n.b.Free()
						if n == ring {
							break
						}
					}
				}
			}
			if err := s.Sync(); err != nil {
				tb.Error(err)
			}
		}()
	}
	wg.Wait()
	took := time.Since(begin)
	st := p.Stats()
	runtime.KeepAlive(p)
	return st, took
}

// TestNeverFree is the benchmark below in small.
func TestNeverFree(t *testing.T) {
	st, _ := neverFree(t, 1<<30, 64<<20, 2, false)
	require.LessOrEqual(t, st.PeakReserved, int64(64<<20))
	require.Zero(t, st.Freed)
	t.Log(st.Pacing)
}

// BenchmarkNeverFree compares a program that never frees with one that does: 8 GiB in steps of
// 1 MiB, with a limit of 1 GiB.
func BenchmarkNeverFree(b *testing.B) {
	for _, g := range []int{1, 4} {
		for _, explicit := range []bool{true, false} {
			name := "goroutines=1"
			if g > 1 {
				name = "goroutines=4"
			}
			if explicit {
				name += "/frees=explicit"
			} else {
				name += "/frees=none"
			}
			b.Run(name, func(b *testing.B) {
				var gc, all time.Duration
				for b.Loop() {
					st, took := neverFree(b, 8<<30, 1<<30, g, explicit)
					require.LessOrEqual(b, st.PeakReserved, int64(1<<30))
					gc += st.Pacing.Time
					all += took
				}
				b.ReportMetric(100*float64(gc)/float64(all), "%gc")
			})
		}
	}
}
