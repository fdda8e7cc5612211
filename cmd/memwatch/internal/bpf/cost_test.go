//go:build linux && amd64

package bpf

import (
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
)

var (
	costSeconds = flag.Float64("cost.seconds", 1, "how long each measurement of cost takes")
	costEvents  = flag.Int("cost.events", 100_000, "events a second of the measurement with a reader")
)

// buildCost builds the program that allocates without a pause, and its driver.
func buildCost(t testing.TB) (lib, prog string) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	lib, prog = filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "cost")
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", lib, "testdata/cost/lib.c"},
		{"-o", prog, "testdata/cost/main.c", lib, "-Wl,-rpath," + dir},
	} {
		out, err := exec.Command(cc, append([]string{"-std=gnu11", "-O2", "-fno-omit-frame-pointer", "-pthread"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return lib, prog
}

// runCost returns the nanoseconds of a pair of calls, and how many there were.
func runCost(t testing.TB, prog string, threads int, seconds float64, rate int) (ns, pairs int64) {
	out, err := exec.Command(prog, fmt.Sprint(threads), fmt.Sprint(seconds), fmt.Sprint(rate)).Output()
	require.NoError(t, err)
	_, err = fmt.Sscan(string(out), &ns, &pairs)
	require.NoError(t, err)
	return ns, pairs
}

// TestCost measures what probes take from a program, and what reading takes from the
// machine. Figures depend on the machine, and so does whether a reader that is kept
// from running loses events; the test fails only on what may never be: an event that
// is neither read nor counted as lost.
func TestCost(t *testing.T) {
	lib, prog := buildCost(t)
	bare, _ := runCost(t, prog, 1, *costSeconds/4, 0)
	for _, o := range []Options{{NoStacks: true}, {}} {
		s := open(t, o)
		_, err := s.Attach(lib, image(t, lib), 0)
		require.NoError(t, err)
		done := make(chan struct{})
		over := make(chan int)
		h := heap.New(heap.Options{})
		go consume(s, h, done, over)
		var before, after unix.Rusage
		ns, pairs := runCost(t, prog, 1, *costSeconds, 0)
		t.Logf("stacks=%v: a pair of calls takes %d ns, %d ns more than without probes (%d ns for each probed call)",
			!o.NoStacks, ns, ns-bare, (ns-bare)/2)
		require.NotZero(t, pairs)
		require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &before))
		start := time.Now()
		_, more := runCost(t, prog, 2, *costSeconds, *costEvents/4) // two events a pair, two threads
		took := time.Since(start).Seconds()
		require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &after))
		cpu := float64(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano()) / 1e9
		time.Sleep(150 * time.Millisecond)
		close(done)
		n := <-over
		t.Logf("stacks=%v: %.0f events/s for %.1f s: reading, the heap and this test take %.2f cores; %d events in all", !o.NoStacks, 2*float64(more)/took, took, cpu/took, n)
		all, err := s.Ledgers()
		require.NoError(t, err)
		var lost uint64
		for _, l := range all {
			lost += l.LostRing + l.LostCalls
		}
		t.Logf("stacks=%v: %d events lost", !o.NoStacks, lost)
		require.Equal(t, 2*(pairs+more), int64(n)+int64(lost))
		require.NoError(t, s.Close())
	}
}

// consume feeds the heap until done.
func consume(s *Session, h *heap.Heap, done chan struct{}, over chan int) {
	var r Report
	var events []heap.Event
	n := 0
	for {
		ok, err := s.Read(&r)
		if err != nil {
			over <- n
			return
		}
		if ok && r.Kind == Call {
			events = probes.Translate(events[:0], &r.Raw)
			for i := range events {
				h.Apply(&events[i])
				n++
			}
			continue
		}
		if ok || s.Waiting() > 0 {
			continue
		}
		select {
		case <-done:
			over <- n
			return
		default:
		}
	}
}
