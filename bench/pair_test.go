package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/tracker"
)

// The stand-in must be right to be compared with.
func TestStandIn(t *testing.T) {
	h := newOrdered(1 << 40)
	at := make(map[int]uintptr)
	sizes := make(map[int]int64)
	for _, e := range randomAllocations(2000, 4, 1) {
		if e.size == 0 {
			h.free(at[e.number])
			delete(at, e.number)
			continue
		}
		p := h.malloc(e.size)
		if e.number%50 == 0 {
			for other, q := range at {
				require.False(t, p < q+uintptr(sizes[other]) && q < p+uintptr(e.size), "two buffers overlap")
			}
		}
		at[e.number], sizes[e.number] = p, e.size
	}
	p := h.malloc(1 << 40)
	require.EqualValues(t, 1<<40, p, "all is one piece again")
}

// The ratios that Tight promises, with a little of the workloads.
func TestOverhead(t *testing.T) {
	for _, c := range []struct {
		maxMiB  int64
		streams int
		most    float64
	}{{1, 1, 1.15}, {4, 1, 1.05}, {64, 1, 1.05}, {1024, 1, 1.05}, {4, 8, 1.10}, {64, 8, 1.10}, {1024, 8, 1.10}} {
		_, ratio := overhead(t, randomAllocations(1000, c.maxMiB, c.streams), granule, c.streams, alloc.Tight)
		require.LessOrEqual(t, ratio, c.most, "%+v", c)
	}
	for name, events := range minimalloc(t) {
		_, ratio := overhead(t, events, granule, 1, alloc.Tight)
		require.LessOrEqual(t, ratio, 1.05, name)
	}
}

// holes fills a stream's memory with k pairs of buffers of random sizes and frees every other one,
// so that k separated holes are left.
func holes(b *testing.B, s *alloc.Stream, k int, least, most int64) (keep []alloc.Buffer[byte]) {
	r := rand.New(rand.NewPCG(1, 1))
	var drop []alloc.Buffer[byte]
	for i := range 2 * k {
		size := least
		if most > least {
			size += r.Int64N(most - least)
		}
		buf, err := alloc.Make[byte](s, int(size))
		require.NoError(b, err)
		if i%2 == 0 {
			drop = append(drop, buf)
		} else {
			keep = append(keep, buf)
		}
	}
	for _, i := range r.Perm(len(drop)) {
		drop[i].Free()
	}
	return keep
}

// BenchmarkHoles is a pair of Make and Free among separated holes: RMM's test of its indexed pool, and
// one with larger sizes, where each request has to look for its fit. Pairs among many holes and
// pairs among 4,096 take turns, so that x-of-4096 does not depend on what else the machine does.
func BenchmarkHoles(b *testing.B) {
	const few, pairs = 4096, 1000
	for _, c := range []struct {
		name              string
		least, most, want int64
	}{
		{"1KiB", 1 << 10, 1 << 10, 1 << 10},
		{"2-4MiB", 2 << 20, 4 << 20, 3 << 20},
	} {
		for _, k := range []int{16384, 65536} {
			b.Run(fmt.Sprintf("size=%s/holes=%d", c.name, k), func(b *testing.B) {
				sizes := make([]int, pairs) // the same for both
				r := rand.New(rand.NewPCG(2, 2))
				for i := range sizes {
					sizes[i] = int(c.want)
					if c.most > c.least {
						sizes[i] += r.IntN(1<<18) - 1<<17
					}
				}
				p, s := plainPool(b, granule, 0, 1)
				keep := holes(b, s[0], k, c.least, c.most)
				pFew, sFew := plainPool(b, granule, 0, 1)
				keepFew := holes(b, sFew[0], few, c.least, c.most)
				runtime.GC()
				round := func(s *alloc.Stream) time.Duration {
					begin := time.Now()
					for _, n := range sizes {
						buf, err := alloc.Make[byte](s, n)
						if err != nil {
							b.Fatal(err)
						}
						buf.Free()
					}
					return time.Since(begin)
				}
				var ratios []float64
				var all time.Duration
				for b.Loop() {
					few := round(sFew[0])
					many := round(s[0])
					all += many
					ratios = append(ratios, float64(many)/float64(few))
				}
				slices.Sort(ratios)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(all)/float64(b.N)/pairs, "ns/pair")
				b.ReportMetric(ratios[len(ratios)/2], "x-of-4096")
				runtime.KeepAlive(keep)
				runtime.KeepAlive(p)
				runtime.KeepAlive(keepFew)
				runtime.KeepAlive(pFew)
			})
		}
	}
}

// plainPool returns a pool that counts but takes no call stacks: bookkeeping alone.
func plainPool(tb testing.TB, granule, segment int64, streams int) (*alloc.Pool, []*alloc.Stream) {
	tb.Helper()
	p, err := alloc.NewPool(newSim(granule), alloc.Options{Segment: segment, Tracker: tracker.New(tracker.Options{Rate: -1})})
	require.NoError(tb, err)
	all := make([]*alloc.Stream, streams)
	for i := range all {
		all[i], err = p.NewStream()
		require.NoError(tb, err)
	}
	return p, all
}

// BenchmarkPair is a pair of Make and Free, warm, by size, and the same without call stacks. Counters
// and safety net are on in both. At the default rate a stack is taken once in ten microseconds at most, which
// other allocators do not do.
func BenchmarkPair(b *testing.B) {
	for size := 256; size <= 1<<30; size *= 4 {
		for _, sites := range []string{"sampled", "none"} {
			b.Run(fmt.Sprintf("size=%d/sites=%s", size, sites), func(b *testing.B) {
				p, s := simPool(b, granule, 1, alloc.Balanced)
				if sites == "none" {
					p, s = plainPool(b, granule, 0, 1)
				}
				buf, err := alloc.Make[byte](s[0], size)
				require.NoError(b, err)
				buf.Free()
				before := p.Stats().DeviceCalls
				b.ReportAllocs()
				begin := cpuTime()
				for b.Loop() {
					buf, err := alloc.Make[byte](s[0], size)
					if err != nil {
						b.Fatal(err)
					}
					buf.Free()
				}
				b.ReportMetric(float64(cpuTime()-begin)/float64(b.N), "cpu-ns/op")
				b.StopTimer()
				require.Equal(b, before, p.Stats().DeviceCalls, "a warm pool calls no device")
				runtime.KeepAlive(p)
			})
		}
	}
}
