//go:build cgo && linux

package cuda

import (
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

func TestDevices(t *testing.T) {
	d := choose(t)
	all, err := devices(d.Path)
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for i, info := range all {
		t.Logf("%+v", info)
		assert.Equal(t, i, info.Ordinal)
		assert.NotEmpty(t, info.Name)
		assert.Positive(t, info.Memory)
		assert.Equal(t, 32, info.Limits.Warp)
		assert.Positive(t, info.Limits.Multiprocessors)
		assert.GreaterOrEqual(t, info.Limits.BlockDim.X, 512)
	}
	dev, err := open(d.Path, 0, Options{})
	require.NoError(t, err)
	defer dev.Close()
	assert.Contains(t, dev.Name(), "cuda:0 "+all[0].Name)
	free, total, err := dev.MemInfo()
	require.NoError(t, err)
	assert.LessOrEqual(t, free, total)
	assert.Positive(t, free)
	assert.Positive(t, dev.Granularity())
}

func TestOpenErrors(t *testing.T) {
	none := standIn(t, "devices", 0)
	old := standIn(t, "version", 11040)
	good := standIn(t)
	for _, tt := range []struct {
		name, path string
		ordinal    int
		want       string
	}{
		{"no driver", t.TempDir() + "/libcuda.so.1", 0, "cannot open shared object file"},
		{"no device", none.Path, 0, "CUDA_ERROR_NO_DEVICE (100)"},
		{"too old", old.Path, 0, "driver 11.4 is older than 12.0"},
		{"ordinal", good.Path, 2, "cuda: open: device 2 of 2"},
		{"negative", good.Path, -1, "cuda: open: device -1 of 2"},
	} {
		_, err := open(tt.path, tt.ordinal, Options{})
		require.ErrorIs(t, err, ErrUnavailable, tt.name)
		assert.ErrorContains(t, err, tt.want, tt.name)
	}
}

// Everything a device was asked for is given back.
func TestCloseGivesBack(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	b := buffer[byte](t, e.s, 10<<20)
	require.NoError(t, b.CopyFrom(e.s, make([]byte, 10<<20)))
	b.Free()
	require.NoError(t, e.pool.Close())
	require.NoError(t, e.dev.Close())
	require.NoError(t, e.dev.Close(), "again")
	k := e.StandIn.Books()
	assert.Zero(t, k.Device[0])
	assert.Zero(t, k.Handle[0])
	assert.Zero(t, k.Mapped)
	assert.Zero(t, k.Reserved)
	assert.Zero(t, k.Pinned)
	assert.Zero(t, k.Streams)
	assert.Zero(t, k.Events)
	assert.Zero(t, k.Retains)
	assert.Zero(t, k.BadAccess)
	assert.Zero(t, k.Pageable)
}

// Copies of all sizes, in and out, arrive whole; the source may be changed at once.
func TestStage(t *testing.T) {
	e := start(t, alloc.Options{})
	rng := rand.New(rand.NewPCG(1, 2))
	const most = 2*largeChunk + smallChunk + 17
	src, want, got := make([]byte, most), make([]byte, most), make([]byte, most)
	b := buffer[byte](t, e.s, most)
	defer b.Free()
	for _, n := range []int{1, 511, smallChunk - 1, smallChunk, smallChunk + 1, largeChunk, largeChunk + 1, most} {
		for i := range n {
			src[i] = byte(rng.Uint32())
		}
		copy(want, src[:n])
		v := b.View(0, n)
		require.NoError(t, v.CopyFrom(e.s, src[:n]))
		clear(src[:n])
		require.NoError(t, v.CopyTo(e.s, got[:n]))
		require.Equal(t, want[:n], got[:n], "%d bytes", n)
	}
	if e.StandIn != nil {
		assert.Zero(t, e.StandIn.Books().Pageable, "the driver saw Go memory")
	}
}

// Many small copies in from many goroutines while the device does nothing wait for chunks, and get them.
func TestStageManyInFlight(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	b := buffer[uint64](t, e.s, 4*smallMost)
	defer b.Free()
	e.StandIn.Hold(true)
	done := make(chan error, 4)
	for g := range 4 {
		go func() {
			var err error
			for i := 0; i < smallMost && err == nil; i++ {
				at := g*smallMost + i
				err = b.View(at, at+1).CopyFrom(e.s, []uint64{uint64(at)})
			}
			done <- err
		}()
	}
	time.Sleep(10 * time.Millisecond)
	assert.LessOrEqual(t, e.StandIn.Books().Pinned, int64(smallMost*smallChunk))
	e.StandIn.Hold(false)
	for range 4 {
		require.NoError(t, <-done)
	}
	got := make([]uint64, b.Len())
	require.NoError(t, b.CopyTo(e.s, got))
	for i, x := range got {
		require.EqualValues(t, i, x)
	}
}

func TestCopiesNoAllocation(t *testing.T) {
	e := start(t, alloc.Options{})
	b := buffer[byte](t, e.s, 1<<20)
	defer b.Free()
	host := make([]byte, 1<<20)
	pinned, err := alloc.MakePinned[byte](e.pool, 1<<20)
	require.NoError(t, err)
	defer pinned.Free()
	for name, f := range map[string]func() error{
		"in":         func() error { return b.CopyFrom(e.s, host) },
		"out":        func() error { return b.CopyTo(e.s, host) },
		"small in":   func() error { return b.View(0, 64).CopyFrom(e.s, host[:64]) },
		"pinned in":  func() error { return b.CopyFrom(e.s, pinned.Slice()) },
		"pinned out": func() error { return b.CopyTo(e.s, pinned.Slice()) },
		"async in":   func() error { return CopyIn[byte](e.s, b, pinned) },
		"async out":  func() error { return CopyOut[byte](e.s, pinned, b) },
		"fill":       func() error { return b.Fill(e.s, 3) },
		"within":     func() error { return alloc.Copy[byte](e.s, b.View(0, 64), b.View(64, 128)) },
	} {
		require.NoError(t, f(), name)
		require.NoError(t, e.s.Sync())
		assert.Zero(t, allocsPerRun(20, func() {
			if err := f(); err != nil {
				t.Error(err)
			}
			if err := e.dev.Sync(e.s.Handle()); err != nil { // so that chunks are free again
				t.Error(err)
			}
		}), name)
	}
}

// Copies with page-locked memory by this package return at once and run in stream order.
func TestPinnedAsync(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	const n = 1 << 20
	in, err := alloc.MakePinned[uint32](e.pool, n)
	require.NoError(t, err)
	out, err := alloc.MakePinned[uint32](e.pool, n)
	require.NoError(t, err)
	for i := range in.Slice() {
		in.Slice()[i] = uint32(i)
	}
	b := buffer[uint32](t, e.s, n)
	e.StandIn.Hold(true)
	require.NoError(t, CopyIn[uint32](e.s, b, in))
	require.NoError(t, CopyOut[uint32](e.s, out, b))
	assert.Zero(t, out.Slice()[n-1], "nothing has run")
	b.Free()
	e.StandIn.Hold(false)
	require.NoError(t, e.s.Sync())
	assert.Equal(t, in.Slice(), out.Slice())
	in.Free()
	out.Free()
	assert.ErrorIs(t, CopyIn[uint32](e.s, buffer[uint32](t, e.s, 3), mustPin[uint32](t, e.pool, 2)), alloc.ErrSize)
	assert.Zero(t, e.StandIn.Books().Pageable)
}

func mustPin[T any](tb testing.TB, p *alloc.Pool, n int) alloc.Pinned[T] {
	h, err := alloc.MakePinned[T](p, n)
	require.NoError(tb, err)
	tb.Cleanup(h.Free)
	return h
}

// A mapping that fails half way leaves nothing behind, whichever call fails.
func TestMapRollsBack(t *testing.T) {
	for _, f := range []string{"cuMemCreate", "cuMemMap", "cuMemSetAccess"} {
		t.Run(f, func(t *testing.T) {
			d := standIn(t)
			dev, err := open(d.Path, 0, Options{})
			require.NoError(t, err)
			defer dev.Close()
			g := dev.Granularity()
			p, err := dev.Reserve(8 * g)
			require.NoError(t, err)
			require.NoError(t, dev.Map(p, g))
			skip := 2
			if f == "cuMemSetAccess" {
				skip = 0
			}
			d.StandIn.Fail(t, f, skip, 1, 2)
			err = dev.Map(p+alloc.Ptr(g), 4*g)
			require.ErrorIs(t, err, alloc.ErrOutOfMemory)
			b := d.StandIn.Books()
			assert.Equal(t, g, b.Handle[0])
			assert.Equal(t, g, b.Mapped)
			require.NoError(t, dev.Map(p+alloc.Ptr(g), 4*g), "the range is as before")

			if f != "cuMemCreate" {
				d.StandIn.Fail(t, f, min(skip, 1), 1, 2)
				require.ErrorIs(t, dev.Move(p+alloc.Ptr(6*g), p+alloc.Ptr(g), 2*g), alloc.ErrOutOfMemory)
				assert.Equal(t, 5*g, d.StandIn.Books().Mapped)
			}
			require.NoError(t, dev.Move(p+alloc.Ptr(6*g), p+alloc.Ptr(g), 2*g))
			assert.Error(t, dev.Unmap(p, 5*g), "there is a hole")
			assert.Error(t, dev.Map(p, g), "mapped already")
			assert.Error(t, dev.Map(p+alloc.Ptr(7*g), 2*g), "beyond the range")
			assert.Error(t, dev.Map(p+1, g), "not a granule")
			require.NoError(t, dev.Unmap(p, g))
			require.NoError(t, dev.Unmap(p+alloc.Ptr(3*g), 2*g))
			assert.Error(t, dev.Unreserve(p, 8*g), "part of it is mapped")
			require.NoError(t, dev.Unmap(p+alloc.Ptr(6*g), 2*g))
			require.NoError(t, dev.Unreserve(p, 8*g))
			b = d.StandIn.Books()
			assert.Zero(t, b.Handle[0])
			assert.Zero(t, b.Mapped)
			assert.Zero(t, b.Reserved)
		})
	}
}

func TestAdoptStream(t *testing.T) {
	e := start(t, alloc.Options{})
	foreign, err := e.dev.ctx.StreamCreate()
	require.NoError(t, err)
	s, err := e.pool.WrapStream(foreign)
	require.NoError(t, err)
	assert.Equal(t, foreign, s.Handle())
	b := buffer[uint32](t, s, 16)
	require.NoError(t, b.Fill(s, 5))
	got := make([]uint32, 16)
	require.NoError(t, b.CopyTo(s, got))
	assert.EqualValues(t, 5, got[15])
	b.Free()
	id, err := e.dev.StreamID(foreign)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, e.dev.ctx.StreamDestroy(foreign))

	again, err := e.dev.ctx.StreamCreate() // may have the old handle
	require.NoError(t, err)
	id2, err := e.dev.StreamID(again)
	require.NoError(t, err)
	assert.NotEqual(t, id, id2)
	s, err = e.pool.WrapStream(again)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, e.dev.ctx.StreamDestroy(again))

	_, err = e.pool.WrapStream(2)
	assert.ErrorIs(t, err, ErrStream)
	assert.ErrorContains(t, err, "goroutines change threads")
	for _, h := range []uintptr{0, 1} {
		s, err = e.pool.WrapStream(h)
		require.NoError(t, err)
		b := buffer[uint32](t, s, 16)
		require.NoError(t, b.Fill(s, 5))
		b.Free()
		require.NoError(t, s.Sync())
		require.NoError(t, s.Close())
	}
}

// On a stream under capture nothing is enqueued, and the capture of others is left alone.
func TestCapturing(t *testing.T) {
	e := start(t, alloc.Options{})
	k := e.kernel(t, testPTX, "write")
	b := buffer[uint32](t, e.s, 16)
	require.NoError(t, b.Fill(e.s, 1))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	h := e.s.Handle()
	require.NoError(t, e.dev.ctx.StreamBeginCapture(h, 0))
	one := Dim{X: 1}
	host := make([]uint32, 16)
	_, err := alloc.Make[uint32](e.s, 16)
	for name, err := range map[string]error{
		"make":   err,
		"launch": k.Launch(e.s, one, one, 0, b.Arg(), alloc.Scalar(uint32(1))),
		"in":     b.CopyFrom(e.s, host),
		"out":    b.CopyTo(e.s, host),
		"fill":   b.Fill(e.s, 2),
		"copy":   alloc.Copy[uint32](e.s, b.View(0, 4), b.View(4, 8)),
	} {
		assert.ErrorIs(t, err, alloc.ErrCapturing, name)
	}
	assert.Panics(t, func() { b.Ptr(e.s) })
	// Life goes on elsewhere, also with calls that a capture forbids.
	s2, err := e.pool.NewStream()
	require.NoError(t, err)
	c := buffer[byte](t, s2, 64<<20)
	require.NoError(t, c.Fill(s2, 1))
	c.Free()
	require.NoError(t, s2.Sync())
	e.pool.Trim(0)
	require.NoError(t, e.dev.ctx.StreamEndCapture(h), "the capture survived")
	require.NoError(t, b.CopyTo(e.s, host))
	assert.EqualValues(t, 1, host[15])
	b.Free()
	require.NoError(t, s2.Close())
	if e.StandIn != nil {
		assert.Zero(t, e.StandIn.Books().BrokenCapture)
	}
}

// brokenChild makes TestBroken break the driver of its own process.
var brokenChild = flag.Bool("broken-child", false, "used by TestBroken")

// A kernel that writes where there is nothing breaks the context. Every later call says so, and all closes cleanly. A real
// context stays broken for as long as the process lives, so there a child process does it.
func TestBroken(t *testing.T) {
	d := choose(t)
	if d.Real() && !*brokenChild {
		text, err := exec.Command(os.Args[0], "-test.run=^TestBroken$", "-test.v", "-driver=real", "-broken-child").CombinedOutput()
		t.Logf("%s", text)
		require.NoError(t, err)
		return
	}
	e := startOn(t, d, alloc.Options{})
	testBroken(t, e)
	assert.Zero(t, e.pool.Tracker().Bytes(), "the books are consistent")
	if e.StandIn != nil {
		assert.Zero(t, e.StandIn.Books().Retains)
	}
}

func testBroken(t *testing.T, e *env) {
	k := e.kernel(t, testPTX, "fault")
	b := buffer[uint32](t, e.s, 1<<20)
	require.NoError(t, k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0))
	err := e.s.Sync()
	require.ErrorIs(t, err, ErrBroken)
	assert.ErrorContains(t, err, "CUDA_ERROR_ILLEGAL_ADDRESS (700)")
	for name, f := range map[string]func() error{
		"fill":   func() error { return b.Fill(e.s, 1) },
		"launch": func() error { return k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0) },
		"copy":   func() error { return b.CopyTo(e.s, make([]uint32, 4)) },
		"stream": func() error { _, err := e.pool.NewStream(); return err },
		"load":   func() error { _, err := LoadModule(e.pool, []byte(testPTX)); return err },
		"sync":   e.s.Sync,
	} {
		err := f()
		require.ErrorIs(t, err, ErrBroken, name)
		assert.ErrorContains(t, err, "since cuda: ", name)
	}
	b.Free()
	require.NoError(t, k.module.Unload(), "giving back is done")
	if err := e.pool.Close(); err != nil {
		assert.ErrorIs(t, err, ErrBroken)
	}
	require.NoError(t, e.dev.Close())
}

// When the process exits the driver goes first: giving back is done then, asking for more is an error.
func TestShuttingDown(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	b := buffer[byte](t, e.s, 1<<20)
	e.StandIn.Deinit(true)
	defer e.StandIn.Deinit(false)
	_, err := e.dev.Alloc(512)
	assert.ErrorIs(t, err, ErrShuttingDown)
	assert.NoError(t, e.dev.Free(4096, 512))
	b.Free()
	e.pool.Trim(0)
	_ = e.pool.Close()
	assert.Zero(t, e.pool.Tracker().Bytes())
	assert.NoError(t, e.dev.Close())
}

// Memory that another process holds makes Make fail with what the pool looks like, and later succeed.
func TestOutOfMemory(t *testing.T) {
	e := startStandIn(t, alloc.Options{}, "memory", 128<<20, "taken", 120<<20)
	_, err := alloc.Make[byte](e.s, 64<<20)
	require.ErrorIs(t, err, alloc.ErrOutOfMemory)
	var me *alloc.MemoryError
	require.ErrorAs(t, err, &me)
	assert.ErrorContains(t, err, "CUDA_ERROR_OUT_OF_MEMORY (2)")
	e.StandIn.Set(t, "taken", 0)
	b := buffer[byte](t, e.s, 64<<20)
	b.Free()
}

// Two devices: a pool each, kernels on each, copies between them in the order of both streams.
func TestPeers(t *testing.T) {
	d := choose(t)
	if all, err := devices(d.Path); err != nil || len(all) < 2 {
		t.Skip("one device only: ", err)
	}
	a := startOn(t, d, alloc.Options{})
	b := &env{Driver: d}
	var err error
	b.dev, err = open(d.Path, 1, Options{})
	require.NoError(t, err)
	defer b.dev.Close()
	b.pool, err = alloc.NewPool(b.dev, alloc.Options{})
	require.NoError(t, err)
	b.s, err = b.pool.NewStream()
	require.NoError(t, err)

	x, y := buffer[uint32](t, a.s, 1000), buffer[uint32](t, b.s, 1000)
	require.NoError(t, x.Fill(a.s, 42))
	require.NoError(t, CopyPeer[uint32](b.s, y, a.s, x))
	require.NoError(t, x.Fill(a.s, 0), "after the copy")
	x.Free()
	got := make([]uint32, 1000)
	require.NoError(t, y.CopyTo(b.s, got))
	assert.EqualValues(t, 42, got[999])
	assert.ErrorIs(t, CopyPeer[uint32](b.s, y.View(0, 10), a.s, buffer[uint32](t, a.s, 3)), alloc.ErrSize)

	// A kernel of one device on the other's stream is refused; reaching its memory is allowed after EnablePeer.
	k := a.kernel(t, testPTX, "axpy")
	assert.ErrorIs(t, k.Launch(b.s, Dim{X: 1}, Dim{X: 1}, 0, y.Arg(), y.Arg(), alloc.Scalar(float32(1)), alloc.Scalar(uint32(0))), alloc.ErrForeign)
	if err := a.dev.EnablePeer(b.dev); err != nil {
		assert.ErrorIs(t, err, ErrUnavailable)
		t.Log(err)
	} else {
		require.NoError(t, a.dev.EnablePeer(b.dev), "again")
		mine := buffer[uint32](t, b.s, 1<<22) // a segment mapped afterwards
		require.NoError(t, mine.Fill(b.s, 0))
		p := mine.Ptr(b.s)
		require.NoError(t, b.s.Sync())
		w := a.kernel(t, testPTX, "write")
		require.NoError(t, w.Launch(a.s, Dim{X: 1}, Dim{X: 1}, 0, alloc.Scalar(uint64(p)), alloc.Scalar(uint32(77))))
		require.NoError(t, a.s.Sync())
		require.NoError(t, mine.CopyTo(b.s, got))
		assert.EqualValues(t, 77, got[0])
		mine.Free()
	}
	y.Free()
	require.NoError(t, b.pool.Close())
	if d.StandIn != nil {
		assert.Zero(t, d.StandIn.Books().BadAccess)
	}
}

// Make and Free on a warm pool call no driver.
func TestWarmCallsNoDriver(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	k := e.kernel(t, testPTX, "empty")
	b := buffer[byte](t, e.s, 1<<20)
	require.NoError(t, k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0))
	b.Free()
	before := e.StandIn.Books().Calls
	for range 100 {
		b := buffer[byte](t, e.s, 1<<20)
		b.Free()
	}
	assert.Equal(t, before, e.StandIn.Books().Calls)
}

// The plain face of the device gets its segments from the driver's ordinary allocator.
func TestPlain(t *testing.T) {
	d := standIn(t)
	dev, err := open(d.Path, 0, Options{})
	require.NoError(t, err)
	defer dev.Close()
	_, mapper := alloc.Device(dev.Plain()).(alloc.Mapper)
	assert.False(t, mapper)
	pool, err := alloc.NewPool(dev.Plain(), alloc.Options{})
	require.NoError(t, err)
	s, err := pool.NewStream()
	require.NoError(t, err)
	b := buffer[byte](t, s, 1<<20)
	assert.Positive(t, d.StandIn.Books().Device[0])
	assert.Zero(t, d.StandIn.Books().Handle[0])
	m, err := LoadModule(pool, []byte(testPTX))
	require.NoError(t, err)
	require.NoError(t, m.Unload())
	b.Free()
	require.NoError(t, pool.Close())
	assert.Zero(t, d.StandIn.Books().Device[0])
}
