//go:build cgo && linux

package cudadrv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

func TestOpenErrors(t *testing.T) {
	tests := []struct {
		name string
		path func(t *testing.T) string
		want string
	}{
		{"no library", func(t *testing.T) string { return filepath.Join(t.TempDir(), "libcuda.so.1") }, "cannot open shared object file"},
		{"symbols missing", func(t *testing.T) string {
			return drvtest.Build(t, drvtest.Options{Without: []string{"cuMemCreate", "cuStreamGetId"}})
		}, "driver 13.0 lacks cuStreamGetId, cuMemCreate"},
		{"too old", func(t *testing.T) string {
			path := drvtest.Build(t, drvtest.Options{})
			drvtest.Load(t, path).Set(t, "version", 11080)
			return path
		}, "driver 11.8 is older than 12.0"},
		{"no device", func(t *testing.T) string {
			path := drvtest.Build(t, drvtest.Options{})
			drvtest.Load(t, path).Set(t, "devices", 0)
			return path
		}, "cuda: cuInit: CUDA_ERROR_NO_DEVICE (100)"},
		{"not a driver", func(t *testing.T) string { return "libm.so.6" }, "driver of unknown version lacks cuInit, "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := OpenAt(tt.path(t))
			require.ErrorIs(t, err, ErrUnavailable)
			assert.Contains(t, err.Error(), tt.want)
			assert.True(t, strings.HasPrefix(err.Error(), "cuda: "), err)
		})
	}
}

// A symbol that newer drivers alone have may be missing; its call says so.
func TestOptionalSymbol(t *testing.T) {
	e := standIn(t, drvtest.Options{Without: []string{"cuFuncGetParamInfo"}})
	f := e.load(t, kernels, "addto")
	_, _, _, err := e.ctx.FuncGetParamInfo(f, 0)
	require.ErrorIs(t, err, ErrMissing)
	assert.EqualError(t, err, "cuda: cuFuncGetParamInfo: the driver lacks the call")
}

func TestErrors(t *testing.T) {
	e := standIn(t, drvtest.Options{})
	tests := []struct {
		code int
		is   error
		want string
	}{
		{2, ErrOutOfMemory, "cuda: cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY (2)"},
		{4, ErrShuttingDown, "cuda: cuMemCreate: CUDA_ERROR_DEINITIALIZED (4)"},
		{700, ErrSticky, "cuda: cuMemCreate: CUDA_ERROR_ILLEGAL_ADDRESS (700)"},
		{710, ErrSticky, "cuda: cuMemCreate: CUDA_ERROR_ASSERT (710)"},
		{900, ErrCapturing, "cuda: cuMemCreate: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900)"},
		{777, nil, "cuda: cuMemCreate: error 777"},
	}
	sentinels := []error{ErrOutOfMemory, ErrShuttingDown, ErrSticky, ErrCapturing, ErrMissing}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			e.StandIn.Fail(t, "cuMemCreate", 0, 1, tt.code)
			_, err := e.ctx.MemCreate(2 << 20)
			assert.EqualError(t, err, tt.want)
			for _, s := range sentinels {
				assert.Equal(t, s == tt.is, errors.Is(err, s), "errors.Is %v", s)
			}
			var ce *Error
			require.ErrorAs(t, err, &ce)
			if ce.Name != "" {
				assert.NotEmpty(t, ce.Text)
			}
		})
	}
	e.StandIn.Deinit(true)
	err := e.ctx.MemFree(0)
	e.StandIn.Deinit(false)
	assert.ErrorIs(t, err, ErrShuttingDown)
}

// A goroutine may be on any thread: each call brings its context along.
func TestContextFollows(t *testing.T) {
	e := open(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			// and never unlock: the thread ends with the goroutine, the next one is fresh
			runtime.LockOSThread()
			p, err := e.ctx.MemAlloc(4096)
			if assert.NoError(t, err) {
				assert.NoError(t, e.ctx.MemsetD32(p, 7, 1024, e.stream))
				assert.NoError(t, e.ctx.StreamSynchronize(e.stream))
				assert.NoError(t, e.ctx.MemFree(p))
			}
		}()
	}
	wg.Wait()
}

// Foreign code on our thread changes the current context: memory still comes from our device, and work goes
// to our streams, the default one too.
func TestContextChangedBehind(t *testing.T) {
	e := open(t)
	c := e.ctx
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f := e.load(t, kernels, "addto")
	p, err := c.MemAlloc(4096)
	require.NoError(t, err)
	ev, err := c.EventCreate()
	require.NoError(t, err)
	h, bytes := e.pinned(t, 4096)
	dev := drvtest.Value(uint64(c.Device()))
	foreign := []drvtest.Call{{Function: "cuCtxCreate_v2", Args: []drvtest.Arg{drvtest.Out(7), drvtest.Value(0), dev}}}
	drvtest.Loop(t, e.Path, 1, foreign...)
	one := Dim{1, 1, 1}
	q := uintptr(0)
	for _, s := range []uintptr{e.stream, LegacyStream} {
		for _, x := range []struct {
			name string
			run  func() error
		}{
			{"set", func() error { return c.MemsetD32(p, 40, 16, s) }},
			{"launch", func() error {
				return c.LaunchKernel(f, one, Dim{16, 1, 1}, 0, s, []uint64{uint64(p), 2, 16}, []uint16{0, 8, 16})
			}},
			{"copy", func() error { return c.MemcpyDtoH(h, p, 64, s) }},
			{"record", func() error { _, err := c.EventRecord(ev, s); return err }},
			{"wait", func() error { return c.StreamWaitEvent(s, ev) }},
			{"query", func() error { _, err := c.EventQuery(ev); return err }},
			{"sync", func() error { return c.StreamSynchronize(s) }},
			{"id", func() error { _, err := c.StreamGetId(s); return err }},
			{"alloc", func() (err error) { q, err = c.MemAlloc(4096); return err }},
			{"free", func() error { return c.MemFree(q) }},
		} {
			// Behind our back, before each call.
			drvtest.Loop(t, e.Path, 1, drvtest.Call{Function: "cuCtxSetCurrent", Args: []drvtest.Arg{drvtest.Slot(7)}})
			require.NoError(t, x.run(), "%s on %#x", x.name, s)
		}
		assert.EqualValues(t, 42, binary.NativeEndian.Uint32(bytes[60:]))
		clear(bytes)
	}
	drvtest.Loop(t, e.Path, 1, drvtest.Call{Function: "cuCtxDestroy_v2", Args: []drvtest.Arg{drvtest.Slot(7)}})
	require.NoError(t, c.MemFree(p))
	require.NoError(t, c.EventDestroy(ev))
}

// The context of another device, ours too, is current on the thread: memory comes from the right one.
func TestTwoDevices(t *testing.T) {
	e := standIn(t, drvtest.Options{})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	other, err := e.drv.Retain(1)
	require.NoError(t, err)
	defer other.Release()
	p, err := e.ctx.MemAlloc(4096)
	require.NoError(t, err)
	q, err := other.MemAlloc(8192)
	require.NoError(t, err)
	b := e.StandIn.Books()
	assert.EqualValues(t, 4096, b.Device[0])
	assert.EqualValues(t, 8192, b.Device[1])
	require.NoError(t, e.ctx.MemFree(p))
	require.NoError(t, other.MemFree(q))
}

// After the last release calls fail, and a context that lives again works on every thread.
func TestRelease(t *testing.T) {
	e := standIn(t, drvtest.Options{})
	a, err := e.drv.Retain(1)
	require.NoError(t, err)
	b, err := e.drv.Retain(1)
	require.NoError(t, err)
	require.NoError(t, a.Release())
	_, _, err = a.MemGetInfo()
	require.NoError(t, err, "b still holds it")
	old, err := b.MemAlloc(1 << 20)
	require.NoError(t, err)
	require.NoError(t, b.Release())
	_, _, err = b.MemGetInfo()
	assert.EqualError(t, err, "cuda: cuMemGetInfo: CUDA_ERROR_INVALID_CONTEXT (201)")
	assert.Error(t, b.Release())
	c, err := e.drv.Retain(1)
	require.NoError(t, err)
	_, _, err = c.MemGetInfo()
	assert.NoError(t, err)
	assert.EqualError(t, b.MemFree(old), "cuda: cuMemFree: CUDA_ERROR_INVALID_CONTEXT (201)",
		"what an older life had may be somebody else's by now")
	assert.Error(t, b.Release())
	require.NoError(t, c.Release())
	assert.EqualValues(t, 1, e.StandIn.Books().Retains)
}

func TestKernel(t *testing.T) {
	e := open(t)
	c := e.ctx
	f := e.load(t, kernels, "addto")
	const n = 1000
	p, err := c.MemAlloc(4 * n)
	require.NoError(t, err)
	h, bytes := e.pinned(t, 4*n)
	for i := range n {
		binary.NativeEndian.PutUint32(bytes[4*i:], uint32(i))
	}
	require.NoError(t, c.MemcpyHtoD(p, h, 4*n, e.stream))
	params, at := []uint64{uint64(p), 5, n}, []uint16{0, 8, 16}
	require.NoError(t, c.LaunchKernel(f, Dim{(n + 127) / 128, 1, 1}, Dim{128, 1, 1}, 0, e.stream, params, at))
	params[1] = 0 // the launch has taken its arguments
	require.NoError(t, c.MemcpyDtoH(h, p, 4*n, e.stream))
	require.NoError(t, c.StreamSynchronize(e.stream))
	for i := range n {
		require.EqualValues(t, i+5, binary.NativeEndian.Uint32(bytes[4*i:]), "word %d", i)
	}
	require.NoError(t, c.MemFree(p))
	for i, want := range []int{8, 4, 4} {
		_, size, ok, err := c.FuncGetParamInfo(f, i)
		if err != nil {
			t.Log("parameters: ", err)
			break
		}
		assert.True(t, ok)
		assert.Equal(t, want, size)
	}
	_, _, ok, err := c.FuncGetParamInfo(f, 3)
	if err == nil {
		assert.False(t, ok, "add has three parameters")
	}
}

func TestBadModule(t *testing.T) {
	e := open(t)
	for name, text := range map[string]string{
		"not PTX":             "int main() {}",
		"empty":               "",
		"unknown instruction": ".version 6.5\n.target sm_50\n.address_size 64\n.visible .entry k()\n{\n\tfrobnicate.u32 %r1;\n\tret;\n}\n",
	} {
		_, err := e.ctx.ModuleLoad([]byte(text))
		require.Error(t, err, name)
		assert.Contains(t, err.Error(), "cuda: cuModuleLoadData: CUDA_ERROR_", name)
		if name == "unknown instruction" {
			assert.Contains(t, err.Error(), "line 6", "the driver's log")
		}
	}
	m, err := e.ctx.ModuleLoad([]byte(kernels))
	require.NoError(t, err)
	defer e.ctx.ModuleUnload(m)
	_, err = e.ctx.ModuleGetFunction(m, "nothing")
	assert.EqualError(t, err, "cuda: cuModuleGetFunction: CUDA_ERROR_NOT_FOUND (500)")
	_, err = e.ctx.ModuleGetFunction(m, strings.Repeat("x", 600))
	assert.Error(t, err)
}

// On a stream under capture nothing of ours is enqueued; on others everything works and the capture survives,
// also what captures forbid to every thread.
func TestCapture(t *testing.T) {
	e := open(t)
	c := e.ctx
	p, err := c.MemAlloc(4096)
	require.NoError(t, err)
	h, _ := e.pinned(t, 4096)
	f := e.load(t, kernels, "empty")
	ev, err := c.EventCreate()
	require.NoError(t, err)
	taken, err := c.EventRecord(ev, e.stream)
	require.NoError(t, err)
	assert.False(t, taken)
	captured, err := c.StreamCreate()
	require.NoError(t, err)
	one := Dim{1, 1, 1}
	runtime.LockOSThread() // a capture ends on the thread on which it began
	defer runtime.UnlockOSThread()
	require.NoError(t, c.StreamBeginCapture(captured, CaptureGlobal))
	_, record := c.EventRecord(ev, captured)
	for name, err := range map[string]error{
		"launch": c.LaunchKernel(f, one, one, 0, captured, nil, nil),
		"HtoD":   c.MemcpyHtoD(p, h, 64, captured),
		"DtoH":   c.MemcpyDtoH(h, p, 64, captured),
		"DtoD":   c.MemcpyDtoD(p, p+64, 64, captured),
		"set":    c.MemsetD8(p, 1, 64, captured),
		"record": record,
		"wait":   c.StreamWaitEvent(captured, ev),
		"sync":   c.StreamSynchronize(captured),
	} {
		assert.ErrorIs(t, err, ErrCapturing, name)
	}
	on, err := c.StreamIsCapturing(captured)
	require.NoError(t, err)
	assert.True(t, on)

	q, err := c.MemAlloc(4096)
	require.NoError(t, err)
	_, err = c.EventQuery(ev)
	require.NoError(t, err)
	require.NoError(t, c.EventSynchronize(ev))
	require.NoError(t, c.StreamSynchronize(e.stream))
	_, err = c.StreamQuery(e.stream)
	require.NoError(t, err)
	require.NoError(t, c.MemFree(q))

	graph, err := c.StreamEndCapture(captured)
	require.NoError(t, err, "the capture is whole")
	require.NoError(t, c.GraphDestroy(graph))
	require.NoError(t, c.StreamDestroy(captured))
	require.NoError(t, c.EventDestroy(ev))
	require.NoError(t, c.MemFree(p))
	if e.StandIn != nil {
		assert.Zero(t, e.StandIn.Books().BrokenCapture)
	}
}

// The collector does not wait for a driver call: a collection starts and ends while one blocks for a second.
func TestCollectWhileBlocked(t *testing.T) {
	e := open(t)
	f := e.load(t, kernels, "spin")
	one := Dim{1, 1, 1}
	// Once for nothing, so that what the driver does lazily is done.
	require.NoError(t, e.ctx.LaunchKernel(f, one, one, 0, e.stream, []uint64{1}, []uint16{0}))
	require.NoError(t, e.ctx.StreamSynchronize(e.stream))
	const length = time.Second
	require.NoError(t, e.ctx.LaunchKernel(f, one, one, 0, e.stream, []uint64{uint64(length)}, []uint16{0}))
	begun, done := make(chan struct{}), make(chan time.Duration)
	start := time.Now()
	go func() {
		close(begun)
		assert.NoError(t, e.ctx.StreamSynchronize(e.stream))
		done <- time.Since(start)
	}()
	<-begun
	time.Sleep(50 * time.Millisecond)
	at := time.Now()
	runtime.GC()
	took, since := time.Since(at), time.Since(start)
	select {
	case blocked := <-done:
		t.Fatalf("the call blocked for %v only", blocked)
	default:
	}
	blocked := <-done
	t.Logf("collection took %v, over %v into a call that blocked %v", took, since, blocked)
	assert.GreaterOrEqual(t, blocked, length*9/10)
	assert.Less(t, since, blocked)
}

// TestHeads looks at the first instructions of the stand-in's functions, which probes are placed by.
func TestHeads(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the heads are those of amd64")
	}
	for heads, want := range map[int]string{
		580: "55 48 89 e5 41 54 53 48 83 ec 08 81 3d .. .. .. .. 00 ba 1c 32 74",
		550: "81 3d .. .. .. .. 00 ba 1c 32 74 .. ff 25",
	} {
		path := drvtest.Build(t, drvtest.Options{Heads: heads})
		s := drvtest.Load(t, path)
		d, err := OpenAt(path)
		require.NoError(t, err)
		ctx, err := d.Retain(0)
		require.NoError(t, err)
		p, err := ctx.MemAlloc(1 << 20)
		require.NoError(t, err)
		assert.EqualValues(t, 1<<20, s.Books().Device[0])
		require.NoError(t, ctx.MemFree(p))
		require.NoError(t, ctx.Release())
		for _, f := range []string{"cuMemAlloc_v2", "cuMemFree_v2", "cuLaunchKernel", "cuMemCreate"} {
			pattern := strings.Fields(want)
			for i, b := range s.Head(t, f, len(pattern)) {
				if pattern[i] != ".." {
					assert.Equal(t, pattern[i], fmt.Sprintf("%02x", b), "%s of %d, byte %d", f, heads, i)
				}
			}
		}
	}
}
