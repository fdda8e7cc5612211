//go:build linux && amd64

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// TestSave saves to the first folder that may be written to, as one who has given up root's rights: to a file
// that its owner alone may read.
func TestSave(t *testing.T) {
	const child = "MEMWATCH_TEST_SAVE"
	if dirs := os.Getenv(child); dirs != "" {
		name, err := saveSnapshot(strings.Split(dirs, ":"), &heap.Snapshot{}, false, 0)
		require.NoError(t, err)
		_, err = os.Stdout.WriteString("\nsaved " + name + "\n")
		require.NoError(t, err)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("not root: cannot become another user")
	}
	exe := copyForAll(t)
	closed, open := filepath.Dir(exe), filepath.Join(filepath.Dir(exe), "open")
	require.NoError(t, os.Mkdir(open, 0o777))
	require.NoError(t, os.Chmod(open, 0o777))
	cmd := exec.Command(exe, "-test.run=^TestSave$")
	cmd.Args[0] = "test"
	cmd.Env = append(os.Environ(), child+"="+closed+":"+open)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir = closed
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "saved "+open+"/memwatch-")
	files, err := filepath.Glob(open + "/memwatch-*.json")
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Equal(t, []string{".", os.TempDir()}, saveDirs)
}
