//go:build linux && amd64

package live

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSlowScan watches while a look at all processes does not come to its end: nothing waits for it.
func TestSlowScan(t *testing.T) {
	exe, lib := app(t)
	prog := start(t, exe)
	pid := uint32(prog.Process.Pid)
	w := watch(t, Options{Libraries: []string{lib}, Scan: time.Millisecond})
	stuck, release := make(chan struct{}), make(chan struct{})
	t.Cleanup(sync.OnceFunc(func() { close(release) }))
	looks := 0
	w.pids = func() []int {
		if looks++; looks == 2 {
			close(stuck)
			<-release
		}
		return []int{int(pid)}
	}
	f := follow(t, w)
	t.Cleanup(sync.OnceFunc(func() {
		select {
		case release <- struct{}{}:
		default:
		}
	}))
	<-stuck
	prog.step(t)
	require.Eventually(t, func() bool { return f.process(pid).Live == 5<<20+1<<12 }, time.Minute, 5*time.Millisecond)
	release <- struct{}{}
}

// TestTablesInTurn reads a table as often as it is asked to, however seldom processes are looked for.
func TestTablesInTurn(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "keeper")
	out, err := exec.Command("go", "build", "-o", exe, "../../testdata/keeper").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(exe)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	pid := cmd.Process.Pid
	fmt.Fprintln(in, "alloc 0 1000")
	require.Eventually(t, func() bool { // its table is there
		w, err := New(Options{PIDs: []int{pid}, NoProbes: true})
		require.NoError(t, err)
		defer w.Close()
		return w.resolver.shelf.keep(uint32(pid))
	}, time.Minute, time.Millisecond)
	w, err := New(Options{PIDs: []int{pid}, NoProbes: true, Scan: time.Hour, Tables: time.Millisecond})
	require.NoError(t, err)
	f := follow(t, w)
	for i := range 20 {
		fmt.Fprintln(in, "alloc 0 1000")
		require.Eventually(t, func() bool { return f.process(uint32(pid)).Live == int64(1000*(i+2)) }, time.Minute, time.Millisecond)
	}
}
