//go:build linux && amd64

package live

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/procfs"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/symbols"
	"github.com/lastuse/lastuse/internal/probe"
)

// watch opens a watcher or skips the test, with the reason.
func watch(t *testing.T, o Options) *Watcher {
	t.Helper()
	w, err := New(o)
	if err != nil && os.Geteuid() != 0 {
		t.Skipf("no eBPF here: %v", err)
	}
	require.NoError(t, err)
	return w
}

// A following is a heap that a running watcher fills.
type following struct {
	mu   sync.Mutex
	h    *heap.Heap     // protected by mu
	over sync.WaitGroup // the watcher has ended
	stop context.CancelFunc
}

// follow runs a watcher until the test ends, or sooner until stop is called or there is nothing more to
// watch, and closes it.
func follow(t *testing.T, w *Watcher) *following {
	f := &following{h: heap.New(heap.Options{})}
	var ctx context.Context
	ctx, f.stop = context.WithCancel(context.Background())
	t.Cleanup(func() {
		f.stop()
		f.over.Wait()
		w.Close()
	})
	f.over.Go(func() {
		assert.NoError(t, w.Run(ctx, func(e *heap.Event) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.h.Apply(e)
		}, nil))
	})
	return f
}

// processes returns what the heap knows of processes: of these, or of all if there are none.
func (f *following) processes(pids ...uint32) []heap.Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.h.Snapshot(heap.Query{PIDs: pids}).Processes
}

// process returns what the heap knows of a process, or nothing if it has not seen it.
func (f *following) process(pid uint32) (p heap.Process) {
	for _, p = range f.processes(pid) {
	}
	return p
}

// app builds the program and the stand-in library that it calls.
func app(t *testing.T) (exe, lib string) {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	var symbols strings.Builder
	for _, p := range probes.All() {
		if strings.HasPrefix(p.Symbol, "cu") {
			fmt.Fprintf(&symbols, "S(%s)\n", p.Symbol)
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "symbols.h"), []byte(symbols.String()), 0o600))
	lib = filepath.Join(dir, "libcuda.so.1")
	storm, err := filepath.Abs("../bpf/testdata/storm/lib.c")
	require.NoError(t, err)
	out, err := exec.Command(cc, "-std=gnu11", "-O2", "-w", "-DSTUBS=550", "-I", dir, "-pthread", "-shared", "-fPIC",
		"-Wl,-soname,libcuda.so.1", "-o", lib, storm).CombinedOutput()
	require.NoError(t, err, "%s", out)
	src, err := os.ReadFile("testdata/app/main.go")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), src, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module app\n\ngo 1.24\n"), 0o600))
	exe = filepath.Join(dir, "app")
	cmd := exec.Command("go", "build", "-o", exe, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=", "GOWORK=off", "CGO_LDFLAGS=-Wl,--disable-new-dtags,-rpath,"+dir)
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return exe, lib
}

// probed returns how many files of this name are probed.
func probed(w *Watcher, path string) (n int) {
	for _, l := range w.Libraries() {
		if l.Path == path && l.Probes > 0 {
			n++
		}
	}
	return n
}

// A running is the program while it runs.
type running struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func start(t *testing.T, exe string) *running { return startWith(t, exe) }

// startWith starts a program and waits for its first line.
func startWith(t *testing.T, exe string, args ...string) *running {
	cmd := exec.Command(exe, args...)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	r := &running{cmd, in, bufio.NewScanner(out)}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	require.True(t, r.out.Scan())
	return r
}

// step lets the program do its next step and waits until it has.
func (r *running) step(t *testing.T) {
	io.WriteString(r.in, "\n")
	r.out.Scan()
}

// TestGoProgram watches an unmodified Go program that calls the driver through cgo:
// one call keeps the chain of frame pointers, one breaks it.
func TestGoProgram(t *testing.T) {
	exe, lib := app(t)
	for _, c := range []struct {
		all     bool
		unknown bool // the version of Go is
	}{{false, false}, {true, false}, {false, true}} {
		all, unknown := c.all, c.unknown
		t.Run(fmt.Sprintf("everything=%v unknown=%v", all, c.unknown), func(t *testing.T) {
			prog := start(t, exe)
			pid := uint32(prog.Process.Pid)
			o := Options{Libraries: []string{lib}}
			if !all {
				o.PIDs = []int{int(pid)}
			}
			w := watch(t, o)
			if c.unknown {
				w.resolver.offsets = func(string) (symbols.Offsets, bool) { return symbols.Offsets{}, false }
			}
			f := follow(t, w)
			look := func() heap.Process { return f.process(pid) }
			require.Eventually(t, func() bool { // where its goroutines are is known, too
				return probed(w, lib) == 1 && look().Name == "app" && w.resolver.waiting.Load() == 0
			}, time.Minute, 5*time.Millisecond)
			prog.step(t)
			const want = 5<<20 + 1<<12
			places := 3
			if unknown {
				places = 2 // those that end in C cannot be told apart
			}
			require.Eventually(t, func() bool {
				p := look()
				named := 0
				for _, s := range p.Sites {
					if len(s.Frames) > 0 {
						named++
					}
				}
				return p.Live == want && len(p.Sites) == places && named == places
			}, time.Minute, 20*time.Millisecond)
			p := look()
			require.Equal(t, "app", p.Name)
			require.True(t, p.Joined, "it ran before")
			require.False(t, p.Inexact)
			names := func(s heap.Site) string {
				var all []string
				for _, frame := range s.Frames {
					all = append(all, frame.Func)
				}
				return strings.Join(all, " ")
			}
			for i, c := range []struct {
				live     int64
				function string
				walked   bool
			}{{5 << 20, "main.weights", false}, {1 << 12, "main.broken main.train", true}, {0, "main.broken main.train", true}} {
				if i == places {
					break
				}
				s := p.Sites[i]
				require.Equal(t, c.live, s.Live)
				if c.walked && unknown {
					require.NotContains(t, names(s), "main.", "no guess is made of a goroutine of an unknown version")
					continue
				}
				require.Contains(t, names(s), c.function)
				require.Contains(t, names(s), "main.main")
				require.Contains(t, names(s), "runtime.goexit")
				for _, frame := range s.Frames {
					if frame.Func == "main.weights" {
						require.Equal(t, "main.go", filepath.Base(frame.File))
						require.Positive(t, frame.Line)
					}
				}
			}
			require.Equal(t, uint64(10), p.Sites[places-1].FreedObjects)
			for _, l := range w.Libraries() {
				if l.Path == lib {
					require.NoError(t, l.Err)
					require.NotZero(t, l.Fast)
				}
			}
			require.Eventually(t, func() bool { k := look().Kernel; return k.Walked+k.Unwalked == 11 }, time.Minute, 20*time.Millisecond)
			if unknown {
				require.Equal(t, uint64(11), look().Kernel.Unwalked, "it is declined, and counted")
			} else {
				require.Zero(t, look().Kernel.Unwalked)
			}
			prog.in.Close()
			prog.Wait()
			require.Eventually(t, func() bool { return look().Exited }, time.Minute, 20*time.Millisecond)
			p = look()
			require.Zero(t, p.Live)
			require.Equal(t, int64(want), p.AtExit)
			require.Contains(t, names(p.Sites[0]), "main.weights", "names survive the process")
			if all {
				f.stop()
			}
			f.over.Wait() // the end of the only process ends the watch
		})
	}
}

// TestTable watches a program of the lastuse runtime that calls no driver: its buffers
// are what its table says, however late one looks.
func TestTable(t *testing.T) {
	for _, noProbes := range []bool{true, false} {
		t.Run(fmt.Sprintf("noProbes=%v", noProbes), func(t *testing.T) { testTable(t, noProbes) })
	}
}

func testTable(t *testing.T, noProbes bool) {
	exe := filepath.Join(t.TempDir(), "keeper")
	out, err := exec.Command("go", "build", "-o", exe, "../../testdata/keeper").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(exe)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	for _, line := range []string{"alloc 0 1000", "alloc 1 2000", "alloc 0 300", "free 0 300", "alloc 1 40", "late 1 40"} {
		fmt.Fprintln(in, line)
	}
	pid := uint32(cmd.Process.Pid)
	w := watch(t, Options{PIDs: []int{int(pid)}, Scan: 50 * time.Millisecond, NoProbes: noProbes})
	f := follow(t, w)
	look := func() (p heap.Process, buffers heap.ClassTotal) {
		p = f.process(pid)
		for _, c := range p.Classes {
			if c.Class == "buffer" {
				buffers = c
			}
		}
		return p, buffers
	}
	// It has 3000 bytes live in its midst, too.
	require.Eventually(t, func() bool { _, b := look(); return b.Live == 3000 && b.AllocBytes == 3340 }, time.Minute, 20*time.Millisecond)
	p, b := look()
	require.Equal(t, "keeper", p.Name)
	require.True(t, p.ByTable, "no driver's memory was seen")
	require.Equal(t, int64(3000), p.Live)
	require.Equal(t, int64(2), b.Objects)
	require.Equal(t, heap.Freed{Bytes: 40, Objects: 1}, p.ByNet)
	var live int64
	for _, s := range p.Sites {
		require.False(t, s.Estimate, "it samples every allocation")
		require.Contains(t, s.Frames[0].Func, "main.main")
		require.Contains(t, s.Frames[0].File, "main.go")
		live += s.Live
	}
	require.Equal(t, int64(3000), live)
	fmt.Fprintln(in, "alloc 0 500") // and ends at once
	in.Close()
	require.NoError(t, cmd.Wait())
	f.over.Wait()
	p, b = look()
	require.True(t, p.Exited)
	require.Zero(t, b.Live)
	require.Equal(t, int64(3500), b.Peak)
	require.Equal(t, int64(3500), p.AtExit, "its table was read once more when it had ended")
	require.Equal(t, int64(3), p.AtExitObjects)
}

// TestTold turns a hostile table's numbers into events that a heap takes.
func TestTold(t *testing.T) {
	s := &probe.Snapshot{
		Accounts: []probe.AccountTotals{{Totals: probe.Totals{MadeBytes: 5, FreedBytes: 1 << 63, LateBytes: 1 << 62}}},
		Sites: []probe.SiteTotals{
			{Hash: 0, AllocObjects: 1, FreeObjects: 1 << 63, AllocBytes: 1, FreeBytes: 1 << 63, LateBytes: 1 << 63, LateObjects: 1 << 63, Stack: "\t\n:\nf\t:x\n\x1b\tq:-5\n" + strings.Repeat("x\n", 1000)},
		},
	}
	h := heap.New(heap.Options{})
	for _, e := range Told(1, []*probe.Snapshot{s, s}, 1) {
		h.Apply(&e)
	}
	h.Apply(&heap.Event{Op: heap.Exit, PID: 1, Time: 2})
	p := h.Snapshot(heap.Query{}).Processes[0]
	require.LessOrEqual(t, len(p.Sites[0].Frames), 64)
	for _, f := range p.Sites[0].Frames {
		require.GreaterOrEqual(t, f.Line, 0)
	}
}

func TestNoSuchProcess(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("no eBPF here: not root")
	}
	_, err := New(Options{PIDs: []int{1 << 30}})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestStartTime(t *testing.T) {
	a, err := procfs.StartTime(os.Getpid())
	require.NoError(t, err)
	b, err := procfs.StartTime(os.Getppid())
	require.NoError(t, err)
	require.GreaterOrEqual(t, a, b)
	require.NotEmpty(t, comm(os.Getpid()))
	require.Contains(t, allPIDs(), os.Getppid())
	require.Positive(t, Clock())
}
