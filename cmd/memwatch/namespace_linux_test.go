//go:build linux && amd64

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNamespace runs memwatch in a PID namespace of its own, as in a container, where processes have other
// numbers than outside: it counts what a program there leaks, passes over one outside that calls the same
// library, and refuses to work with a /proc that calls them otherwise.
func TestNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("probes need root")
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	lib, prog, other := filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "plain"), filepath.Join(dir, "other")
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", lib, write("lib.c", "#include <stdlib.h>\nint cuMemAlloc_v2(void **p, size_t n) { *p = malloc(64); return 0; }")},
		{"-o", prog, write("main.c", leaker), lib, "-Wl,-rpath," + dir},
		{"-o", other, write("other.c", "#include <unistd.h>\nint cuMemAlloc_v2(void **, size_t);\nint main(void) { void *p; for (;;) { cuMemAlloc_v2(&p, 1); usleep(1000); } }"),
			lib, "-Wl,-rpath," + dir},
	} {
		out, err := exec.Command(cc, append([]string{"-std=gnu11", "-O2", "-w"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	outside := exec.Command(other)
	require.NoError(t, outside.Start())
	t.Cleanup(func() { outside.Process.Kill(); outside.Wait() })
	exe := filepath.Join(dir, "memwatch")
	require.NoError(t, os.Symlink(os.Args[0], exe))
	run := func(script string) (int, string, string) {
		cmd := exec.Command("sh", "-c", script)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Unshareflags: syscall.CLONE_NEWNS}
		var errOut strings.Builder
		cmd.Stderr = &errOut
		out, err := cmd.Output()
		if cmd.ProcessState == nil {
			t.Skipf("no namespaces here: %v", err)
		}
		return cmd.ProcessState.ExitCode(), string(out), errOut.String()
	}
	own := "mount --make-rprivate / && mount -t proc proc /proc && "
	code, out, errOut := run(own + exe + " run -fail-over 0 -o json -lib " + lib + " -- " + prog)
	require.Equal(t, exitLimit, code, "%s%s", out, errOut)
	var s struct {
		Processes []struct {
			PID    int
			Name   string
			AtExit int64
			Joined bool
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	require.Len(t, s.Processes, 1)
	require.Equal(t, "plain", s.Processes[0].Name)
	require.Equal(t, int64(4<<20), s.Processes[0].AtExit)
	require.False(t, s.Processes[0].Joined)
	require.Less(t, s.Processes[0].PID, 100, "its number there")

	code, out, errOut = run(own + exe + " top -lib " + lib + " -for 300ms -o json")
	require.Equal(t, exitOK, code, errOut)
	require.Contains(t, out, `"processes": []`, "what is outside has no number there")

	code, out, errOut = run(exe + " top -lib " + lib + " -for 300ms")
	require.Equal(t, exitError, code, out)
	require.Contains(t, errOut, "/proc is that of another PID namespace")
	code, out, _ = run(exe + " check")
	require.Equal(t, exitError, code, out)
	require.Contains(t, out, "/proc is that of another PID namespace")
}
