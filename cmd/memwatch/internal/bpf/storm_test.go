//go:build linux && amd64

package bpf

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/probes"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/record"
)

var (
	stormCalls = flag.Int("storm.calls", 40_000, "calls that the storm makes")
	stormStops = flag.Int("storm.stops", 100, "times that the storm stops for a comparison")
	stormSeed  = flag.Int("storm.seed", 1, "seed of the storm")
)

// open opens a session or skips the test, with the reason.
func open(t testing.TB, o Options) *Session {
	t.Helper()
	s, err := Open(o)
	var verifier *ebpf.VerifierError
	if errors.As(err, &verifier) {
		t.Fatalf("%+v", verifier)
	}
	if err != nil && (os.Geteuid() != 0 || errors.Is(err, os.ErrPermission)) {
		t.Skipf("no eBPF here: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// build compiles the storm and returns the paths of its library and program.
func build(t testing.TB, flags ...string) (lib, prog string) {
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
	lib, prog = filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "storm")
	run := func(args ...string) {
		args = append([]string{"-std=gnu11", "-O2", "-fno-omit-frame-pointer", "-fcf-protection=none", "-w", "-I", dir, "-pthread"}, args...)
		out, err := exec.Command(cc, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	run(append(flags, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", lib, "testdata/storm/lib.c")...)
	run("-o", prog, "testdata/storm/main.c", lib, "-Wl,--disable-new-dtags,-rpath,"+dir)
	return lib, prog
}

func image(t testing.TB, path string) *probes.Image {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	m, err := probes.ReadImage(f, probes.LibraryOf("libcuda.so"))
	require.NoError(t, err)
	return m
}

// drain reads reports until the ring is empty.
func drain(t testing.TB, s *Session, do func(*Report)) {
	var r Report
	for {
		ok, err := s.Read(&r)
		require.NoError(t, err)
		if ok {
			do(&r)
		} else if s.Waiting() == 0 {
			return
		}
	}
}

// TestStorm compares the heap with the books of a driver, class by class, at every
// stop of a program that calls each function at random from four threads: some calls
// fail, memory is freed twice, addresses and handles are used again at once, contexts
// end under the feet of other threads.
func TestStorm(t *testing.T) {
	for _, c := range []struct {
		name   string
		flags  []string
		within int // where the probes must be; -1: the compiler decides
		share  int // one in so many calls
	}{
		{"heads of 580", []string{"-DSTUBS=580"}, 0, 1},
		{"heads of 550", []string{"-DSTUBS=550"}, 10, 4},
		{"heads of the compiler", nil, -1, 8},
	} {
		t.Run(c.name, func(t *testing.T) { storm(t, c.flags, c.within, *stormCalls/c.share) })
	}
}

func storm(t *testing.T, flags []string, within, calls int) {
	s := open(t, Options{})
	s.poll = 2 * time.Millisecond
	lib, prog := build(t, flags...)
	m := image(t, lib)
	for _, n := range m.Missing {
		t.Errorf("not probed: %s: %v", n.Probe.Symbol, n.Err)
	}
	for _, p := range m.Placements {
		if within >= 0 {
			require.Equal(t, probes.Fast, p.Cost, "%s at %d", p.Probe.Symbol, p.Within)
			require.Equal(t, within, p.Within, p.Probe.Symbol)
		}
	}
	start := time.Now()
	a, err := s.Attach(lib, m, 0)
	require.NoError(t, err)
	t.Logf("%d probes in %d functions attached in %v", a.Count, len(m.Placements), time.Since(start).Round(time.Microsecond))

	stops := *stormStops
	cmd := exec.Command(prog, fmt.Sprint(*stormSeed), fmt.Sprint(stops), fmt.Sprint(max(calls/stops/4, 1)))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	defer cmd.Wait()
	defer in.Close()
	pid := uint32(cmd.Process.Pid)

	live := heap.New(heap.Options{})
	path := filepath.Join(t.TempDir(), "session")
	w, err := record.Create(path, 0, record.Header{Tool: "storm"})
	require.NoError(t, err)
	var events []heap.Event
	var reports, stacks int
	take := func(r *Report) {
		switch r.Kind {
		case Call:
			reports++
			require.Equal(t, pid, r.Raw.PID)
			events = probes.Translate(events[:0], &r.Raw)
		case Stack:
			stacks++
			require.NotEmpty(t, r.Frames)
			events = append(events[:0], heap.Event{Op: heap.Stack, PID: r.Raw.PID, Time: r.Raw.Time, Stack: r.Raw.Stack})
		case Exit:
			events = append(events[:0], heap.Event{Op: heap.Exit, PID: r.Raw.PID, Time: r.Raw.Time})
		default:
			return
		}
		for i := range events {
			live.Apply(&events[i])
			require.NoError(t, w.Write(&events[i]))
		}
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			lines <- sc.Text()
		}
	}()
	require.Equal(t, "ready", <-lines)
	io.WriteString(in, "\n")
	for i := range stops {
		var line string
		for line == "" {
			select {
			case l, ok := <-lines:
				require.True(t, ok, "the storm ended early")
				line = l
			default:
				drain(t, s, take)
			}
		}
		drain(t, s, take)
		compare(t, i, line, live.Snapshot(heap.Query{PIDs: []uint32{pid}, NoSites: true}))
		if t.Failed() {
			return
		}
		io.WriteString(in, "\n")
	}
	books := s.LedgerOf(pid)
	require.Zero(t, books.LostRing+books.LostCalls+books.LostStacks)
	p := live.Snapshot(heap.Query{}).Processes[0]
	var allocs, frees uint64
	for _, c := range p.Classes {
		allocs += c.AllocObjects
	}
	require.Equal(t, allocs, books.Allocs, "the kernel's books say the same")
	frees = p.Explicit.Objects + p.Unknown.Frees
	require.NotZero(t, p.Undone)
	require.NotZero(t, p.Context.Objects)
	t.Logf("%d calls probed, %d reports, %d stacks, %d frees undone, %d ended with a context; %d allocations, %d frees", books.Hits, reports, stacks, p.Undone, p.Context.Objects, allocs, frees)

	hits, err := s.Hits()
	require.NoError(t, err)
	var table []string
	for i, n := range hits {
		if q := probes.All()[i]; q.Library() == m.Library {
			table = append(table, fmt.Sprintf("%8d %s", n, q.Symbol))
			require.NotZero(t, n, "%s was never hit", q.Symbol)
		}
	}
	sort.Strings(table)
	t.Logf("hits of each function:\n%s", strings.Join(table, "\n"))

	for range lines { // the storm has ended when its output has
	}
	drain(t, s, take)
	require.NoError(t, w.Close())
	p = live.Snapshot(heap.Query{PIDs: []uint32{pid}}).Processes[0]
	require.True(t, p.Exited)
	require.Zero(t, p.Live)
	replayed := heap.New(heap.Options{})
	r, err := record.Open(path)
	require.NoError(t, err)
	defer r.Close()
	for {
		var e heap.Event
		if err := r.Read(&e); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
		replayed.Apply(&e)
	}
	require.Equal(t, live.Snapshot(heap.Query{}), replayed.Snapshot(heap.Query{}), "what is recorded replays to the same heap")
}

// TestSingleProbes attaches to a few functions as older kernels do it: a probe each.
func TestSingleProbes(t *testing.T) {
	s := open(t, Options{Single: true})
	s.poll = 2 * time.Millisecond
	require.True(t, s.Single())
	lib, prog := build(t)
	m := image(t, lib)
	few := *m
	few.Placements = nil
	for _, p := range m.Placements {
		switch p.Probe.Symbol {
		case "cuMemAlloc_v2", "cuMemFree_v2", "cuCtxSetCurrent":
			few.Placements = append(few.Placements, p)
		}
	}
	a, err := s.Attach(lib, &few, 0)
	require.NoError(t, err)
	require.Equal(t, 6, a.Count)
	cmd := exec.Command(prog, "1", "1", "3000")
	cmd.Stdin = strings.NewReader("\n\n")
	require.NoError(t, cmd.Run())
	got := make(map[string]int)
	drain(t, s, func(r *Report) {
		if r.Kind == Call {
			got[fmt.Sprint(probes.All()[r.Raw.Probe].Symbol, " ", r.Raw.Phase)]++
		}
	})
	for _, want := range []string{"cuMemAlloc_v2 1", "cuMemAlloc_v2 2", "cuMemFree_v2 0", "cuMemFree_v2 2", "cuCtxSetCurrent 1"} {
		require.NotZero(t, got[want], want)
	}
	require.Len(t, got, 5, "%v", got)
}

// TestOnly watches one process and not another that does the same.
func TestOnly(t *testing.T) {
	lib, prog := build(t)
	m := image(t, lib)
	for _, kernel := range []bool{true, false} {
		s := open(t, Options{Only: true})
		s.poll = 2 * time.Millisecond
		if !kernel {
			s.filters = false
		}
		var in [2]io.WriteCloser
		var cmds [2]*exec.Cmd
		for i := range cmds {
			cmds[i] = exec.Command(prog, "1", "1", "200")
			in[i], _ = cmds[i].StdinPipe()
			require.NoError(t, cmds[i].Start())
		}
		pid := uint32(cmds[0].Process.Pid)
		require.NoError(t, s.Watch(pid, Target{}))
		_, err := s.Attach(lib, m, pid)
		require.NoError(t, err)
		for i := range cmds {
			io.WriteString(in[i], "\n\n")
			in[i].Close()
			require.NoError(t, cmds[i].Wait())
		}
		n := 0
		drain(t, s, func(r *Report) {
			require.Equal(t, pid, r.Raw.PID)
			n++
		})
		require.NotZero(t, n)
		all, err := s.Ledgers()
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.NotZero(t, s.LedgerOf(pid).Hits)
		s.Forget(pid)
		require.Zero(t, s.LedgerOf(pid))
	}
}

// TestLost leaves the ring unread: what finds no room is counted, and the kernel's
// own books stay right.
func TestLost(t *testing.T) {
	lib, prog := build(t)
	s := open(t, Options{Ring: 64 << 10})
	s.poll = 2 * time.Millisecond
	_, err := s.Attach(lib, image(t, lib), 0)
	require.NoError(t, err)
	cmd := exec.Command(prog, "1", "1", "3000")
	cmd.Stdin = strings.NewReader("\n\n")
	require.NoError(t, cmd.Run())
	l := s.LedgerOf(uint32(cmd.Process.Pid))
	require.NotZero(t, l.LostRing)
	// The flood of one hides nothing of another: what that lost is told of it.
	other := exec.Command(prog, "2", "1", "50")
	other.Stdin = strings.NewReader("\n\n")
	require.NoError(t, other.Run())
	l2 := s.LedgerOf(uint32(other.Process.Pid))
	require.NotZero(t, l2.LostRing)
	require.Less(t, l2.LostRing, l.LostRing)
	require.Equal(t, l, s.LedgerOf(uint32(cmd.Process.Pid)))
	n := uint64(0)
	drain(t, s, func(r *Report) {
		if r.Kind != Stack {
			n++
		}
	})
	require.NotZero(t, n)
	t.Logf("%d hits, %d reports read, %d lost; %d allocations of %d bytes", l.Hits, n, l.LostRing, l.Allocs, l.Bytes)
	require.NotZero(t, l.Allocs)
	require.NotZero(t, l.Bytes)
}

// TestLayout compares what decode expects with the types that were generated from
// the programs.
func TestLayout(t *testing.T) {
	require.Equal(t, uintptr(eventSize), unsafe.Sizeof(watchEvent{}))
	require.Equal(t, uintptr(72), unsafe.Offsetof(watchEvent{}.Words))
	require.Equal(t, uintptr(stackEventSize), unsafe.Sizeof(watchStackEvent{}))
	require.Equal(t, uintptr(48), unsafe.Offsetof(watchStackEvent{}.Pc))
	require.Equal(t, unsafe.Sizeof(probes.Descriptor{}), unsafe.Sizeof(watchDescriptor{}))
	require.Equal(t, unsafe.Offsetof(probes.Descriptor{}.Fetch), unsafe.Offsetof(watchDescriptor{}.Fetch))
	require.Equal(t, uintptr(copyHead), unsafe.Sizeof(watchCopy{}))
	require.Equal(t, uintptr(80), unsafe.Offsetof(watchCopy{}.Bytes))
	require.Equal(t, uintptr(codeSize), unsafe.Sizeof(watchCodeEvent{}))
	require.Equal(t, uintptr(codeHead), unsafe.Offsetof(watchCodeEvent{}.FileText))
	require.Equal(t, uintptr(codeHead+pyFile), unsafe.Offsetof(watchCodeEvent{}.NameText))
	require.Equal(t, uintptr(pythonHead), unsafe.Offsetof(watchPythonEvent{}.Frame))
	var r Report
	require.ErrorIs(t, r.decode(nil), ErrReport)
	require.ErrorIs(t, r.decode(make([]byte, eventSize+copyHead-1)), ErrReport)
	lying := make([]byte, eventSize+copyHead+5)
	for i := range copyHead { // it says that there are more bytes than it has
		lying[eventSize+i] = byte(i + 1)
	}
	require.NoError(t, r.decode(lying))
	require.Equal(t, Copy{
		Salt: 0x0807060504030201, Trampoline: 0x100f0e0d0c0b0a09, PC: 0x1817161514131211, SP: 0x201f1e1d1c1b1a19,
		BX: 0x2827262524232221, BP: 0x302f2e2d2c2b2a29, R12: 0x3837363534333231, R13: 0x403f3e3d3c3b3a39,
		R14: 0x4847464544434241, R15: 0x504f4e4d4c4b4a49, Bytes: make([]byte, 5), Wanted: 0x58575655,
	}, *r.Copy)
	require.NoError(t, r.decode(make([]byte, eventSize)))
	require.Nil(t, r.Copy)
	require.ErrorIs(t, r.decode(make([]byte, eventSize-1)), ErrReport)
	require.ErrorIs(t, r.decode(append([]byte{9}, make([]byte, eventSize)...)), ErrReport)
	for _, kind := range []Kind{Stack, Code, Python} {
		require.ErrorIs(t, r.decode([]byte{byte(kind), 0}), ErrReport)
	}
	for i := range 256 { // each says that there is more than there is
		code := bytes.Repeat([]byte{byte(i)}, codeSize+7)
		code[0] = byte(Code)
		require.NoError(t, r.decode(code))
		require.LessOrEqual(t, len(r.Code.Table), 7)
		chain := bytes.Repeat([]byte{byte(i)}, pythonHead+3*16+5)
		chain[0] = byte(Python)
		require.NoError(t, r.decode(chain))
		require.Len(t, r.Lines, min(3, i*0x101))
	}
	long := make([]byte, stackEventSize)
	long[0], long[2], long[3] = byte(Stack), 0xff, 0xff
	require.NoError(t, r.decode(long))
	require.Len(t, r.Frames, maxFrames)
}

// compare compares the driver's books, as the storm prints them, with a process.
func compare(t *testing.T, stop int, line string, s *heap.Snapshot) {
	words := strings.Fields(line)
	require.Len(t, words, 2*int(heap.Buffer))
	require.Len(t, s.Processes, 1)
	got := make(map[string]heap.ClassTotal)
	for _, c := range s.Processes[0].Classes {
		got[c.Class] = c
	}
	for c := range heap.Buffer {
		have := got[c.String()]
		require.Equal(t, words[2*c]+" "+words[2*c+1], fmt.Sprintf("%d %d", have.Live, have.Objects), "stop %d: bytes and objects of class %v", stop, c)
	}
}
