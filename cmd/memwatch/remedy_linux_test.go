//go:build linux && amd64

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// copyForAll copies this test's program to where every user may run it.
func copyForAll(t *testing.T) string {
	dir := t.TempDir()
	for d := dir; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		require.NoError(t, os.Chmod(d, 0o755))
	}
	b, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	path := filepath.Join(dir, "memwatch")
	require.NoError(t, os.WriteFile(path, b, 0o755))
	return path
}

// TestRemedies does what check says about missing rights, and about a library that is not found: then
// nothing is missing, and a program is watched.
func TestRemedies(t *testing.T) {
	prog, lib := stormProgram(t)
	if _, err := exec.LookPath("setcap"); err != nil {
		t.Skip("setcap is not installed")
	}
	exe := copyForAll(t)
	asNobody := func(args ...string) (string, int) {
		// A shell in between, as people have it: rights of the file come with a change of rights.
		cmd := exec.Command("sh", append([]string{"-c", exe + ` "$@"; exit $?`, "memwatch"}, args...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Dir, cmd.Stdin = filepath.Dir(exe), strings.NewReader("\n\n")
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	text, code := asNobody("check")
	require.Equal(t, exitError, code, text)
	remedy := regexp.MustCompile(`sudo (setcap .*)`).FindStringSubmatch(text)
	require.NotNil(t, remedy, text)
	out, err := exec.Command("sh", "-c", remedy[1]).CombinedOutput()
	if strings.Contains(string(out), "not supported") {
		t.Skip("no rights of files here: ", string(out))
	}
	require.NoError(t, err, "%s", out)
	text, code = asNobody("check")
	require.Equal(t, exitOK, code, text)
	require.NotContains(t, text, "MISSING")
	require.Contains(t, text, "2000 of 2000 calls were seen")
	require.Regexp(t, `mappings +ok`, text)

	// And it watches a program of that user.
	for path := filepath.Dir(prog); path != "/" && path != os.TempDir(); path = filepath.Dir(path) {
		require.NoError(t, os.Chmod(path, 0o755))
	}
	require.NoError(t, os.Chmod(lib, 0o755))
	text, code = asNobody("run", "-fail-over", "0", "--", prog, "1", "1", "200")
	require.Equal(t, exitLimit, code, text)
	require.NotContains(t, text, "only tables are read")

	text, code = asNobody("check", "-lib", lib)
	require.Equal(t, exitOK, code, text)
	require.Regexp(t, `CUDA driver: `+lib+`: [0-9]+ functions at a cheap place`, text)
}
