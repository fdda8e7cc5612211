//go:build linux && amd64

package live

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/device"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// told is a source of two devices that tells what it is told to.
type told struct{ used chan map[uint32]uint64 }

func (s *told) Name() string { return "NVML" }
func (s *told) Child() int   { return 0 }
func (s *told) Close()       {}

func (s *told) Read(ctx context.Context) (all []device.Device, err error) {
	select {
	case used := <-s.used:
		for i := range 2 {
			all = append(all, device.Device{Index: i, Name: "told", Total: 80 << 20, Used: 30 << 20, Busy: -i, Processes: used})
		}
		return all, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestUnruly watches a program that unloads its library, loads another of the same name,
// forks, passes nonsense, becomes another program, and is killed. Every step is seen, and
// nothing is counted twice or for the wrong process.
func TestUnruly(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	if os.Geteuid() != 0 {
		t.Skip("probes need root")
	}
	dir := t.TempDir()
	exe, lib, other := filepath.Join(dir, "unruly"), filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "replacement")
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-o", lib, "testdata/unruly/lib.c"},
		{"-shared", "-fPIC", "-DOTHER", "-o", other, "testdata/unruly/lib.c"},
		{"-o", exe, "testdata/unruly/main.c", "-ldl"},
	} {
		out, err := exec.Command(cc, append([]string{"-std=gnu11", "-O2", "-w"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	w := watch(t, Options{Scan: 20 * time.Millisecond})
	w.nested = false
	tells := &told{used: make(chan map[uint32]uint64)}
	w.devices = func() (device.Source, error) { return tells, nil }
	f := follow(t, w)
	r := startWith(t, exe, lib, other)
	pid := uint32(r.Process.Pid)
	of := f.process
	await := func(what string, cond func() bool) {
		t.Helper()
		if !assert.Eventually(t, cond, time.Minute, 5*time.Millisecond, what) {
			p := of(pid)
			p.Sites = nil
			t.Fatalf("%+v\nlibraries %+v\nbooks %+v", p, w.Libraries(), w.session.LedgerOf(pid))
		}
	}
	step := func(want string) {
		r.step(t)
		require.Equal(t, want, strings.Fields(r.out.Text())[0])
	}
	await("attached", func() bool { return probed(w, lib) == 1 })
	step("made")
	await("one allocation", func() bool { return of(pid).Live == 1000 })
	tells.used <- map[uint32]uint64{pid: 5 << 20, 1 << 30: 1}
	await("what the driver counts, on two devices", func() bool { return of(pid).Used == 10<<20 })
	f.mu.Lock()
	all := f.h.Snapshot(heap.Query{}).Devices
	f.mu.Unlock()
	require.Len(t, all, 2)
	require.Equal(t, int64(30<<20), all[1].Used)
	require.Equal(t, -1, all[1].Busy)
	require.Empty(t, w.NoDevices())
	step("loaded")
	await("the other library is probed", func() bool { return probed(w, lib) == 2 })
	step("replaced")
	await("an allocation by the other library", func() bool { return of(pid).Live == 3000 })
	step("forked")
	await("a child that has gone", func() bool {
		for _, p := range f.processes() {
			if p.PID != pid && p.Exited && p.AtExit == 4000 {
				return true
			}
		}
		return false
	})
	require.Equal(t, int64(3000), of(pid).Live, "what the child made is the child's")
	step("nonsense")
	await("failures", func() bool { return len(of(pid).Failures) == 1 && of(pid).Failures[0].Count == 2 })
	p := of(pid)
	require.Equal(t, int64(3000), p.Live)
	require.Zero(t, p.Unknown.Frees, "a free that failed is undone")
	step("again")
	await("its memory ended with the program before", func() bool { return of(pid).Live == 0 })
	step("made")
	await("made by what it became", func() bool { return of(pid).Live == 7000 })
	r.in.Write([]byte("\n"))
	require.ErrorContains(t, r.Wait(), "killed")
	await("its end", func() bool { return of(pid).Exited })
	p = of(pid)
	require.Equal(t, int64(7000), p.AtExit)
	require.False(t, p.Inexact)
	require.Equal(t, heap.Freed{Bytes: 10000, Objects: 3}, p.Exit)
}
