package alloc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/bench/trace"
)

// A trace that one goroutine replays calls no device from the third replay on, where the limit is half as
// much again as its peak: what the first replays have left idle serves, in whatever order it was freed.
func TestSteady(t *testing.T) {
	for _, n := range []int{1000, 10000} {
		for _, most := range []int64{1, 64, 256, 1024} {
			for _, growth := range []alloc.Growth{alloc.Balanced, alloc.Fast} {
				t.Run(fmt.Sprintf("%d/%dMiB/%d", n, most, growth), func(t *testing.T) {
					r := trace.Random(n, most)
					peak := r.Peak()
					dev, err := host.Open(host.Options{Capacity: 1 << 40, Granularity: 4 << 20})
					require.NoError(t, err)
					p, err := alloc.NewPool(dev, alloc.Options{Growth: growth, Limit: peak / 2 * 3})
					require.NoError(t, err)
					s := p.DefaultStream()
					live := make([]alloc.Buffer[byte], r.Places)
					var calls []int64
					for range 6 {
						before := p.Stats().DeviceCalls
						for _, step := range r.All {
							live[step.Place].Free()
							if step.Size >= 0 {
								live[step.Place], err = alloc.Make[byte](s, int(step.Size))
								require.NoError(t, err)
							}
						}
						for _, b := range live {
							b.Free()
						}
						calls = append(calls, p.Stats().DeviceCalls-before)
					}
					require.Equal(t, make([]int64, 4), calls[2:], "of %d", calls)
					require.LessOrEqual(t, float64(p.Stats().PeakReserved)/float64(peak), 1.45)
					require.NoError(t, p.Close())
				})
			}
		}
	}
}
