package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	polledRounds  = flag.Int("polled.rounds", 3, "rounds of the measurement of a program that is polled")
	polledStrict  = flag.Bool("polled.strict", false, "fail if being polled costs a program more than 5 %: for a machine that does nothing else")
	polledProgram = flag.String("polled.program", "", "the program to poll, testdata/pairs, if it is built already")
)

// TestPolledCost measures a program that makes and frees buffers without a pause, in
// turn left alone and polled ten times a second. The promise needs a quiet machine:
//
//	go test ./cmd/memwatch -run TestPolledCost -v -polled.strict -polled.rounds 20
func TestPolledCost(t *testing.T) {
	path := *polledProgram
	if path == "" {
		path = filepath.Join(t.TempDir(), "pairs")
		out, err := exec.Command("go", "build", "-o", path, "./testdata/pairs").CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	cmd := exec.Command(path)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	// windows asks the program for n windows, one after the other.
	windows := func(n int) (all []float64) {
		for range n {
			_, err := fmt.Fprintln(in)
			require.NoError(t, err)
			var ns float64
			var pairs int
			_, err = fmt.Fscan(out, &ns, &pairs)
			require.NoError(t, err)
			all = append(all, ns)
		}
		return all
	}
	windows(3) // it warms up
	var alone, polled []float64
	for range *polledRounds {
		alone = append(alone, windows(5)...)
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan int)
		go func() {
			over <- memwatch(ctx, io.Discard, io.Discard, []string{"-p", strconv.Itoa(cmd.Process.Pid), "-d", "100ms", "-o", "jsonl"})
		}()
		polled = append(polled, windows(5)...)
		stop()
		require.Equal(t, exitOK, <-over)
	}
	slices.Sort(alone)
	slices.Sort(polled)
	a, p := alone[len(alone)/2], polled[len(polled)/2]
	t.Logf("a pair takes %.1f ns alone and %.1f ns polled, medians of %d: %+.1f %%", a, p, len(alone), 100*(p/a-1))
	if *polledStrict {
		require.Less(t, p, 1.05*a)
	}
}
