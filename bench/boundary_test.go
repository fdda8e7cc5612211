package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

// churn is a workload that holds live buffers at all times, of sizes between least and most that are
// spread evenly over the doublings, and replaces one of them, at random, in each step.
func churn(live, steps int, least, most int64) []event {
	r := rand.New(rand.NewPCG(3, uint64(most)))
	size := func() int64 {
		return int64(float64(least) * math.Pow(float64(most)/float64(least), r.Float64()))
	}
	var events []event
	held := make([]int, live)
	for i := range live {
		events = append(events, event{size: size(), number: i})
		held[i] = i
	}
	for i := range steps {
		at := r.IntN(live)
		events = append(events, event{number: held[at]})
		held[at] = live + i
		events = append(events, event{size: size(), number: held[at]})
	}
	for _, n := range held {
		events = append(events, event{number: n})
	}
	return events
}

// BenchmarkBoundary is what the boundary between small and large blocks was chosen by: sizes on
// both sides of it, come and gone at random, on a warm pool. go run ./bench/boundary runs it for one
// boundary after the other.
func BenchmarkBoundary(b *testing.B) {
	const live, steps = 16384, 50_000
	for _, most := range []int64{64 << 10, 512 << 10, 4 << 20} {
		for _, g := range []int64{granule, 0} {
			b.Run(fmt.Sprintf("sizes=512B-%dKiB/mapping=%v", most>>10, g > 0), func(b *testing.B) {
				events := churn(live, steps, 512, most)
				_, ratio := overhead(b, events, g, 1, alloc.Balanced)
				p, s := plainPool(b, g, 0, 1)
				held := make([]alloc.Buffer[byte], buffers(events))
				replay(b, events, s, held)
				begin := cpuTime()
				for b.Loop() {
					replay(b, events, s, held)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(cpuTime()-begin)/float64(b.N)/float64(len(events)), "ns/step")
				b.ReportMetric(ratio, "reserved/requested")
				require.NoError(b, p.Close())
			})
		}
	}
}
