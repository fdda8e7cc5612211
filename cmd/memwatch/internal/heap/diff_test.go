package heap

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDiff compares a run with itself later, and two runs of a program.
func TestDiff(t *testing.T) {
	f := func(name string, line int) []Frame { return []Frame{{Func: name, File: name + ".go", Line: line}} }
	s := func(stack uint64, live, objects int64, frames []Frame) Site {
		return Site{Stack: stack, Class: "device", Own: true, Frames: frames, Tally: Tally{Live: live, Objects: objects}}
	}
	before := &Snapshot{Processes: []Process{
		{PID: 7, Start: 1, Name: "trainer", Live: 30, Objects: 3, Sites: []Site{s(1, 10, 1, f("load", 3)), s(2, 20, 2, f("cache", 9))}},
		{PID: 8, Start: 1, Name: "old", Live: 5, Objects: 1},
		{PID: 10, Start: 5, Name: "worker", Live: 100, Objects: 1, Sites: []Site{s(5, 100, 1, f("w", 1))}},
		{PID: 11, Start: 5, Name: "worker", Live: 100, Objects: 1, Sites: []Site{s(5, 100, 1, f("w", 1))}},
	}}
	after := &Snapshot{Processes: []Process{
		{PID: 7, Start: 1, Name: "trainer", Live: 95, Objects: 9, Hidden: 2, Sites: []Site{
			s(11, 5, 1, f("load", 3)), s(12, 80, 7, f("cache", 9)), s(13, 10, 1, f("cache", 10)),
			{Stack: 14, Class: "pool", Frames: f("none", 1)},
		}},
		{PID: 20, Start: 9, Name: "worker", Exited: true, Inexact: true, AtExit: 150, AtExitObjects: 2,
			Sites: []Site{{Stack: 3, Class: "device", Own: true, Frames: f("w", 1), AtExitBytes: 150, AtExitObjects: 2}}},
	}}
	d := Diff(before, after)
	require.Equal(t, []int64{235, 245, 65}, []int64{d.Before, d.After, d.Grown})
	require.True(t, d.Inexact)
	require.Len(t, d.Processes, 3)
	p := d.Processes[0]
	require.Equal(t, "trainer", p.Name)
	require.Equal(t, []uint32{7}, p.PIDs)
	require.Equal(t, []Level{{30, 3}, {95, 9}}, []Level{p.Before, p.After})
	require.Equal(t, 2, p.Hidden)
	require.Len(t, p.Sites, 3, "what did not change is left out")
	require.Equal(t, []int64{60, 10, -5}, []int64{p.Sites[0].Grown(), p.Sites[1].Grown(), p.Sites[2].Grown()})
	require.Equal(t, uint64(12), p.Sites[0].Stack, "as it is now")
	require.Equal(t, "old", d.Processes[1].Name)
	require.Equal(t, Level{}, d.Processes[1].After)
	w := d.Processes[2]
	require.Equal(t, []uint32{10, 11, 20}, w.PIDs, "another run, by name")
	require.Equal(t, []Level{{200, 2}, {150, 2}}, []Level{w.Before, w.After})
	require.Len(t, w.Sites, 1)

	same := Diff(before, before)
	require.Zero(t, same.Grown)
	for _, p := range same.Processes {
		require.Empty(t, p.Sites, p.Name)
	}
	require.Len(t, same.Processes, 4, "two of a name are not mixed up where they are the same")
	require.Empty(t, Diff(&Snapshot{}, &Snapshot{}).Processes)

	// Without names addresses tell sites apart, and without frames their numbers.
	a := &Snapshot{Processes: []Process{{Sites: []Site{s(1, 1, 1, []Frame{{PC: 1}}), s(2, 1, 1, []Frame{{PC: 2}}), s(3, 1, 1, nil), s(4, 1, 1, nil)}}}}
	require.Len(t, Diff(a, &Snapshot{Processes: []Process{{}}}).Processes[0].Sites, 4)
}
