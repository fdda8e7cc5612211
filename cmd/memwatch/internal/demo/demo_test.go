package demo

import (
	"bytes"
	"cmp"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/cmd/memwatch/internal/heap"
	"github.com/lastuse/lastuse/cmd/memwatch/internal/record"
)

var update = flag.Bool("update", false, "write the session anew")

const (
	second = int64(1e9)
	length = 120 * second
	mib    = uint64(1) << 20
)

// A script is a session that is being made up.
type script struct {
	events []heap.Event
	r      *rand.Rand
	addr   uint64
}

func (s *script) add(e heap.Event) { s.events = append(s.events, e) }

func (s *script) stack(pid uint32, id uint64, frames ...heap.Frame) {
	s.add(heap.Event{Op: heap.Stack, PID: pid, Stack: id, Frames: frames})
}

func (s *script) alloc(pid uint32, at int64, size, stack uint64, class heap.Class) (addr uint64) {
	s.addr += 1 << 32
	e := heap.Event{Op: heap.Alloc, PID: pid, TID: pid, Time: at, Addr: s.addr, Size: size, Class: class, Device: heap.NoDevice, Stack: stack}
	switch class {
	case heap.Buffer:
		e.Space, e.Owner = heap.Buffers, heap.ByProcess
	case heap.Pool:
		e.Owner = heap.ByDevice
	case heap.Pinned:
		e.Space = heap.Host
	}
	s.add(e)
	return s.addr
}

func (s *script) free(pid uint32, at int64, addr uint64, class heap.Class, late bool) {
	if at >= length {
		return
	}
	e := heap.Event{Op: heap.Free, PID: pid, TID: pid, Time: at, Addr: addr}
	switch class {
	case heap.Buffer:
		e.Space, e.Class = heap.Buffers, heap.Buffer
	case heap.Pinned:
		e.Space = heap.Host
	}
	if late {
		e.Code = 1
	}
	s.add(e)
}

func frame(fn, file string, line int, module string) heap.Frame {
	return heap.Frame{Func: fn, File: file, Line: line, Module: module}
}

func (s *script) begin(pid uint32, name string, device int32) {
	s.add(heap.Event{Op: heap.Start, PID: pid, Size: uint64(pid), Text: name})
	s.add(heap.Event{Op: heap.Primary, PID: pid, TID: pid, Addr: 0xc0, Device: device})
	s.add(heap.Event{Op: heap.CtxSet, PID: pid, TID: pid, Addr: 0xc0, Device: heap.NoDevice})
}

// trainer keeps its weights, takes a workspace for each step, and forgets one entry of
// a cache now and then.
func (s *script) trainer() {
	const pid = 4101
	s.begin(pid, "trainer", 0)
	main := frame("main.main", "/src/trainer/main.go", 31, "trainer")
	s.stack(pid, 1, frame("main.loadWeights", "/src/trainer/model.go", 88, "trainer"), main)
	s.stack(pid, 2, frame("main.(*Step).forward", "/src/trainer/step.go", 57, "trainer"), frame("main.train", "/src/trainer/step.go", 21, "trainer"), main)
	s.stack(pid, 3, frame("main.(*Cache).put", "/src/trainer/cache.go", 40, "trainer"), frame("main.(*Step).forward", "/src/trainer/step.go", 63, "trainer"), frame("main.train", "/src/trainer/step.go", 21, "trainer"), main)
	s.stack(pid, 4, frame("main.(*Loader).stage", "/src/trainer/loader.go", 19, "trainer"), main)
	for i := range 24 {
		s.alloc(pid, second+int64(i)*20e6, 48*mib, 1, heap.Device)
	}
	s.alloc(pid, second/2, 64*mib, 4, heap.Pinned)
	for at := 3 * second; at < length; at += 400e6 {
		n := 8 + s.r.Uint64N(24)
		p := s.alloc(pid, at, n*mib, 2, heap.Pool)
		s.free(pid, at+250e6, p, heap.Pool, false)
		if s.r.IntN(3) == 0 {
			s.alloc(pid, at+100e6, 4*mib, 3, heap.Device)
		}
	}
	s.add(heap.Event{Op: heap.Fail, PID: pid, TID: pid, Time: 118 * second, Size: 2048 * mib, Code: 2, Aux: 1, Stack: 2, Text: "cuMemAlloc_v2"})
}

// server has memory for as many requests as there are, and is killed.
func (s *script) server() {
	const pid = 4203
	s.begin(pid, "inference", 1)
	s.stack(pid, 1, frame("at::native::empty_cuda", "", 0, "libtorch_cuda.so"), frame("THPVariable_empty", "", 0, "libtorch_python.so"), frame("_PyEval_EvalFrameDefault", "", 0, "python3.12"))
	s.stack(pid, 2, frame("ExpandableSegment::map", "", 0, "libc10_cuda.so"), frame("at::native::empty_cuda", "", 0, "libtorch_cuda.so"))
	handle := uint64(0xa000)
	for i := range 20 {
		handle++
		s.add(heap.Event{Op: heap.Create, PID: pid, TID: pid, Time: 2*second + int64(i)*50e6, Addr: handle, Size: 20 * mib, Class: heap.Physical, Device: 1, Stack: 2})
		s.add(heap.Event{Op: heap.Map, PID: pid, TID: pid, Time: 2*second + int64(i)*50e6 + 1000, Addr: 0x7f0000000000 + handle<<28, Size: 20 * mib, Aux: handle})
	}
	for at := 5 * second; at < 104*second; at += 150e6 {
		load := 40 + 35*((at/(10*second))%3)
		if s.r.Int64N(100) < load {
			p := s.alloc(pid, at, (1+s.r.Uint64N(12))*mib, 1, heap.Device)
			s.free(pid, at+int64(500e6)+s.r.Int64N(int64(2*second)), p, heap.Device, false)
		}
	}
	s.events = slices.DeleteFunc(s.events, func(e heap.Event) bool { return e.PID == pid && e.Time > 105*second })
	s.add(heap.Event{Op: heap.Exit, PID: pid, TID: pid, Time: 105 * second})
}

// runtime reserves a segment and hands out buffers, some of which it forgets to free.
func (s *script) runtime() {
	const pid = 4377
	s.begin(pid, "workspace", 0)
	s.stack(pid, 1, frame("alloc.(*Pool).grow", "alloc/pool.go", 310, "workspace"), frame("alloc.Make", "alloc/make.go", 44, "workspace"))
	s.stack(pid, 2, frame("main.step", "/src/workspace/main.go", 25, "workspace"), frame("main.main", "/src/workspace/main.go", 52, "workspace"))
	s.stack(pid, 3, frame("main.report", "/src/workspace/main.go", 38, "workspace"), frame("main.main", "/src/workspace/main.go", 55, "workspace"))
	s.alloc(pid, second, 256*mib, 1, heap.Device)
	for at := 2 * second; at < length; at += 300e6 {
		p := s.alloc(pid, at, 16*mib, 2, heap.Buffer)
		s.free(pid, at+120e6, p, heap.Buffer, false)
		if at%(1200e6) < 300e6 {
			q := s.alloc(pid, at+10e6, 2*mib, 3, heap.Buffer)
			s.free(pid, at+6*second, q, heap.Buffer, true)
		}
	}
}

// make returns the session as a record file.
func makeSession(t *testing.T) []byte {
	s := &script{r: rand.New(rand.NewPCG(20, 26)), addr: 0x7f0000000000}
	s.trainer()
	s.server()
	s.runtime()
	slices.SortStableFunc(s.events, func(a, b heap.Event) int { return cmp.Compare(a.Time, b.Time) })
	var b bytes.Buffer
	w, err := record.NewWriter(&b, 0, record.Header{Wall: 1_790_000_000e9, Tool: "memwatch demo"})
	require.NoError(t, err)
	for i := range s.events {
		require.NoError(t, w.Write(&s.events[i]))
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// TestSession replays the session: it is what the script says, and shows what the
// package comment promises.
func TestSession(t *testing.T) {
	want := makeSession(t)
	if *update {
		require.NoError(t, os.WriteFile("session.mwr", want, 0o644))
		session = want
	}
	require.True(t, bytes.Equal(want, Session()), "run go test -update")
	r, err := Open()
	require.NoError(t, err)
	h := heap.New(heap.Options{})
	for {
		var e heap.Event
		if err := r.Read(&e); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
		h.Apply(&e)
	}
	s := h.Snapshot(heap.Query{})
	require.Len(t, s.Processes, 3)
	trainer, workspace, server := s.Processes[0], s.Processes[1], s.Processes[2]
	require.Equal(t, "trainer", trainer.Name)
	require.NotNil(t, trainer.OOM)
	var suspects []string
	for _, site := range trainer.Sites {
		if len(site.Suspect) > 0 {
			suspects = append(suspects, site.Frames[0].Func)
		}
	}
	require.Equal(t, []string{"main.(*Cache).put"}, suspects)
	require.Equal(t, "inference", server.Name)
	require.True(t, server.Exited)
	require.NotZero(t, server.AtExit)
	var left int64
	for _, site := range server.Sites {
		left += site.AtExitObjects
	}
	require.Equal(t, left, server.AtExitObjects, "as its sites")
	require.NotZero(t, left)
	require.NotZero(t, workspace.ByNet.Objects)
	require.NotZero(t, workspace.Explicit.Objects)
	require.Equal(t, int64(256*mib), workspace.Live, "buffers are parts of what is reserved")
}
