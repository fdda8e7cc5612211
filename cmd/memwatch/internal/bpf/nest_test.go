//go:build linux && amd64

package bpf

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
)

// TestNested watches a driver that calls itself. What a call does inside is part of it, whether it calls or
// jumps there at its end; a call that never returns hides nothing after it, and is counted as lost.
func TestNested(t *testing.T) {
	s := open(t, Options{})
	s.poll = 2 * time.Millisecond
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	lib, prog := filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "nest")
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", lib, "testdata/nest/lib.c"},
		{"-rdynamic", "-o", prog, "testdata/nest/main.c", lib, "-Wl,--disable-new-dtags,-rpath," + dir},
	} {
		out, err := exec.Command(cc, append([]string{"-std=gnu11", "-O1", "-fno-omit-frame-pointer", "-w"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	_, err = s.Attach(lib, image(t, lib), 0)
	require.NoError(t, err)
	cmd := exec.Command(prog)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	pid := uint32(cmd.Process.Pid)
	require.NoError(t, cmd.Wait())
	h := heap.New(heap.Options{})
	var events []heap.Event
	var start uint64
	drain(t, s, func(r *Report) {
		if r.Raw.PID != pid {
			return
		}
		if start == 0 {
			start = r.Raw.Start
		}
		require.NotZero(t, r.Raw.Start)
		require.Equal(t, start, r.Raw.Start, "all reports are of one process")
		switch r.Kind {
		case Call:
			events = probes.Translate(events[:0], &r.Raw)
			for i := range events {
				h.Apply(&events[i])
			}
		case Stack:
			require.NotContains(t, r.Frames, r.Trampoline, "where calls return to for the probe is no caller")
		}
	})
	p := h.Snapshot(heap.Query{}).Processes[0]
	got := map[string]heap.Tally{}
	for _, c := range p.Classes {
		got[c.Class] = c.Tally
	}
	require.Equal(t, int64(500), got["pinned"].Live)
	require.Equal(t, uint64(1), got["pinned"].AllocObjects)
	require.Equal(t, int64(5000), got["device"].Live, "2000, and 3000 below the place of the call that never returned")
	require.Equal(t, uint64(3), got["device"].AllocObjects, "%+v", p)
	require.Zero(t, p.Unknown.Frees, "one free is one")
	require.Equal(t, heap.Freed{Bytes: 1000, Objects: 1}, p.Explicit)
	require.NotContains(t, got, "managed")
	books := s.LedgerOf(pid)
	require.Equal(t, uint64(1), books.LostCalls)
	require.Equal(t, uint64(4), books.Allocs)
}
