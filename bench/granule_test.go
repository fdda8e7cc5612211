package bench

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/bench/trace"
)

// recorded returns the traces of data/traces as workloads, by name, and how many streams each has.
func recorded(tb testing.TB) (all map[string][]event, streams map[string]int) {
	files, err := filepath.Glob("data/traces/*.trace.gz")
	require.NoError(tb, err)
	require.NotEmpty(tb, files)
	all, streams = map[string][]event{}, map[string]int{}
	for _, file := range files {
		t, err := trace.Open(file)
		require.NoError(tb, err)
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		steps, places := t.Steps()
		at := make([]int, places) // which buffer is there
		n := 0
		var events []event
		for _, s := range steps {
			switch {
			case s.Size > 0:
				at[s.Place] = n
				events = append(events, event{size: s.Size, number: n, stream: int(s.Stream)})
				n++
			case s.Size == 0:
				at[s.Place] = -1 // an event of no size means a free here
			case at[s.Place] >= 0:
				events = append(events, event{number: at[s.Place], stream: int(s.Stream)})
			}
		}
		all[name], streams[name] = events, t.Streams()
	}
	return all, streams
}

// onGranules runs a workload on a device with granules of so many bytes and a capacity, and reports whether it came to its end.
func onGranules(tb testing.TB, events []event, streams int, granule, capacity int64) (d *sim, st alloc.Stats, whole bool) {
	d = newSim(granule)
	d.capacity = capacity
	p, err := alloc.NewPool(d, alloc.Options{CollectWait: 1})
	require.NoError(tb, err)
	all := make([]*alloc.Stream, streams)
	for i := range all {
		all[i], err = p.NewStream()
		require.NoError(tb, err)
	}
	held := make([]alloc.Buffer[byte], buffers(events))
	whole = true
	for _, e := range events {
		if e.size == 0 {
			held[e.number].Free()
			continue
		}
		if held[e.number], err = alloc.Make[byte](all[e.stream], int(e.size)); err != nil {
			require.True(tb, errors.Is(err, alloc.ErrOutOfMemory), "%v", err)
			whole = false
			break
		}
	}
	for i := range held {
		held[i].Free()
	}
	require.NoError(tb, p.Check())
	st = p.Stats()
	require.NoError(tb, p.Close())
	return d, st, whole
}

// BenchmarkGranules reports what each workload reserves on a device with small granules and on one with those of alloc/cuda, how
// many granules are mapped and moved for it, and the least capacity with which a recorded program comes to its
// end, in steps of 1 % of what it asks for at most.
func BenchmarkGranules(b *testing.B) {
	type workload struct {
		name    string
		events  []event
		streams int
		limit   bool
	}
	var all []workload
	traces, streams := recorded(b)
	for _, name := range []string{"infer", "lora", "train"} {
		all = append(all, workload{name, traces[name], streams[name], true})
	}
	for _, s := range []int{1, 8} {
		for _, n := range []int{1_000, 10_000} {
			for _, m := range []int64{4, 64, 1024} {
				all = append(all, workload{fmt.Sprintf("random-%d-%dMiB-%dstreams", n, m, s), randomAllocations(n, m, s), s, false})
			}
		}
	}
	problems := minimalloc(b)
	for name := 'A'; name <= 'K'; name++ {
		all = append(all, workload{"minimalloc-" + string(name), problems[string(name)], 1, false})
	}
	for _, w := range all {
		for _, g := range []int64{2, 8, 32} {
			b.Run(fmt.Sprintf("workload=%s/granule=%dMiB", w.name, g), func(b *testing.B) {
				most := peak(w.events)
				var d *sim
				var st alloc.Stats
				for b.Loop() {
					d, st, _ = onGranules(b, w.events, w.streams, g<<20, simCapacity)
				}
				b.ReportMetric(float64(st.PeakReserved)/float64(most), "reserved/requested")
				b.ReportMetric(float64(d.mapped.Load()/(g<<20)), "mapped")
				b.ReportMetric(float64(d.moved.Load()/(g<<20)), "moved")
				if !w.limit {
					return
				}
				for percent := int64(100); ; percent++ {
					if _, _, whole := onGranules(b, w.events, w.streams, g<<20, most*percent/100&^(2<<20-1)); whole {
						b.ReportMetric(float64(percent)/100, "least-capacity")
						break
					}
				}
			})
		}
	}
}
