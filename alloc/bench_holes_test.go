package alloc_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/bench/ask"
)

// BenchmarkHoles is a pair among separated holes: RMM's test of its indexed pool, and one with a range of
// sizes, where each request has to look for its fit. Pairs among many holes and pairs among 4,096 take
// turns, so that x-of-4096 does not depend on what else the machine does.
func BenchmarkHoles(b *testing.B) {
	const few, pairs = 4096, 1000
	for _, c := range []struct {
		name        string
		least, most int
	}{{"1KiB", 1 << 10, 1 << 10}, {"32-64KiB", 32 << 10, 64 << 10}} {
		for _, k := range []int{16384, 65536} {
			b.Run(fmt.Sprintf("size=%s/holes=%d", c.name, k), func(b *testing.B) {
				r := rand.New(rand.NewPCG(2, 2))
				sizes := make([]int, pairs) // the same for both
				for i := range sizes {
					sizes[i] = c.least + r.IntN(c.most-c.least+1)
				}
				var s [2]*alloc.Stream
				var keep [2][]alloc.Buffer[byte]
				for i, k := range []int{few, k} {
					s[i] = newStream(b, newPool(b, host.Options{Capacity: 1 << 40}, alloc.Options{Tracker: noSites()}))
					keep[i] = holed(b, s[i], k, c.least, c.most)
				}
				runtime.GC()
				var took [2]time.Duration
				var ratios []float64
				for b.Loop() {
					var turn [2]time.Duration
					for i := range s {
						begin := time.Now()
						for _, n := range sizes {
							pair(b, s[i], n)
						}
						turn[i] = time.Since(begin)
						took[i] += turn[i]
					}
					ratios = append(ratios, float64(turn[1])/float64(turn[0]))
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(took[1])/float64(b.N)/pairs, "ns/pair")
				b.ReportMetric(ask.Median(ratios), "x-of-4096")
				for _, all := range keep {
					for _, x := range all {
						x.Free()
					}
				}
			})
		}
	}
}

// holed fills a stream's memory with pairs of buffers of random sizes and frees every other one, in a random
// order, so that k separated holes are left.
func holed(b *testing.B, s *alloc.Stream, k, least, most int) (keep []alloc.Buffer[byte]) {
	r := rand.New(rand.NewPCG(1, 1))
	var drop []alloc.Buffer[byte]
	for i := range 2 * k {
		x, err := alloc.Make[byte](s, least+r.IntN(most-least+1))
		require.NoError(b, err)
		if i%2 == 0 {
			drop = append(drop, x)
		} else {
			keep = append(keep, x)
		}
	}
	for _, i := range r.Perm(len(drop)) {
		drop[i].Free()
	}
	return keep
}
