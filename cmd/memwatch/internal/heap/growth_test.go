package heap

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGrowth(t *testing.T) {
	of := func(f func(i int64) int64) []int64 {
		var h []int64
		for i := range int64(40) {
			h = append(h, f(i))
		}
		return h
	}
	for name, c := range map[string]struct {
		h    []int64
		want int64
	}{
		"steady":              {of(func(i int64) int64 { return 100 + 10*i }), 10},
		"falls":               {of(func(i int64) int64 { return 1000 - 10*i }), -10},
		"up and down":         {of(func(i int64) int64 { return 100 * (i % 3) }), 0},
		"up and down, rising": {of(func(i int64) int64 { return 90*(i%5) + 10*i }), 10},
		"jumped once":         {of(func(i int64) int64 { return 1000 * (i / 30) }), 0},
		"stopped":             {of(func(i int64) int64 { return min(i, 30) }), 0},
		"began a while ago":   {of(func(i int64) int64 { return max(i, 20) * 10 }), 10},
		"too short":           {[]int64{1, 2, 3, 4, 5, 6, 7}, 0},
		"short":               {[]int64{1, 2, 3, 4, 5, 6, 7, 8}, 1},
		"none":                {nil, 0},
	} {
		r := troughs{ring: ring{at: c.h}}
		require.Equal(t, c.want, r.growth(time.Second), name)
		require.InDelta(t, 2*c.want, r.growth(time.Second/2), 1, name)
	}
}

// TestForecast says when a process that grows has used up its device, and keeps suspects beside the top.
func TestForecast(t *testing.T) {
	h := New(Options{})
	h.Apply(&Event{Op: Start, PID: 1, Size: 1, Text: "trainer"})
	const MiB = 1 << 20
	h.Apply(&Event{Op: Alloc, PID: 1, TID: 1, Addr: 1 << 40, Size: 100 * MiB, Stack: 1})
	for i := range int64(20) {
		at := i * int64(time.Second)
		h.Apply(&Event{Op: Alloc, PID: 1, TID: 1, Time: at, Addr: uint64(1<<41 + i<<30), Size: MiB, Stack: 2})
		h.Apply(&Event{Op: GPU, Time: at, Device: 0, Text: "GPU", Addr: 220 * MiB, Size: 120 * MiB, Aux: 1})
		h.Apply(&Event{Op: Used, PID: 1, Time: at, Device: 0, Size: 120 * MiB})
	}
	p := h.Snapshot(Query{Top: 1, Keep: true}).Processes[0]
	require.Equal(t, int64(MiB), p.Growth)
	require.Equal(t, int64(100*time.Second), p.Full)
	require.Len(t, p.Sites, 2, "the largest, and the suspect")
	require.Equal(t, []int64{0, MiB}, []int64{p.Sites[0].Growth, p.Sites[1].Growth})
	p = h.Snapshot(Query{Top: 1}).Processes[0]
	require.Len(t, p.Sites, 1)
	require.Equal(t, 1, p.Hidden)
	h.Apply(&Event{Op: Exit, PID: 1, Time: int64(21 * time.Second)})
	p = h.Snapshot(Query{}).Processes[0]
	require.Zero(t, p.Growth)
	require.Zero(t, p.Full)
}

// TestRate tells of more than ten gigabytes a second.
func TestRate(t *testing.T) {
	h := New(Options{})
	for i := range int64(20) {
		h.Apply(&Event{Op: Alloc, PID: 1, TID: 1, Time: i * int64(time.Second), Addr: uint64(1<<40 + i<<36), Size: 40 << 30})
	}
	require.Equal(t, int64(40<<30), h.Snapshot(Query{}).Processes[0].Rate)
}

// TestTroughs does not take for growth what goes up and down many times between two samples, which all meet
// it at the top in the end.
func TestTroughs(t *testing.T) {
	h := New(Options{})
	const second = int64(time.Second)
	h.Apply(&Event{Op: Alloc, PID: 1, TID: 1, Addr: 1, Size: 100, Stack: 1})
	for i := range 40 * second / 1e8 {
		at := i * 1e8
		h.Apply(&Event{Op: Alloc, PID: 1, TID: 1, Time: at + 1, Addr: 2, Size: 1000 + uint64(i), Stack: 2})
		if i%10 != 9 || i < 200 { // at the latter samples it is live
			h.Apply(&Event{Op: Free, PID: 1, TID: 1, Time: at + 2, Addr: 2})
			h.Apply(&Event{Op: Alloc, PID: 1, TID: 1, Time: at + 3, Addr: 2, Size: 1000 + uint64(i), Stack: 2})
			h.Apply(&Event{Op: Free, PID: 1, TID: 1, Time: at + 4, Addr: 2})
			continue
		}
		h.Apply(&Event{Op: Free, PID: 1, TID: 1, Time: at + 1e8, Addr: 2})
	}
	p := h.Snapshot(Query{}).Processes[0]
	require.Less(t, p.History[10], p.History[30])
	require.Zero(t, p.Growth)
	for _, s := range p.Sites {
		require.Zero(t, s.Growth)
		require.NotContains(t, s.Suspect, "grows")
	}
}
