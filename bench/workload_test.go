package bench

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

// An event is one step of a workload: a Make of size bytes if that is positive, else
// the Free of what the step number made.
type event struct {
	size   int64
	number int // of the buffer
	stream int
}

// randomAllocations is the workload of RMM's benchmark random_allocations: n buffers of up to
// maxMiB MiB, made and freed at random, 16,000 MiB live at most. Its parameters are RMM's,
// its random numbers are not.
func randomAllocations(n int, maxMiB int64, streams int) []event {
	const most = 16_000 << 20
	r := rand.New(rand.NewPCG(1, uint64(n)))
	var events []event
	var live []int
	sizes := make([]int64, 0, n)
	inUse := int64(0)
	for len(sizes) < n || len(live) > 0 {
		size := 1 + r.Int64N(maxMiB<<20)
		grow := len(live) == 0 || r.IntN(100) < 73
		if grow && len(sizes) < n && inUse+size < most {
			number := len(sizes)
			sizes = append(sizes, size)
			live = append(live, number)
			inUse += size
			events = append(events, event{size: size, number: number, stream: number % streams})
			continue
		}
		if len(live) == 0 {
			continue
		}
		i := r.IntN(len(live))
		number := live[i]
		live[i] = live[len(live)-1]
		live = live[:len(live)-1]
		inUse -= sizes[number]
		events = append(events, event{number: number, stream: number % streams})
	}
	return events
}

// peak returns the largest number of bytes asked for and not freed.
func peak(events []event) int64 {
	sizes := make(map[int]int64)
	var now, most int64
	for _, e := range events {
		if e.size > 0 {
			sizes[e.number] = e.size
			now += e.size
		} else {
			now -= sizes[e.number]
		}
		most = max(most, now)
	}
	return most
}

// buffers returns how many buffers a workload makes.
func buffers(events []event) int {
	n := 0
	for _, e := range events {
		n = max(n, e.number+1)
	}
	return n
}

// replay runs a workload on streams.
func replay(tb testing.TB, events []event, streams []*alloc.Stream, held []alloc.Buffer[byte]) {
	for _, e := range events {
		if e.size == 0 {
			held[e.number].Free()
			continue
		}
		b, err := alloc.Make[byte](streams[e.stream], int(e.size))
		if err != nil {
			tb.Fatal(err)
		}
		held[e.number] = b
	}
}

// overhead replays a workload on a new pool and returns the pool's figures and the most it
// reserved, as a multiple of the most that was asked for.
func overhead(tb testing.TB, events []event, granule int64, streams int, g alloc.Growth) (
	alloc.Stats, float64,
) {
	p, all := simPool(tb, granule, streams, g)
	held := make([]alloc.Buffer[byte], buffers(events))
	replay(tb, events, all, held)
	if b, is := tb.(*testing.B); is {
		b.StopTimer()
		defer b.StartTimer()
	}
	require.NoError(tb, p.Check())
	st := p.Stats()
	require.Zero(tb, st.Live)
	require.NoError(tb, p.Close())
	return st, float64(st.PeakReserved) / float64(peak(events))
}

// minimalloc reads the allocator problems of google/minimalloc as workloads, one unit of size
// being 4 KiB. At equal times what ends comes before what begins.
func minimalloc(tb testing.TB) map[string][]event {
	files, err := filepath.Glob("data/minimalloc/*.csv")
	require.NoError(tb, err)
	require.NotEmpty(tb, files)
	all := make(map[string][]event)
	for _, name := range files {
		f, err := os.Open(name)
		require.NoError(tb, err)
		rows, err := csv.NewReader(f).ReadAll()
		f.Close()
		require.NoError(tb, err)
		type moment struct {
			at int64
			event
		}
		var moments []moment
		for i, row := range rows[1:] {
			var x [4]int64
			for j := range x {
				x[j], err = strconv.ParseInt(row[j], 10, 64)
				require.NoError(tb, err)
			}
			moments = append(moments,
				moment{x[1], event{size: x[3] * 4096, number: i}},
				moment{x[2], event{number: i}})
		}
		slices.SortStableFunc(moments, func(a, b moment) int {
			if a.at != b.at {
				return int(a.at - b.at)
			}
			return int(min(a.size, 1) - min(b.size, 1))
		})
		events := make([]event, len(moments))
		for i, m := range moments {
			events[i] = m.event
		}
		all[strings.SplitN(filepath.Base(name), ".", 2)[0]] = events
	}
	return all
}

const granule = 2 << 20

// BenchmarkRandomAllocations reports how much is reserved for RMM's workload, and how many
// calls of the device that takes. Time is per Make or Free.
func BenchmarkRandomAllocations(b *testing.B) {
	for _, streams := range []int{1, 8} {
		for _, n := range []int{1_000, 10_000, 100_000} {
			for _, m := range []int64{1, 4, 64, 1024} {
				for _, g := range []int64{granule, 0} {
					b.Run(fmt.Sprintf("streams=%d/n=%d/max=%dMiB/mapping=%v", streams, n, m, g > 0), func(b *testing.B) {
						events := randomAllocations(n, m, streams)
						var st alloc.Stats
						var ratio float64
						for b.Loop() {
							st, ratio = overhead(b, events, g, streams, alloc.Balanced)
						}
						b.ReportMetric(ratio, "reserved/requested")
						b.ReportMetric(float64(st.DeviceCalls), "devicecalls")
						b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(events)), "ns/step")
					})
				}
			}
		}
	}
}

// arena returns the least size of one segment, as a multiple of the most that was asked for,
// in which a pool on a device that does not map can run a workload: what has to be
// given to it beforehand. It tries steps of 1 %.
func arena(tb testing.TB, events []event) float64 {
	most, n := peak(events), buffers(events)
	for percent := int64(100); ; percent++ {
		size := (most*percent/100 + 511) &^ 511
		p, err := alloc.NewPool(newSim(0), alloc.Options{Limit: size, Segment: size, CollectWait: 1})
		require.NoError(tb, err)
		held := make([]alloc.Buffer[byte], n)
		fits := true
		for _, e := range events {
			if e.size == 0 {
				held[e.number].Free()
			} else if held[e.number], err = alloc.Make[byte](p.DefaultStream(), int(e.size)); err != nil {
				fits = false
				break
			}
		}
		if fits {
			return float64(p.Stats().PeakReserved) / float64(most)
		}
	}
}

// BenchmarkMiniMallocArena reports how large one segment must be for each problem of MiniMalloc.
func BenchmarkMiniMallocArena(b *testing.B) {
	problems := minimalloc(b)
	for name := 'A'; name <= 'K'; name++ {
		b.Run(fmt.Sprintf("problem=%c", name), func(b *testing.B) {
			ratio := 0.0
			for b.Loop() {
				ratio = arena(b, problems[string(name)])
			}
			b.ReportMetric(ratio, "reserved/requested")
		})
	}
}

// BenchmarkMiniMalloc reports the same for the problems of MiniMalloc.
func BenchmarkMiniMalloc(b *testing.B) {
	problems := minimalloc(b)
	for name := 'A'; name <= 'K'; name++ {
		for _, g := range []int64{granule, 0} {
			b.Run(fmt.Sprintf("problem=%c/mapping=%v", name, g > 0), func(b *testing.B) {
				events := problems[string(name)]
				var st alloc.Stats
				var ratio float64
				for b.Loop() {
					st, ratio = overhead(b, events, g, 1, alloc.Balanced)
				}
				b.ReportMetric(ratio, "reserved/requested")
				b.ReportMetric(float64(st.DeviceCalls), "devicecalls")
			})
		}
	}
}
