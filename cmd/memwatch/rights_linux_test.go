//go:build linux && amd64

package main

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/internal/built"
)

// A status is what /proc tells of a thread's rights.
type status struct{ uid, effective, permitted string }

// statuses returns those of all threads of a process.
func statuses(t *testing.T, pid int) (all []status) {
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	require.NoError(t, err)
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		var s status
		for line := range strings.Lines(string(b)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
			switch name {
			case "Uid":
				s.uid = value
			case "CapEff":
				s.effective = value
			case "CapPrm":
				s.permitted = value
			}
		}
		all = append(all, s)
	}
	require.NotEmpty(t, all)
	return all
}

// children returns the processes that a process has started.
func children(t *testing.T, pid int) (all []int) {
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	for _, path := range paths {
		b, _ := os.ReadFile(path)
		for _, f := range strings.Fields(string(b)) {
			var n int
			fmt.Sscan(f, &n)
			all = append(all, n)
		}
	}
	return all
}

// probedIn reports whether the kernel has put a breakpoint into a function of a library that a process has
// mapped.
func probedIn(t *testing.T, pid int, lib, function string) bool {
	f, err := elf.Open(lib)
	require.NoError(t, err)
	defer f.Close()
	all, err := f.DynamicSymbols()
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(s elf.Symbol) bool { return s.Name == function })
	require.GreaterOrEqual(t, i, 0)
	text := f.Section(".text")
	plain := make([]byte, 16)
	_, err = text.ReadAt(plain, int64(all[i].Value-text.Addr))
	require.NoError(t, err)

	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	require.NoError(t, err)
	var base int64
	for line := range strings.Lines(string(maps)) { // the first mapping is where the file's addresses begin
		if strings.HasSuffix(strings.TrimSpace(line), lib) {
			_, err := fmt.Sscanf(line, "%x-", &base)
			require.NoError(t, err)
			break
		}
	}
	if base == 0 {
		return false // it has not begun
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	require.NoError(t, err)
	defer memory.Close()
	head := make([]byte, len(plain))
	_, err = memory.ReadAt(head, base+int64(all[i].Value))
	require.NoError(t, err)
	return !bytes.Equal(head, plain)
}

// TestGivesUpRights watches a program of root with everything that strangers wrote
// handled by a memwatch that has no rights: it sees as much, names as much, and probes a
// library that comes later.
func TestGivesUpRights(t *testing.T) {
	prog, lib := stormProgram(t)
	t.Parallel()
	exe := filepath.Join(t.TempDir(), "memwatch")
	require.NoError(t, os.Symlink(os.Args[0], exe))
	for _, c := range []struct {
		name   string
		pid    bool // -p
		before bool // the program runs when memwatch comes
	}{
		{"one process", true, true},
		{"every process", false, true},
		{"every process, a program that comes later", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var in io.WriteCloser
			var target *exec.Cmd
			launch := func() {
				target = exec.Command(prog, "1", "1", "300")
				var err error
				in, err = target.StdinPipe()
				require.NoError(t, err)
				require.NoError(t, target.Start())
				t.Cleanup(func() { in.Close(); _ = target.Wait() })
			}
			args := []string{"-driver", "-o", "jsonl", "-d", "100ms", "-top", "0"}
			if c.before {
				launch()
			}
			if c.pid {
				args = append(args, "-p", fmt.Sprint(target.Process.Pid), "-lib", lib)
			}
			cmd := exec.Command(exe, args...)
			cmd.Args[0] = "memwatch"
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
			lines := bufio.NewScanner(out)
			lines.Buffer(nil, 64<<20)
			next := func() (p heap.Process) {
				require.True(t, lines.Scan(), "memwatch has ended")
				var doc heap.Snapshot
				require.NoError(t, json.Unmarshal(lines.Bytes(), &doc))
				for _, p := range doc.Processes {
					if target != nil && int(p.PID) == target.Process.Pid {
						return p
					}
				}
				return p
			}
			next()
			require.Eventually(t, func() bool {
				for _, s := range statuses(t, cmd.Process.Pid) {
					if s.uid != "65534\t65534\t65534\t65534" || s.effective+s.permitted != strings.Repeat("0", 32) {
						return false
					}
				}
				return true
			}, time.Minute, 20*time.Millisecond)
			helpers := children(t, cmd.Process.Pid)
			if c.pid {
				require.Empty(t, helpers, "nobody keeps rights")
			} else {
				require.Len(t, helpers, 1)
				require.NotEqual(t, strings.Repeat("0", 16), statuses(t, helpers[0])[0].effective, "the helper has kept them")
			}

			if !c.before {
				launch()
			}
			// The library was seen in its mappings, and attached by the helper.
			deadline := time.Now().Add(time.Minute)
			for !probedIn(t, target.Process.Pid, lib, "cuMemAlloc_v2") || !c.pid && next().PID == 0 {
				require.True(t, time.Now().Before(deadline), "it was not found, or not probed")
				time.Sleep(10 * time.Millisecond)
			}
			io.WriteString(in, "\n")
			var p heap.Process
			deadline = time.Now().Add(time.Minute)
			for {
				p = next()
				named := p.Live > 0 && p.Kernel.Allocations > 0
				for _, s := range p.Sites {
					named = named && len(s.Frames) > 0 && s.Frames[0].Func != ""
				}
				if named {
					break
				}
				require.True(t, time.Now().Before(deadline), "%+v", p.Sites)
			}
			require.Equal(t, "storm", p.Name)
			require.False(t, p.Inexact)

			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			_, _ = io.Copy(io.Discard, out)
			require.NoError(t, cmd.Wait())
			for _, h := range helpers {
				require.ErrorIs(t, syscall.Kill(h, 0), syscall.ESRCH, "the helper ends with memwatch")
			}
		})
	}
}

// TestHelperAlone starts the helper as a stranger would.
func TestHelperAlone(t *testing.T) {
	exe, err := built.Command("cmd/memwatch")
	require.NoError(t, err)
	out, err := exec.Command(exe, helperName).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "started by memwatch alone")
}

// TestRunAsInvoker starts a program as sudo would: it runs as the user who called sudo,
// with his groups and home and without any right, and memwatch gives its rights up too.
func TestRunAsInvoker(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: cannot become another user")
	}
	exe := filepath.Join(t.TempDir(), "memwatch")
	require.NoError(t, os.Symlink(os.Args[0], exe))
	cmd := exec.Command(exe, "run", "-o", "jsonl", "--", "sh", "-c",
		`id -u; id -g; id -G; grep -h Cap /proc/self/status; echo $HOME $USER; grep Cap[EP] /proc/$PPID/status; grep Uid /proc/$PPID/status`)
	cmd.Args[0] = "memwatch"
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "SUDO_UID=65534", "SUDO_GID=65534")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text := string(out)
	require.True(t, strings.HasPrefix(text, "65534\n65534\n65534\n"), text)
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
		require.Contains(t, text, set+":\t0000000000000000", text)
	}
	require.NotRegexp(t, `Cap(Prm|Eff):\t0*[1-9a-f]`, text, "neither the program nor memwatch has any")
	require.Contains(t, text, "Uid:\t65534\t65534\t65534\t65534")
	require.Contains(t, text, "nobody")
	require.Contains(t, text, `"exited":true`)

	cmd = exec.Command(exe, "run", "--", "true")
	cmd.Args[0] = "memwatch"
	cmd.Env = append(os.Environ(), "SUDO_UID=nonsense", "SUDO_GID=0")
	out, err = cmd.CombinedOutput()
	require.Error(t, err, "who called is not known: nothing is started as root instead")
	require.Contains(t, string(out), "SUDO_UID")
}

// TestWithoutTypes hides what the kernel says of its types.
func TestWithoutTypes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: cannot hide a folder")
	}
	exe, err := built.Command("cmd/memwatch")
	require.NoError(t, err)
	run := func(args string) string {
		cmd := exec.Command("unshare", "-m", "sh", "-c", "mount -t tmpfs none /sys/kernel && exec "+exe+" "+args)
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "unshare:") {
			t.Skip("cannot unshare: ", string(out))
		}
		require.Error(t, err, args)
		return string(out)
	}
	text := run("check")
	require.Regexp(t, `types +MISSING`, text)
	require.Contains(t, text, "CONFIG_DEBUG_INFO_BTF", "and what to do")
	text = run("top")
	require.Contains(t, text, "memwatch: ")
	require.NotContains(t, text, "panic")
}
