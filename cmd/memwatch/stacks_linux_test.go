//go:build linux && amd64

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
)

// TestStacks runs a program that keeps no frame pointers, as the user who called sudo, so that its stacks are
// walked without rights. Where each call comes from is known if unwind tables are followed, and only then.
func TestStacks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("probes need root")
	}
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // it is another user who looks
	lib, prog := filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "frameless")
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", lib, "internal/bpf/testdata/cost/lib.c"},
		{"-o", prog, "internal/live/testdata/frameless/main.c", lib, "-Wl,--disable-new-dtags,-rpath," + dir},
	} {
		args = append([]string{"-std=gnu11", "-O2", "-fomit-frame-pointer", "-pthread", "-w"}, args...)
		out, err := exec.Command(cc, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	t.Parallel()
	exe := filepath.Join(dir, "memwatch")
	require.NoError(t, os.Symlink(os.Args[0], exe))
	for _, c := range []struct {
		way   string
		known bool
	}{{"fp", false}, {"auto", true}, {"dwarf", true}} {
		t.Run(c.way, func(t *testing.T) {
			cmd := exec.Command(exe, "run", "-stacks", c.way, "-o", "json", "-top", "0", "--", prog)
			cmd.Args[0] = "memwatch"
			cmd.Env = append(os.Environ(), "SUDO_UID=65534", "SUDO_GID=65534", "SUDO_USER=nobody")
			cmd.Stdin = strings.NewReader("1\n50 100\n")
			var errOut strings.Builder
			cmd.Stderr = &errOut
			out, err := cmd.Output()
			require.NoError(t, err, "%s", errOut.String())
			var s heap.Snapshot
			require.NoError(t, json.Unmarshal(out[strings.IndexByte(string(out), '{'):], &s))
			require.Len(t, s.Processes, 1)
			var all, known uint64
			for _, site := range s.Processes[0].Sites {
				all += site.AllocObjects
				for _, f := range site.Frames {
					if f.Func == "main" || f.Func == "worker" {
						known += site.AllocObjects
						break
					}
				}
			}
			require.Equal(t, uint64(51*128), all)
			if c.known {
				// On a machine that is busy those of the first moments may be short; live's tests wait for
				// all.
				require.NotZero(t, known)
			} else {
				require.Zero(t, known)
			}
		})
	}
}
