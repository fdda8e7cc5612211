//go:build linux && amd64

package live

import (
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/bpf"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

var (
	crowdProcesses = flag.Int("crowd.processes", 50, "processes on the machine that do nothing")
	crowdSeconds   = flag.Float64("crowd.seconds", 1, "how long the measurement among them takes")
	crowdEvents    = flag.Int("crowd.events", 20_000, "events a second of it")
	crowdStrict    = flag.Bool("crowd.strict", false, "fail if an event is lost or watching takes more than 0.6 cores, or a hundredth of one when nothing happens: for a machine that does nothing else")
)

// TestCrowd watches all processes, of which one allocates without a pause. Figures depend on the machine; the
// test fails only on what may never be: an event that is neither seen nor counted as lost. With nothing else
// running, the promise is
//
//	go test ./cmd/memwatch/internal/live -run TestCrowd -v -crowd.strict -crowd.processes 5000 -crowd.seconds 60 -crowd.events 400000
func TestCrowd(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	lib, prog := filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "cost")
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", lib, "../bpf/testdata/cost/lib.c"},
		{"-o", prog, "../bpf/testdata/cost/main.c", lib, "-Wl,--disable-new-dtags,-rpath," + dir},
	} {
		out, err := exec.Command(cc, append([]string{"-std=gnu11", "-O2", "-fno-omit-frame-pointer", "-pthread"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	for range *crowdProcesses {
		idle := exec.Command("sleep", "1000")
		require.NoError(t, idle.Start())
		t.Cleanup(func() { idle.Process.Kill(); idle.Wait() })
	}
	w := watch(t, Options{Libraries: []string{lib}, Copies: bpf.NeededCopies})
	settled := make(chan struct{})
	w.opts.Settled = func() { close(settled) }
	f := follow(t, w)
	<-settled
	// The first look is dearer than others.
	time.Sleep(time.Duration(*crowdSeconds * float64(time.Second) / 10))
	idle := cores(t, func() { time.Sleep(time.Duration(*crowdSeconds * float64(time.Second) / 4)) })

	var ns, pairs int64
	cmd := exec.Command(prog, "2", fmt.Sprint(*crowdSeconds), fmt.Sprint(*crowdEvents/4))
	busy := cores(t, func() {
		out, err := cmd.Output()
		require.NoError(t, err)
		_, err = fmt.Sscan(string(out), &ns, &pairs)
		require.NoError(t, err)
	})
	pid := uint32(cmd.Process.Pid)
	var p heap.Process
	require.Eventually(t, func() bool { p = f.process(pid); return p.Exited }, time.Minute, 10*time.Millisecond)
	seen, lost := uint64(0), uint64(0)
	for _, c := range p.Classes {
		seen += c.AllocObjects
	}
	for _, l := range p.Lost {
		lost += l.Count
	}
	rate := 2 * float64(pairs) / *crowdSeconds
	t.Logf("%d processes: watching takes %.4f cores when nothing happens, %.2f with %.0f events a second for %.0f s; %d of %d events lost",
		*crowdProcesses, idle, busy, rate, *crowdSeconds, lost, 2*pairs)
	require.Equal(t, uint64(pairs), p.Kernel.Allocations)
	require.LessOrEqual(t, seen, uint64(pairs))
	require.GreaterOrEqual(t, seen+lost, uint64(pairs))
	if *crowdStrict {
		assert.Zero(t, lost)
		assert.LessOrEqual(t, busy, 0.6, "cores")
		assert.LessOrEqual(t, idle, 0.01, "cores")
		assert.Greater(t, rate, 0.95*float64(*crowdEvents), "events a second: the machine is busy")
	}
}

// cores returns how many processors this program takes while do runs.
func cores(t *testing.T, do func()) float64 {
	var before, after unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &before))
	begin := time.Now()
	do()
	took := time.Since(begin).Seconds()
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &after))
	return float64(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano()) / 1e9 / took
}
