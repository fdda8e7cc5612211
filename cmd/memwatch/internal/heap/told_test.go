package heap

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// telling returns what a process says of a site: bytes of one byte each, made and live.
func telling(at time.Duration, made, live uint64) *Event {
	return &Event{Op: Told, PID: 1, Time: int64(at), Class: Buffer, Stack: 9, Addr: made, Size: live, Aux: made, Ctx: live, Begin: int64(at)}
}

// TestToldOlder asks what of a site that allocates all the time is old.
func TestToldOlder(t *testing.T) {
	old := func(h *Heap, older time.Duration) (least, most int64) {
		for _, s := range h.Snapshot(Query{Older: older}).Processes[0].Sites {
			least, most = s.OldBytes, s.OldAtMost
		}
		return least, most
	}
	h := New(Options{})
	h.Apply(&Event{Op: Start, PID: 1, Size: 1, Time: 1})
	h.Apply(telling(time.Second, 1000, 1000))
	least, most := old(h, time.Minute)
	require.Equal(t, [2]int64{0, 1000}, [2]int64{least, most}, "nothing is known of the time before")
	for s := 2; s <= 600; s++ { // it leaks one byte a second, and makes and frees nine
		h.Apply(telling(time.Duration(s)*time.Second, 1000+uint64(10*s), 1000+uint64(s)))
	}
	least, most = old(h, time.Minute)
	require.LessOrEqual(t, least, int64(1540), "what was there a minute ago, at most")
	require.GreaterOrEqual(t, least, int64(800), "and was not freed: 540 may have been, and the time is known to a quarter")
	require.LessOrEqual(t, most, int64(1540))
	require.GreaterOrEqual(t, most, int64(1500))
	least, most = old(h, time.Hour)
	require.Equal(t, [2]int64{0, 1600}, [2]int64{least, most})
	h.Advance(int64(2 * time.Hour))
	least, most = old(h, time.Hour)
	require.Equal(t, [2]int64{1600, 1600}, [2]int64{least, most}, "its latest is older than that")
	for _, s := range h.procs[1].sites {
		require.LessOrEqual(t, len(s.past.at), maxPast)
	}
}

// TestToldNeverFreed looks late at a program that made much and makes a little now.
func TestToldNeverFreed(t *testing.T) {
	h := New(Options{})
	h.Apply(telling(time.Second, 5000, 5000))
	why := func() []string { return h.Snapshot(Query{}).Processes[0].Sites[0].Suspect }
	h.Advance(int64(time.Minute))
	require.Empty(t, why(), "it makes no more")
	h.Apply(telling(61*time.Second, 5003, 5003))
	require.Equal(t, []string{"never freed: 3 allocations in 1m0s"}, why())
}

// TestToldRate closes one of two pools: what the process ever asked for becomes less, what it asks for in a
// second does not.
func TestToldRate(t *testing.T) {
	h := New(Options{})
	for s := range 10 {
		made := uint64(1000 * (s + 1))
		if s >= 8 { // the other has made 7500 of it
			made -= 7500
		}
		e := telling(time.Duration(s)*time.Second, made, 10)
		e.Stack = 0
		h.Apply(e)
	}
	h.Advance(int64(10 * time.Second))
	require.Equal(t, int64(4*1000/5), h.Snapshot(Query{}).Processes[0].Rate)
}
