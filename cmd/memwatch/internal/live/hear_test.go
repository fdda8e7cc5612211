//go:build linux && amd64

package live

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestHears watches everything where a look at all processes finds none: who maps a library or makes a table
// is found all the same, because the kernel tells.
func TestHears(t *testing.T) {
	exe, lib := app(t)
	books := keeper(t)
	w := watch(t, Options{Scan: 10 * time.Millisecond})
	w.pids = func() []int { // it takes long, and finds nothing
		time.Sleep(50 * time.Millisecond)
		return nil
	}
	if w.listener == nil {
		t.Skip("the kernel does not tell: ", w.deaf)
	}
	settled := make(chan struct{})
	w.opts.Settled = func() { close(settled) }
	f := follow(t, w)
	<-settled
	prog := start(t, exe)
	require.Eventually(t, func() bool { return probed(w, lib) == 1 }, time.Minute, time.Millisecond)
	prog.step(t)
	pid := uint32(prog.Process.Pid)
	require.Eventually(t, func() bool { return f.process(pid).Live == 5<<20+1<<12 }, time.Minute, 5*time.Millisecond)
	require.True(t, f.process(pid).Joined, "it had the library before the library was probed")

	second := start(t, exe)
	second.step(t)
	pid = uint32(second.Process.Pid)
	require.Eventually(t, func() bool { return f.process(pid).Live == 5<<20+1<<12 }, time.Minute, 5*time.Millisecond)
	require.False(t, f.process(pid).Joined, "it began when the library was probed")

	// One that begins just as a turn does, or where the kernel has too much to tell, is left to the look at
	// all processes, which finds nothing here: another one begins then.
	var keepers []uint32
	var next time.Time
	require.Eventually(t, func() bool {
		if now := time.Now(); now.After(next) {
			keepers, next = append(keepers, startKeeper(t, books)), now.Add(3*time.Second)
		}
		return slices.ContainsFunc(keepers, func(pid uint32) bool { return f.process(pid).Live == 1000 })
	}, time.Minute, 5*time.Millisecond)
}

// TestDeaf watches where the kernel tells nothing: processes are looked at in turn.
func TestDeaf(t *testing.T) {
	exe, lib := app(t)
	w := watch(t, Options{Scan: 10 * time.Millisecond})
	if w.listener != nil {
		w.listener.Close()
	}
	w.listener, w.deaf = nil, errors.New("it is forbidden")
	follow(t, w)
	start(t, exe)
	require.Eventually(t, func() bool { return probed(w, lib) == 1 }, time.Minute, time.Millisecond)
}

// TestNotItself has this process map a library of the driver, as memwatch does to ask what devices hold: it
// is watched only if it is asked for, however it is found.
func TestNotItself(t *testing.T) {
	name := filepath.Join(t.TempDir(), "libcuda.so.1")
	require.NoError(t, os.WriteFile(name, make([]byte, os.Getpagesize()), 0o600))
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	require.NoError(t, err)
	defer unix.Munmap(b)
	for _, asked := range []bool{false, true} {
		o := Options{NoProbes: true}
		if asked {
			o.PIDs = []int{os.Getpid()}
		}
		w, err := New(o)
		require.NoError(t, err)
		w.pids = func() []int { return []int{os.Getpid()} }
		w.Look()
		w.heard(news{mapped: []int{os.Getpid()}, begun: []int{os.Getpid()}}, func(sight) {})
		require.Equal(t, asked, len(w.Missed()) > 0, "%v", w.Missed()) // the library is seen, and not probed
		require.Equal(t, asked, len(w.begun) > 0)
		w.Close()
	}
}

// TestPace tells how long it is until all processes are looked at again.
func TestPace(t *testing.T) {
	w := &Watcher{opts: Options{Scan: time.Second}}
	require.Equal(t, time.Second, w.pace(time.Minute), "nobody tells anything")
	w.hearing = make(chan news)
	require.Equal(t, time.Second, w.pace(time.Millisecond))
	require.Equal(t, 4*time.Second, w.pace(20*time.Millisecond), "half a percent")
	require.Equal(t, 10*time.Second, w.pace(time.Minute))
}

// TestBegunIsBounded hears of many programs that begin between two turns.
func TestBegunIsBounded(t *testing.T) {
	w := new(Watcher)
	for pid := range 1000 {
		require.False(t, w.heard(news{begun: []int{pid + 1, pid + 1}}, nil))
	}
	require.Len(t, w.begun, maxBegun)
	require.Equal(t, []int{1, 2, 3}, w.begun[:3])
}

// keeper builds a program that keeps a table.
func keeper(t *testing.T) (exe string) {
	exe = filepath.Join(t.TempDir(), "keeper")
	out, err := exec.Command("go", "build", "-o", exe, "../../testdata/keeper").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return exe
}

// startKeeper starts a keeper, which keeps 1000 bytes in its table.
func startKeeper(t *testing.T, exe string) (pid uint32) {
	cmd := exec.Command(exe)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	fmt.Fprintln(in, "alloc 0 1000")
	return uint32(cmd.Process.Pid)
}
