//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTrial watches what looks like two training runs, one with a line that leaks and one without: after a
// few seconds that line is what is suspected, and nothing else.
func TestTrial(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("probes need root")
	}
	cc, err := exec.LookPath("c++")
	if err != nil {
		t.Skip("no C++ compiler")
	}
	dir := t.TempDir()
	lib := filepath.Join(dir, "libcuda.so.1")
	build := func(to string, args ...string) string {
		path := filepath.Join(dir, to)
		out, err := exec.Command(cc, append([]string{"-g", "-O1", "-fno-omit-frame-pointer", "-o", path}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return path
	}
	build("libcuda.so.1", "-x", "c", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "testdata/trial/lib.c")
	var pids []string
	for _, args := range [][]string{{"trainer"}, {"sound", "-DSOUND"}} {
		run := exec.Command(build(args[0], append(args[1:], "testdata/trial/trainer.cc", lib, "-Wl,-rpath,"+dir)...))
		require.NoError(t, run.Start())
		t.Cleanup(func() { run.Process.Kill(); run.Wait() })
		pids = append(pids, fmt.Sprint(run.Process.Pid))
	}
	source, err := os.ReadFile("testdata/trial/trainer.cc")
	require.NoError(t, err)
	before, _, ok := strings.Cut(string(source), "for ever")
	require.True(t, ok)
	leak := fmt.Sprintf("trainer.cc:%d\n", strings.Count(before, "\n")+1)

	t.Parallel()
	code, out, errOut := call(t, "leaks", "-p", strings.Join(pids, ","), "-driver", "-for", "8s")
	require.Equal(t, exitOK, code, errOut)
	var found []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, ".cc:") {
			found = append(found, line)
		}
	}
	require.Len(t, found, 1, out)
	require.Contains(t, found[0], "train::Metrics::log")
	require.Contains(t, found[0], leak)
	require.Contains(t, out, "never freed")
}
