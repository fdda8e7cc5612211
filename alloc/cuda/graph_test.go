//go:build cgo && linux

package cuda

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/internal/cudadrv"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

func floats(tb testing.TB, s *alloc.Stream, b alloc.Buffer[float32]) []float32 {
	tb.Helper()
	got := make([]float32, b.Len())
	require.NoError(tb, b.CopyTo(s, got))
	return got
}

// A graph with kernels, fills, copies, transfers and copies from Go memory, on two streams, with memory
// inside: it runs whenever it is launched, on any stream, and not before.
func TestGraph(t *testing.T) {
	e := start(t, alloc.Options{})
	k := e.kernel(t, testPTX, "axpy")
	u, err := e.pool.NewStream()
	require.NoError(t, err)
	const n = 1000
	one := Dim{X: 4}
	y := buffer[float32](t, e.s, n)
	require.NoError(t, y.Fill(e.s, 1))
	h, err := alloc.MakePinned[float32](e.pool, n)
	require.NoError(t, err)
	back, err := alloc.MakePinned[float32](e.pool, n)
	require.NoError(t, err)
	axpy := func(s *alloc.Stream, y, x alloc.Buffer[float32], a float32) error {
		return k.Launch(s, one, Dim{X: 256}, 0, y.Arg(), x.Arg(), alloc.Scalar(a), alloc.Scalar(uint32(n)))
	}
	var out alloc.Buffer[float32]
	src := make([]float32, n)
	f := func(factor float32) func() error {
		return func() error {
			x, err := alloc.Make[float32](e.s, n)
			if err != nil {
				return err
			}
			if out, err = alloc.Make[float32](e.s, n); err != nil {
				return err
			}
			for i := range src {
				src[i] = 100
			}
			err = errors.Join(x.Fill(e.s, 2), out.CopyFrom(e.s, src))
			clear(src) // which is the caller's again
			u.Wait(e.s)
			z, err2 := alloc.Make[float32](u, n)
			err = errors.Join(err, err2, alloc.Upload(u, z, h), axpy(u, z, x, 10), axpy(e.s, y, x, factor))
			e.s.Wait(u)
			err = errors.Join(err, axpy(e.s, out, z, 1), alloc.Download(e.s, back, out))
			x.Free()
			z.Free()
			return err
		}
	}
	g, err := e.s.Capture(f(1))
	require.NoError(t, err)
	assert.EqualValues(t, 1, floats(t, e.s, y)[n-1], "nothing has run")
	want := float32(1)
	launch := func(s *alloc.Stream, add, x float32) {
		h.Slice()[n-1] = x
		require.NoError(t, g.Launch(s))
		want += add
		assert.EqualValues(t, want, floats(t, s, y)[n-1])
		assert.EqualValues(t, 100+x+20, floats(t, s, out)[n-1])
		assert.EqualValues(t, 100+x+20, back.Slice()[n-1])
	}
	launch(e.s, 2, 5)
	launch(u, 2, 6)
	launch(e.s, 2, 7)
	old := out
	require.NoError(t, g.Update(f(3)), "the driver's update")
	old.Free()
	launch(e.s, 6, 8)
	more := f(0)
	require.NoError(t, g.Update(func() error { return errors.Join(y.Fill(e.s, 9), more()) }), "a new executable")
	want = 9
	launch(u, 0, 9)
	require.Error(t, g.Update(func() error { _ = more(); return errors.New("boom") }))
	assert.ErrorIs(t, out.Fill(e.s, 1), alloc.ErrFreed)
	require.NoError(t, g.Launch(u), "the old one is good")
	y.Free()
	assert.ErrorIs(t, g.Launch(e.s), alloc.ErrFreed)
	assert.Positive(t, e.pool.Stats().Pending)
	g.Close()
	assert.ErrorIs(t, g.Launch(e.s), alloc.ErrClosed)
	require.NoError(t, e.s.Sync())
	require.NoError(t, u.Sync())
	h.Free()
	back.Free()
	require.NoError(t, e.pool.Check())
	assert.Zero(t, e.pool.Stats().Pending)
	require.NoError(t, u.Close())
	if e.StandIn != nil {
		b := e.StandIn.Books()
		assert.Zero(t, b.BadAccess)
		assert.Zero(t, b.BrokenCapture)
		assert.Zero(t, b.Graphs)
		assert.Zero(t, b.Execs)
	}
}

// While a capture is under way all else goes on, and nothing waits for the device as a whole: that would
// break it.
func TestCaptureLeavesOthersAlone(t *testing.T) {
	e := start(t, alloc.Options{})
	k := e.kernel(t, testPTX, "write")
	u, err := e.pool.NewStream()
	require.NoError(t, err)
	b := buffer[uint32](t, e.s, 16)
	var unloaded *Module
	g, err := e.s.Capture(func() error {
		c := buffer[byte](t, u, 32<<20)
		require.NoError(t, c.Fill(u, 1))
		require.NoError(t, u.Sync())
		c.Free()
		e.pool.Trim(0)
		if unloaded, err = LoadModule(e.pool, []byte(testPTX)); err != nil {
			return err
		}
		require.NoError(t, unloaded.Unload())
		require.NoError(t, e.dev.Do(func() error { return nil }))
		assert.Positive(t, e.s.Handle())
		assert.Positive(t, b.Ptr(e.s))
		return k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0, b.Arg(), alloc.Scalar(uint32(7)))
	})
	require.NoError(t, err)
	require.NoError(t, b.Fill(u, 0))
	require.NoError(t, g.Launch(u))
	got := make([]uint32, 16)
	require.NoError(t, b.CopyTo(u, got))
	assert.EqualValues(t, 7, got[0])
	g.Close()
	b.Free()
	if e.StandIn != nil {
		assert.Zero(t, e.StandIn.Books().BrokenCapture)
		assert.EqualValues(t, 1, e.StandIn.Books().Modules, "the one that was unloaded in between is")
	}
}

// A graph keeps the modules of its kernels, however they are launched: Unload takes effect when it is closed.
func TestGraphKeepsModule(t *testing.T) {
	e := start(t, alloc.Options{})
	for _, launch := range []func(*Kernel, *alloc.Stream, Dim, Dim, int, ...alloc.Arg) error{
		(*Kernel).Launch, (*Kernel).LaunchCooperative,
	} {
		m, err := LoadModule(e.pool, []byte(testPTX))
		require.NoError(t, err)
		k, err := m.Kernel("write")
		require.NoError(t, err)
		b := buffer[uint32](t, e.s, 1)
		run := func() error { return launch(k, e.s, Dim{X: 1}, Dim{X: 1}, 0, b.Arg(), alloc.Scalar(uint32(7))) }
		g, err := e.s.Capture(run)
		require.NoError(t, err)
		require.NoError(t, m.Unload())
		assert.ErrorIs(t, run(), ErrUnloaded)
		require.NoError(t, g.Launch(e.s))
		got := make([]uint32, 1)
		require.NoError(t, b.CopyTo(e.s, got))
		assert.EqualValues(t, 7, got[0])
		e.dev.modules.mu.Lock() // as who unloads another module does while he waits for the device
		g.Close()
		e.dev.modules.mu.Unlock()
		b.Free()
	}
	require.NoError(t, e.pool.Close())
	require.NoError(t, e.dev.Close())
	if e.StandIn != nil {
		assert.Zero(t, e.StandIn.Books().Modules)
	}
}

// A capture ends whatever context foreign code in its function has left on the thread.
func TestCaptureSetsContext(t *testing.T) {
	e := start(t, alloc.Options{})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b := buffer[uint32](t, e.s, 4)
	g, err := e.s.Capture(func() error {
		err := b.Fill(e.s, 7)
		drvtest.Loop(t, e.Path, 1, drvtest.Call{Function: "cuCtxSetCurrent", Args: []drvtest.Arg{drvtest.Value(0)}})
		return err
	})
	require.NoError(t, err)
	require.NoError(t, g.Launch(e.s))
	got := make([]uint32, 4)
	require.NoError(t, b.CopyTo(e.s, got))
	assert.EqualValues(t, 7, got[3])
	g.Close()
	b.Free()
}

// A capture that the driver refuses, or ends with an error, leaves nothing behind, whatever call of it fails.
func TestGraphFaults(t *testing.T) {
	const unknown = 1 // CUDA_ERROR_INVALID_VALUE
	for _, call := range []string{"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags",
		"cuLaunchKernel", "cuMemCreate", "cuEventRecord", "cuStreamWaitEvent"} {
		t.Run(call, func(t *testing.T) {
			e := startStandIn(t, alloc.Options{})
			k := e.kernel(t, testPTX, "write")
			u, err := e.pool.NewStream()
			require.NoError(t, err)
			b := buffer[uint32](t, e.s, 16)
			f := func() error {
				x, err := alloc.Make[uint32](e.s, 1<<20)
				if err != nil {
					return err
				}
				u.Wait(e.s)
				e.s.Wait(u)
				return errors.Join(x.Fill(e.s, 1),
					k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0, b.Arg(), alloc.Scalar(uint32(7))))
			}
			before := e.pool.Stats()
			e.StandIn.Fail(t, call, 0, 1, unknown)
			_, err = e.s.Capture(f)
			require.Error(t, err)
			assert.ErrorContains(t, err, "alloc: capture: ")
			require.NoError(t, e.pool.Check())
			assert.Equal(t, before.Live, e.pool.Stats().Live)
			g, err := e.s.Capture(f)
			require.NoError(t, err)
			if call != "cuMemCreate" { // whose memory is there by then
				e.StandIn.Fail(t, call, 0, 1, unknown)
				err = g.Update(func() error { return errors.Join(f(), f()) })
				require.Error(t, err)
			}
			require.NoError(t, g.Launch(u))
			got := make([]uint32, 16)
			require.NoError(t, b.CopyTo(u, got))
			assert.EqualValues(t, 7, got[0])
			g.Close()
			b.Free()
			require.NoError(t, u.Sync())
			require.NoError(t, e.pool.Check())
			books := e.StandIn.Books()
			assert.Zero(t, books.Graphs)
			assert.Zero(t, books.Execs)
		})
	}
}

// Launching and updating a graph with memory inside makes no call that gets, maps or frees memory: neither
// the pool of the device nor, on the stand-in, the device of the driver.
func TestGraphGetsNoMemory(t *testing.T) {
	e := start(t, alloc.Options{})
	dev := alloctest.NewFaulty(e.checked(t))
	dev.Only("Alloc", "Free", "Reserve", "Unreserve", "Map", "Unmap", "Move", "Restore", "AllocHost", "FreeHost")
	pool, err := alloc.NewPool(dev, alloc.Options{})
	require.NoError(t, err)
	s, err := pool.NewStream()
	require.NoError(t, err)
	f := func() error {
		for range 5 {
			x, err := alloc.Make[byte](s, 10<<20)
			if err != nil {
				return err
			}
			y, err := alloc.Make[byte](s, 3<<20)
			if err != nil {
				return err
			}
			v := x.View(0, 1000) // the stand-in takes its time
			if err := errors.Join(v.Fill(s, 1), alloc.Copy[byte](s, y, v)); err != nil {
				return err
			}
			x.Free()
			y.Free()
		}
		return nil
	}
	g, err := s.Capture(f)
	require.NoError(t, err)
	require.Positive(t, dev.Calls(), "what the capture itself gets is counted")
	memory := []string{"cuMemCreate", "cuMemMap", "cuMemUnmap", "cuMemRelease", "cuMemAddressReserve", "cuMemSetAccess",
		"cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost", "cuMemAllocAsync", "cuMemFreeAsync"}
	count := func() int64 {
		n := dev.Calls()
		for _, call := range memory {
			if e.StandIn != nil {
				n += e.StandIn.Calls(t, call)
			}
		}
		return n
	}
	before := count()
	for range 3 {
		require.NoError(t, g.Launch(s))
		require.NoError(t, g.Update(f))
		require.NoError(t, g.Launch(s))
		require.NoError(t, g.Update(func() error { return errors.Join(f(), f()) }))
	}
	assert.Equal(t, before, count())
	noGoMemory(t, 100, func() {
		if err := g.Launch(s); err != nil {
			t.Error(err)
		}
	})
	g.Close()
	require.NoError(t, pool.Close())
}

// BenchmarkGraphLaunch is one launch of a graph of 100 small kernels, beside the same call in C on an
// executable of the same graph: 32 of the one and 32 of the other in turn, each behind a wait, so that none
// meets a full queue.
func BenchmarkGraphLaunch(b *testing.B) {
	e := start(b, alloc.Options{})
	k := e.kernel(b, testPTX, "write")
	buf := buffer[uint32](b, e.s, 16)
	launch := func(i int) error {
		return k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0, buf.Arg(), alloc.Scalar(uint32(i)))
	}
	g, err := e.s.Capture(func() (err error) {
		for i := range 100 {
			err = errors.Join(err, launch(i))
		}
		return err
	})
	require.NoError(b, err)
	handle, address := e.s.Handle(), buf.Ptr(e.s)
	require.NoError(b, e.dev.BeginCapture(handle))
	word, at := cudadrv.Dim{X: 1, Y: 1, Z: 1}, []uint16{0, 8}
	for i := range 100 {
		args := []uint64{uint64(address), uint64(i)}
		require.NoError(b, e.dev.ctx.LaunchKernel(k.handle, word, word, 0, handle, args, at))
	}
	graph, err := e.dev.EndCapture(handle)
	require.NoError(b, err)
	exec, err := e.dev.Instantiate(graph)
	require.NoError(b, err)
	call := drvtest.Call{Function: "cuGraphLaunch",
		Args: []drvtest.Arg{drvtest.Value(uint64(exec)), drvtest.Value(uint64(handle))}}
	wait := drvtest.Call{Function: "cuStreamSynchronize", Args: []drvtest.Arg{drvtest.Value(uint64(handle))}}
	const batch = 32
	var inGo, inC, doneGo, doneC time.Duration // to enqueue, and until it has run
	n := 0
	for b.Loop() {
		require.NoError(b, e.s.Sync())
		start := time.Now()
		for range batch {
			err = errors.Join(err, g.Launch(e.s))
		}
		inGo += time.Since(start)
		require.NoError(b, e.s.Sync())
		inC += drvtest.Loop(b, e.Path, batch, call)
		require.NoError(b, e.s.Sync())
		start = time.Now()
		for range batch {
			err = errors.Join(err, g.Launch(e.s), e.s.Sync())
		}
		doneGo += time.Since(start)
		doneC += drvtest.Loop(b, e.Path, batch, call, wait)
		n += batch
	}
	require.NoError(b, err)
	b.ReportMetric(float64(doneGo.Nanoseconds())/float64(n), "go-ns/done")
	b.ReportMetric(float64(doneC.Nanoseconds())/float64(n), "c-ns/done")
	b.ReportMetric(float64(doneGo)/float64(doneC), "done-go/c")
	b.ReportMetric(float64(inGo.Nanoseconds())/float64(n), "go-ns/launch")
	b.ReportMetric(float64(inC.Nanoseconds())/float64(n), "c-ns/launch")
	b.ReportMetric(float64(inGo)/float64(inC), "go/c")
	require.NoError(b, e.s.Sync())
	require.NoError(b, e.dev.DestroyExec(exec))
	require.NoError(b, e.dev.DestroyGraph(graph))
	g.Close()
	buf.Free()
}
