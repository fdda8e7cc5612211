package heap

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = int64(time.Millisecond)

// TestTimeline allocates and frees: the timeline tells from when to when, leaves out what is short or small,
// and takes back what was undone.
func TestTimeline(t *testing.T) {
	h := New(Options{})
	at := int64(0)
	do := func(op Op, addr, size, stack uint64) {
		h.Apply(&Event{Op: op, PID: 1, TID: 1, Time: at, Addr: addr, Size: size, Stack: stack})
	}
	at = 1 * ms
	h.Apply(&Event{Op: Start, PID: 1, Time: at, Text: "prog", Size: 7})
	do(Alloc, 0x1000, 1<<20, 1)
	do(Alloc, 0x2000, 512, 1) // less than a thousandth
	do(Alloc, 0x3000, 2<<20, 2)
	at = 50 * ms
	do(Alloc, 0x4000, 1<<20, 3)
	do(Free, 0x3000, 0, 0) // after 49 ms
	at = 200 * ms
	do(Free, 0x4000, 0, 0)
	at = 201 * ms
	do(Free, 0x1000, 0, 0)
	do(Undo, 0x1000, 0, 0) // which failed
	at = 300 * ms
	do(Alloc, 0x3000, 1<<20, 2)
	got := h.Timeline(1, 7, 0, 100)
	require.Equal(t, at, got.Time)
	require.Zero(t, got.Since)
	require.Zero(t, got.Left)
	require.Equal(t, []Life{
		{Site: 0, Addr: 0x1000, Size: 1 << 20, Linear: true, Begin: 1 * ms},
		{Site: 1, Addr: 0x4000, Size: 1 << 20, Linear: true, Begin: 50 * ms, End: 200 * ms},
		{Site: 2, Addr: 0x3000, Size: 1 << 20, Linear: true, Begin: 300 * ms},
	}, got.Lives)
	require.Len(t, got.Sites, 3)
	require.Equal(t, uint64(3), got.Sites[1].Stack)

	require.Len(t, h.Timeline(1, 7, 250*ms, 100).Lives, 2, "what ended before")
	few := h.Timeline(1, 7, 0, 2)
	require.Equal(t, 1, few.Left)
	require.Equal(t, []uint64{0x1000, 0x4000}, []uint64{few.Lives[0].Addr, few.Lives[1].Addr}, "what covers most")
	require.Nil(t, h.Timeline(1, 8, 0, 100), "another program of that number")
	require.Nil(t, h.Timeline(2, 7, 0, 100))

	at = 500 * ms
	h.Apply(&Event{Op: Exit, PID: 1, Time: at, Size: 7})
	got = h.Timeline(1, 7, 0, 100)
	require.Len(t, got.Lives, 3)
	for _, l := range got.Lives {
		require.NotZero(t, l.End)
	}
}

// TestTimelineIsBounded frees more than is kept: the latest stay, and it is said since when none is missing.
func TestTimelineIsBounded(t *testing.T) {
	h := New(Options{})
	const n = 3 * maxLives
	for i := range uint64(n + 200) {
		at := int64(i) * ms
		if i < n {
			h.Apply(&Event{Op: Alloc, PID: 1, TID: 1, Time: at, Addr: i + 1, Size: 100, Stack: 1})
		}
		if i >= 200 { // each lives for 200 ms
			h.Apply(&Event{Op: Free, PID: 1, TID: 1, Time: at, Addr: i - 199})
		}
	}
	got := h.Timeline(1, 0, 0, n)
	require.Len(t, got.Lives, maxLives)
	require.Equal(t, (n-maxLives+199)*ms, got.Since)
	require.Equal(t, (n-maxLives)*ms, got.Lives[0].Begin)
	require.Len(t, h.procs[1].lives.all, maxLives)
}
