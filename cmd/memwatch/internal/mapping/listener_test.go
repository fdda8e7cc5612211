package mapping

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// listen collects events until the test's end.
func listen(t *testing.T) chan Event {
	l, err := Open()
	if errors.Is(err, os.ErrPermission) {
		t.Skip("not permitted: ", err)
	}
	require.NoError(t, err)
	all, over := make(chan Event, 1<<16), make(chan error, 1)
	go func() {
		for {
			events, _, err := l.Next()
			if err != nil {
				over <- err
				return
			}
			for _, e := range events {
				all <- e
			}
		}
	}()
	t.Cleanup(func() {
		l.Interrupt()
		require.ErrorIs(t, <-over, os.ErrClosed)
		l.Close()
	})
	return all
}

// await waits for an event.
func await(t *testing.T, all chan Event, want Event) {
	t.Helper()
	for patience := time.After(time.Minute); ; {
		select {
		case e := <-all:
			if e == want {
				return
			}
		case <-patience:
			t.Fatal("nothing was told of ", want)
		}
	}
}

// TestListener hears of a program that starts, and of a file that is mapped as code.
func TestListener(t *testing.T) {
	all := listen(t)
	cmd := exec.Command("sleep", "0")
	require.NoError(t, cmd.Run())
	await(t, all, Event{PID: cmd.Process.Pid, Name: "sleep", Exec: true})

	name := filepath.Join(t.TempDir(), "libcuda.so.1")
	require.NoError(t, os.WriteFile(name, make([]byte, os.Getpagesize()), 0o600))
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	require.NoError(t, err)
	require.NoError(t, unix.Munmap(b))
	await(t, all, Event{PID: os.Getpid(), Name: "libcuda.so.1"})
}

// TestLost reads a ring that nobody has read for long: it is said, and what comes later is told again. The
// kernel says it with what it tells next on the same processor, so all of it is done on one.
func TestLost(t *testing.T) {
	l, err := Open()
	if errors.Is(err, os.ErrPermission) {
		t.Skip("not permitted: ", err)
	}
	require.NoError(t, err)
	defer l.Close()
	stayHere(t)
	mapCode := func() {
		b, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
		require.NoError(t, err)
		require.NoError(t, unix.Munmap(b))
	}
	// told reads until it has heard of this process.
	told := func() (lost bool) {
		for n := 0; n == 0; {
			events, some, err := l.Next()
			require.NoError(t, err)
			for _, e := range events {
				if e.PID == os.Getpid() {
					n++
				}
			}
			lost = lost || some
		}
		return lost
	}
	for range 1000 {
		mapCode()
	}
	lost := told() // already, if another process was told of meanwhile
	mapCode()
	require.True(t, told() || lost)
	mapCode()
	told()
}

// stayHere keeps the test on one processor until its end.
func stayHere(t *testing.T) {
	runtime.LockOSThread()
	var before, one unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &before))
	cpu := 0
	for !before.IsSet(cpu) {
		cpu++
	}
	one.Set(cpu)
	require.NoError(t, unix.SchedSetaffinity(0, &one))
	t.Cleanup(func() {
		require.NoError(t, unix.SchedSetaffinity(0, &before))
		runtime.UnlockOSThread()
	})
}

func TestOnline(t *testing.T) {
	for i, c := range []struct {
		text string
		want []int
	}{{"0\n", []int{0}}, {"0-3,8\n", []int{0, 1, 2, 3, 8}}, {"", nil}, {"0-x\n", nil}} {
		path := filepath.Join(t.TempDir(), fmt.Sprint(i))
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		cpus, err := online(path)
		require.Equal(t, c.want, cpus)
		require.Equal(t, c.want == nil, err != nil)
	}
}
