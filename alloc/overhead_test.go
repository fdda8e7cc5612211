package alloc_test

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/bench/trace"
)

// overhead plays steps on a new pool and returns the most it reserved, as a multiple of the most that was
// asked for.
func overhead(t *testing.T, steps *trace.Steps, streams int, o alloc.Options) float64 {
	dev, err := host.Open(host.Options{Capacity: 1 << 40}) // nothing touches it, so it costs nothing
	require.NoError(t, err)
	p, err := alloc.NewPool(dev, o)
	require.NoError(t, err)
	all := make([]*alloc.Stream, streams)
	for i := range all {
		all[i], err = p.NewStream()
		require.NoError(t, err)
	}
	r, err := steps.Player(p, all).Play(1)
	require.NoError(t, err)
	require.Zero(t, r.Failures)
	require.NoError(t, p.Check())
	require.Zero(t, r.Stats.Live)
	require.NoError(t, p.Close())
	return float64(r.Stats.PeakReserved) / float64(steps.Peak())
}

// TestOverhead holds Tight to the ratios that it promises: RMM's random_allocations, on one stream and with
// buffers spread over eight, and the allocator problems of google/minimalloc.
func TestOverhead(t *testing.T) {
	for _, c := range []struct {
		mostMiB int64
		streams int32
		most    float64
	}{{1, 1, 1.15}, {4, 1, 1.05}, {64, 1, 1.05}, {1024, 1, 1.05}, {4, 8, 1.10}, {64, 8, 1.10}, {1024, 8, 1.10}} {
		r := trace.Random(1000, c.mostMiB)
		home := make([]int32, r.Places)
		for i := range r.All {
			s := &r.All[i]
			if s.Size >= 0 {
				home[s.Place] = int32(i) % c.streams
			}
			s.Stream = home[s.Place]
		}
		ratio := overhead(t, r, int(c.streams), alloc.Options{Growth: alloc.Tight})
		require.LessOrEqual(t, ratio, c.most, "%+v", c)
	}
	files, err := filepath.Glob("../bench/data/minimalloc/*.csv")
	require.NoError(t, err)
	require.Len(t, files, 11)
	for _, name := range files {
		ratio := overhead(t, problem(t, name), 1, alloc.Options{Growth: alloc.Tight})
		require.LessOrEqual(t, ratio, 1.05, name)
	}
}

// problem reads one of minimalloc's, one unit of size being 4 KiB. At equal times what ends comes before what
// begins.
func problem(t *testing.T, name string) *trace.Steps {
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	type moment struct {
		at int64
		trace.Event
	}
	var moments []moment
	for i, row := range rows[1:] {
		var x [4]int64 // name, begin, end, size
		for j := range x {
			x[j], err = strconv.ParseInt(row[j], 10, 64)
			require.NoError(t, err, fmt.Sprint(name, " row ", i))
		}
		made := trace.Event{Ptr: uint64(i) + 1, Size: x[3] * 4096}
		freed := trace.Event{Ptr: made.Ptr, Free: true}
		moments = append(moments, moment{x[1], made}, moment{x[2], freed})
	}
	slices.SortStableFunc(moments, func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.Size, b.Size))
	})
	tr := &trace.Trace{}
	for _, m := range moments {
		tr.Events = append(tr.Events, m.Event)
	}
	return tr.Steps()
}
