//go:build linux && amd64

package bpf

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
)

var (
	costSeconds = flag.Float64("cost.seconds", 1, "how long each measurement of cost takes")
	costEvents  = flag.Int("cost.events", 100_000, "events a second of the measurement with a reader")
	costReal    = flag.String("cost.real", "", "a driver's library that is called instead of the test's own")
	costWithout = flag.Bool("cost.without", false, "the program that allocates keeps no frame pointers")
	costStrict  = flag.Bool("cost.strict", false, "fail if an event is lost, reading takes more than half a core, or memory grows: for a machine that does nothing else")
)

// buildCost builds the program that allocates without a pause, and its driver.
func buildCost(t testing.TB) (lib, prog string) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	lib, prog = filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "cost")
	if *costReal != "" {
		prog := filepath.Join(dir, "cost")
		out, err := exec.Command(cc, "-std=gnu11", "-O2", "-DREAL", "-pthread", "-o", prog, "testdata/cost/main.c", *costReal).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return *costReal, prog
	}
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", lib, "testdata/cost/lib.c"},
		{"-o", prog, "testdata/cost/main.c", lib, "-Wl,--disable-new-dtags,-rpath," + dir},
	} {
		flags := []string{"-std=gnu11", "-O2", "-pthread"}
		if !*costWithout {
			flags = append(flags, "-fno-omit-frame-pointer")
		}
		out, err := exec.Command(cc, append(flags, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return lib, prog
}

// overEmpty is what a probed call may take over empty probes, in nanoseconds, without its stack and with it.
var overEmpty = map[bool]int64{false: 300, true: 1000}

// runCost runs the program, which the session is told of, and returns the nanoseconds of a pair of calls, and
// how many there were.
func runCost(t testing.TB, s *Session, prog string, threads int, seconds float64, rate int) (ns, pairs int64) {
	var out bytes.Buffer
	cmd := exec.Command(prog, fmt.Sprint(threads), fmt.Sprint(seconds), fmt.Sprint(rate))
	cmd.Stdout = &out
	require.NoError(t, cmd.Start())
	if s != nil {
		require.NoError(t, s.Watch(uint32(cmd.Process.Pid), Target{Other: true}))
	}
	require.NoError(t, cmd.Wait())
	_, err := fmt.Sscan(out.String(), &ns, &pairs)
	require.NoError(t, err)
	return ns, pairs
}

// TestCost measures what probes take from a program, and what reading takes from the
// machine. Figures depend on the machine, and so does whether a reader that is kept
// from running loses events; the test fails only on what may never be: an event that
// is neither read nor counted as lost. With nothing else running, the promise is
//
//	go test ./cmd/memwatch/internal/bpf -run TestCost -v -cost.strict -cost.seconds 60 -cost.events 400000
//
// and with -cost.real /usr/lib/libcuda.so.1 the calls are those of a GPU's driver.
//
// A pair of calls is timed in turn bare, with empty probes, and with each kind of ours: clocks have several
// speeds.
func TestCost(t *testing.T) {
	lib, prog := buildCost(t)
	kinds := []Options{{NoStacks: true}, {}}
	all := []*Session{nil, openEmpty(t)}
	for _, o := range kinds {
		all = append(all, open(t, o))
	}
	readers := make([]*reader, len(all))
	for i, s := range all[2:] {
		readers[2+i] = read(s)
	}
	ns, pairs := inTurn(t, lib, prog, all)
	require.NoError(t, all[1].Close())
	for i, o := range kinds {
		t.Run(fmt.Sprintf("stacks=%v", !o.NoStacks), func(t *testing.T) {
			took, empty := ns[2+i], ns[1]
			t.Logf("a pair of calls takes %d ns, %d ns bare and %d ns with empty probes: each probed call %d ns more than bare, %d ns more than empty",
				took, ns[0], empty, (took-ns[0])/2, (took-empty)/2)
			if *costReal != "" { // which answers no more than it can
				return
			}
			if *costStrict {
				assert.LessOrEqual(t, (took-empty)/2, overEmpty[!o.NoStacks], "ns over empty probes")
			}
			reading(t, lib, prog, all[2+i], readers[2+i], pairs[2+i])
		})
	}
}

// rounds are how often each is timed. The figure is the median.
const rounds = 5

// inTurn returns the nanoseconds of a pair of calls with the probes of each session, and how many there were.
// Nil stands for none.
func inTurn(t *testing.T, lib, prog string, all []*Session) (ns, pairs []int64) {
	got := make([][]int64, len(all))
	pairs = make([]int64, len(all))
	for range rounds {
		for i, s := range all {
			var a *Attachment
			if s != nil {
				var err error
				a, err = s.Attach(lib, image(t, lib), 0)
				require.NoError(t, err)
			}
			took, n := runCost(t, s, prog, 1, min(*costSeconds, 5)/rounds, 0)
			if a != nil {
				require.NoError(t, a.Close())
			}
			got[i], pairs[i] = append(got[i], took), pairs[i]+n
			require.NotZero(t, n)
		}
	}
	for _, all := range got {
		slices.Sort(all)
		ns = append(ns, all[rounds/2])
	}
	return ns, pairs
}

// openEmpty returns a session whose programs do nothing.
func openEmpty(t *testing.T) *Session {
	s := open(t, Options{NoStacks: true})
	spec := &ebpf.ProgramSpec{Name: "empty", Type: ebpf.Kprobe, License: "MIT", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}}
	if !s.Single() {
		spec.AttachType = ebpf.AttachTraceUprobeMulti
	}
	empty, err := ebpf.NewProgram(spec)
	require.NoError(t, err)
	t.Cleanup(func() { empty.Close() })
	s.objs.Entry, s.objs.Return = empty, empty
	return s
}

// A reader feeds a heap with what a session reports until it is done.
type reader struct {
	done chan struct{}
	over chan int // how many events there were
}

func read(s *Session) *reader {
	r := &reader{make(chan struct{}), make(chan int)}
	go consume(s, heap.New(heap.Options{}), r.done, r.over)
	return r
}

// reading measures what it takes to read many events, after some pairs of calls that were made already.
func reading(t *testing.T, lib, prog string, s *Session, r *reader, pairs int64) {
	_, err := s.Attach(lib, image(t, lib), 0)
	require.NoError(t, err)
	var before, after unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &before))
	start := time.Now()
	rss := residentKiB(t)
	_, more := runCost(t, s, prog, 2, *costSeconds, *costEvents/4) // two events a pair, two threads
	took := time.Since(start).Seconds()
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &after))
	cpu := float64(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano()) / 1e9
	time.Sleep(150 * time.Millisecond)
	grown := residentKiB(t) - rss
	close(r.done)
	n := <-r.over
	t.Logf("%.0f events/s for %.1f s: reading, the heap and this test take %.2f cores; %d events in all", 2*float64(more)/took, took, cpu/took, n)
	all, err := s.Ledgers()
	require.NoError(t, err)
	var lost uint64
	for _, l := range all {
		lost += l.LostRing + l.LostCalls
	}
	t.Logf("%d events lost; memory grew by %d KiB to %d KiB", lost, grown, rss+grown)
	if *costStrict {
		assert.Zero(t, lost)
		assert.LessOrEqual(t, cpu/took, 0.5, "cores")
		assert.Less(t, grown, 16<<10, "KiB")
		assert.Greater(t, 2*float64(more)/took, 0.95*float64(*costEvents), "events a second: the machine is busy")
	}
	require.Equal(t, 2*(pairs+more)+rounds+1, int64(n)+int64(lost), "the ends of programs are events too")
	require.NoError(t, s.Close())
}

// residentKiB returns how much memory this program has.
func residentKiB(t testing.TB) (n int) {
	b, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var size int
	_, err = fmt.Sscan(string(b), &size, &n)
	require.NoError(t, err)
	return n * os.Getpagesize() / 1024
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
		if ok && r.Kind == Exit {
			n++
			continue
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
