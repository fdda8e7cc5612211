package heap

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestLogs replays each log in testdata and compares the heap with the table
// beside it. A line "show" in a log shows the heap at that point.
func TestLogs(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			require.NoError(t, err)
			require.Len(t, a.Files, 2)
			h := New(Options{Allocations: 100, Sites: 20, Stacks: 20, Processes: 4, Exited: 2})
			var out strings.Builder
			for i, line := range strings.Split(string(a.Files[0].Data), "\n") {
				line = strings.TrimSpace(line)
				switch {
				case line == "" || strings.HasPrefix(line, "#"):
				case line == "show":
					show(&out, h.Snapshot(Query{}))
				default:
					e, err := ParseEvent(line)
					require.NoError(t, err, "line %d", i+1)
					h.Apply(e)
					require.NoError(t, h.check(), "after line %d: %s", i+1, line)
				}
			}
			if *update {
				a.Files[1].Data = []byte(out.String())
				require.NoError(t, os.WriteFile(file, txtar.Format(a), 0o644))
				return
			}
			require.Equal(t, string(a.Files[1].Data), out.String())
		})
	}
}

// show prints what a golden file compares: all that is not zero.
func show(w *strings.Builder, s *Snapshot) {
	fmt.Fprintf(w, "at %s events=%d lost=%d\n", seconds(s.Time), s.Events, s.Lost)
	nonzero := func(name string, v any) {
		if z := fmt.Sprint(v); z != "0" && z != "false" && z != "{0 0}" && z != "[]" && z != "{0 0 0 0 0}" {
			fmt.Fprintf(w, " %s=%s", name, z)
		}
	}
	for _, p := range s.Processes {
		fmt.Fprintf(w, "%d %s live=%d", p.PID, p.Name, p.Live)
		nonzero("exited", p.Exited)
		nonzero("joined", p.Joined)
		nonzero("notes", p.Notes)
		nonzero("inexact", p.Inexact)
		nonzero("peak", p.Peak)
		nonzero("atexit", p.AtExit)
		nonzero("atexitobjects", p.AtExitObjects)
		nonzero("mapped", p.Mapped)
		nonzero("devices", p.Devices)
		nonzero("explicit", p.Explicit)
		nonzero("late", p.ByNet)
		nonzero("context", p.Context)
		nonzero("exit", p.Exit)
		nonzero("unseen", p.Unseen)
		nonzero("failures", p.Failures)
		nonzero("undone", p.Undone)
		nonzero("unknown", p.Unknown)
		nonzero("dropped", p.Dropped)
		nonzero("lost", p.Lost)
		nonzero("kernel", p.Kernel)
		w.WriteString("\n")
		if p.OOM != nil {
			fmt.Fprintf(w, "  out of memory in %s: asked %d of %d live, %d sites\n", p.OOM.Function, p.OOM.Asked, p.OOM.Live, len(p.OOM.Sites))
		}
		for _, c := range p.Classes {
			fmt.Fprintf(w, "  %s live=%d objects=%d\n", c.Class, c.Live, c.Objects)
		}
		for _, t := range p.Sites {
			if t.Stack == 0 {
				continue
			}
			fmt.Fprintf(w, "  site %#x %s live=%d/%d of %d/%d", t.Stack, t.Class, t.Live, t.Objects, t.AllocBytes, t.AllocObjects)
			nonzero("oldest", time.Duration(t.Oldest))
			nonzero("exit", t.AtExitBytes)
			w.WriteString("\n")
			for _, f := range t.Frames {
				fmt.Fprintf(w, "    %s %s:%d\n", f.Func, f.File, f.Line)
			}
			for _, why := range t.Suspect {
				fmt.Fprintf(w, "    suspect: %s\n", why)
			}
		}
	}
}

func TestQuery(t *testing.T) {
	h := New(Options{})
	for i := range uint64(10) {
		h.Apply(&Event{Op: Alloc, PID: 1 + uint32(i%2), Time: int64(i) * 1e9, Addr: i + 1, Size: 100 * (i + 1), Stack: i + 1})
	}
	require.Len(t, h.Snapshot(Query{}).Processes, 2)
	require.Len(t, h.Snapshot(Query{PIDs: []uint32{2}}).Processes, 1)
	p := h.Snapshot(Query{Top: 2}).Processes[0]
	require.Equal(t, 3, p.Hidden)
	require.Equal(t, []int64{1000, 800}, []int64{p.Sites[0].Live, p.Sites[1].Live}, "the largest first")
	require.Empty(t, h.Snapshot(Query{NoSites: true}).Processes[0].Sites)
	var old int64
	for _, p := range h.Snapshot(Query{Older: 5 * time.Second}).Processes {
		for _, s := range p.Sites {
			old += s.OldBytes
		}
	}
	require.Equal(t, int64(100+200+300+400+500), old, "made at 0 to 4 of 9 seconds")
}

func TestSnapshotIsACopy(t *testing.T) {
	h := New(Options{})
	h.Apply(&Event{Op: Alloc, PID: 1, Time: 1, Addr: 1, Size: 10, Stack: 1})
	h.Advance(10e9)
	s := h.Snapshot(Query{})
	before := fmt.Sprintf("%+v", s)
	for i := range uint64(100) {
		h.Apply(&Event{Op: Alloc, PID: 1, Time: int64(i)*1e9 + 20e9, Addr: i + 1, Size: 10, Stack: 1})
	}
	require.Equal(t, before, fmt.Sprintf("%+v", s))
}

// TestBounds floods a heap with more of everything than it may keep.
func TestBounds(t *testing.T) {
	h := New(Options{Allocations: 8, Sites: 4, Stacks: 4, Processes: 2, Exited: 2})
	for i := range uint64(1000) {
		pid := uint32(1 + i%5)
		h.Apply(&Event{Op: Stack, PID: pid, Stack: i + 1, Frames: []Frame{{Func: "f"}}})
		h.Apply(&Event{Op: Alloc, PID: pid, TID: uint32(i), Time: int64(i), Addr: i + 1, Size: 1 << (i % 64), Stack: i + 1})
		h.Apply(&Event{Op: Lost, PID: pid, Size: 1, Text: fmt.Sprint(i)})
		require.NoError(t, h.check())
	}
	s := h.Snapshot(Query{})
	require.Len(t, s.Processes, 2)
	require.NotZero(t, s.Untracked)
	for _, p := range s.Processes {
		require.True(t, p.Inexact)
		require.NotZero(t, p.Dropped)
		require.LessOrEqual(t, len(p.Lost), 17)
		require.LessOrEqual(t, len(p.Sites), 4)
	}
	for i := range uint32(5) {
		h.Apply(&Event{Op: Exit, PID: i + 1})
		h.Apply(&Event{Op: Start, PID: i + 10, Size: 1})
	}
	require.LessOrEqual(t, len(h.Snapshot(Query{}).Processes), 4)
}

func TestBadEvents(t *testing.T) {
	h := New(Options{})
	for _, e := range []Event{{}, {Op: opEnd}, {Op: Alloc, Class: NumClasses}, {Op: Alloc, Space: numSpaces}, {Op: Alloc, Owner: numOwners}} {
		e.PID = 1
		h.Apply(&e)
	}
	s := h.Snapshot(Query{})
	require.Equal(t, uint64(5), s.Bad)
	require.Empty(t, s.Processes)
}

func TestSuspects(t *testing.T) {
	const second = int64(time.Second)
	run := func(step func(h *Heap, i uint64)) []string {
		h := New(Options{})
		for i := range uint64(60) {
			step(h, i)
			h.Advance(int64(i+1) * second)
		}
		return h.Snapshot(Query{}).Processes[0].Sites[0].Suspect
	}
	alloc := func(h *Heap, i, addr uint64) {
		h.Apply(&Event{Op: Alloc, PID: 1, Time: int64(i) * second, Addr: addr, Size: 100, Stack: 1})
	}
	free := func(h *Heap, i, addr uint64) {
		h.Apply(&Event{Op: Free, PID: 1, Time: int64(i)*second + second/2, Addr: addr})
	}
	t.Run("never freed", func(t *testing.T) {
		why := strings.Join(run(func(h *Heap, i uint64) { alloc(h, i, i+1) }), "; ")
		require.Contains(t, why, "never freed: 60 allocations in 59s")
		require.Contains(t, why, "grows: ")
	})
	t.Run("made once and kept", func(t *testing.T) {
		require.Empty(t, run(func(h *Heap, i uint64) {
			if i < 10 {
				alloc(h, 0, i+1)
			}
		}))
	})
	t.Run("up and down", func(t *testing.T) {
		require.Empty(t, run(func(h *Heap, i uint64) {
			alloc(h, i, i%10+1)
			if i%10 == 9 {
				for a := range uint64(10) {
					free(h, i, a+1)
				}
			}
		}))
	})
	t.Run("one is kept", func(t *testing.T) {
		require.Empty(t, run(func(h *Heap, i uint64) {
			alloc(h, i, 1000)
			if i < 1 {
				alloc(h, i, i+1)
			}
			free(h, i, 1000)
		}))
	})
	t.Run("some are forgotten", func(t *testing.T) {
		why := run(func(h *Heap, i uint64) {
			alloc(h, i, 1000)
			if i < 5 {
				alloc(h, i, i+1)
			}
			free(h, i, 1000)
		})
		require.Len(t, why, 1)
		require.Contains(t, why[0], "old: 5 of 5 are older than")
	})
}

func TestTextRoundTrip(t *testing.T) {
	e := Event{
		Op: Stack, Class: Buffer, Space: External, Owner: ByDevice, PID: 1, TID: 2, Device: -1, Code: -5,
		Time: 1234567890, Begin: 3, Addr: 1, Size: 2, Aux: 3, Ctx: 4, Stream: 5, Pool: 6, Stack: 7, Goroutine: 8,
		Text: "a \"b\"\n\u202e", Frames: []Frame{{PC: 1, Func: "main.(*T).f", File: "/a b/c.go", Line: 3, Module: "x"}, {}},
	}
	got, err := ParseEvent(e.String())
	require.NoError(t, err)
	require.Equal(t, &e, got)
	for _, bad := range []string{"1 alloc", "x alloc 1/1", "1 what 1/1", "1 alloc x/1", "1 alloc 1/1 size", "1 alloc 1/1 size=-1",
		"1 alloc 1/1 class=", "1 alloc 1/1 no=1", `1 alloc 1/1 text="`, "1 alloc 1/1 frame=x", `1 stack 1/1 frame="f a m 0"`} {
		_, err := ParseEvent(bad)
		require.ErrorIs(t, err, ErrSyntax, bad)
	}
}

func BenchmarkApply(b *testing.B) {
	h := New(Options{})
	b.ReportAllocs()
	a := Event{Op: Alloc, PID: 1, TID: 1, Size: 64, Stack: 1}
	f := Event{Op: Free, PID: 1, TID: 1}
	for i := range b.N {
		a.Addr, a.Time = uint64(i%4096)+1, int64(i)
		f.Addr, f.Time = a.Addr, a.Time
		h.Apply(&a)
		h.Apply(&f)
	}
}

// TestBlank forgets who has ended without ever having had anything, unless somebody has asked for it.
func TestBlank(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		aux  uint64 // of the Start: 1 if it ran before it was watched
		kept bool
	}{
		{"nobody asked", Options{}, 0, false},
		{"asked for", Options{Blank: true}, 0, true},
		{"not all of it was seen", Options{}, 1, true},
	} {
		h := New(c.o)
		h.Apply(&Event{Op: Start, PID: 1, Time: 1, Size: 5, Aux: c.aux})
		h.Apply(&Event{Op: CtxSet, PID: 1, TID: 1, Time: 2, Addr: 9})
		h.Apply(&Event{Op: Exit, PID: 1, Time: 3, Size: 5})
		require.Equal(t, c.kept, len(h.Snapshot(Query{}).Processes) == 1, c.name)
	}
}
