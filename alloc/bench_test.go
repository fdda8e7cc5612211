package alloc_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/tracker"
)

// BenchmarkMakeFree is a pair of Make and Free on a warm pool, by size in bytes.
func BenchmarkMakeFree(b *testing.B) {
	for size := 256; size <= 1<<30; size *= 4 {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			p := newPool(b, host.Options{}, alloc.Options{})
			s := newStream(b, p)
			buf, err := alloc.Make[byte](s, size)
			require.NoError(b, err)
			buf.Free()
			before := p.Stats().DeviceCalls
			b.ReportAllocs()
			for b.Loop() {
				buf, err := alloc.Make[byte](s, size)
				if err != nil {
					b.Fatal(err)
				}
				buf.Free()
			}
			b.StopTimer()
			require.Equal(b, before, p.Stats().DeviceCalls, "a warm pool calls no device")
			runtime.KeepAlive(p)
		})
	}
}

// BenchmarkSites is what call sites cost a warm pair, and what the pair costs without: pairs with sites at
// the default rate and pairs without take turns, so that the difference does not depend on what else the
// machine does.
func BenchmarkSites(b *testing.B) {
	const pairs = 2000
	one := func(b *testing.B, s *alloc.Stream, size int) {
		for range pairs {
			pair(b, s, size)
		}
	}
	two := func(b *testing.B, s *alloc.Stream, size int) {
		for range pairs / 2 {
			pair(b, s, size)
			pair(b, s, size)
		}
	}
	for _, size := range []int{256, 1 << 20, 16 << 20, 1 << 30} {
		for _, c := range []struct {
			name  string
			depth int
			run   func(*testing.B, *alloc.Stream, int)
		}{{"one", 0, one}, {"two", 0, two}, {"deep", 60, one}} {
			b.Run(fmt.Sprintf("size=%d/sites=%s", size, c.name), func(b *testing.B) {
				var streams [2]*alloc.Stream
				var times [2][]float64
				for i, rate := range []int64{-1, 0} {
					books := tracker.New(tracker.Options{Rate: rate})
					streams[i] = newStream(b, newPool(b, host.Options{}, alloc.Options{Tracker: books}))
				}
				deep(c.depth, func() {
					for b.Loop() {
						for i, s := range streams {
							begin := time.Now()
							c.run(b, s, size)
							times[i] = append(times[i], float64(time.Since(begin))/pairs)
						}
					}
				})
				slices.Sort(times[0])
				slices.Sort(times[1])
				without, with := times[0][len(times[0])/2], times[1][len(times[1])/2]
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(with, "ns/pair")
				b.ReportMetric(with-without, "sites-ns")
			})
		}
	}
}

//go:noinline
func pair(b *testing.B, s *alloc.Stream, size int) {
	buf, err := alloc.Make[byte](s, size)
	if err != nil {
		b.Fatal(err)
	}
	buf.Free()
}

// deep calls f with n more frames on the stack.
//
//go:noinline
func deep(n int, f func()) {
	if n > 0 {
		deep(n-1, f)
		return
	}
	f()
}
