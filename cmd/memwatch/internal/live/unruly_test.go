//go:build linux && amd64

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

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
	w.ask, w.tool = 50*time.Millisecond, filepath.Join(dir, "tool") // which tells what the driver counts
	require.NoError(t, os.WriteFile(w.tool, []byte("#!/bin/sh\nfor p in $(pidof unruly); do echo \"$p, 7\"; echo \"$p, 3\"; done\necho 'no, number'\n"), 0o700))
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
	await("what the driver counts, on two devices", func() bool { return of(pid).Used == 10<<20 })
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
