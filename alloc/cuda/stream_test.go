//go:build cgo && linux

package cuda

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

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
	graph, err := e.dev.ctx.StreamEndCapture(h)
	require.NoError(t, err, "the capture survived")
	require.NoError(t, e.dev.ctx.GraphDestroy(graph))
	require.NoError(t, b.CopyTo(e.s, host))
	assert.EqualValues(t, 1, host[15])
	b.Free()
	require.NoError(t, s2.Close())
	if e.StandIn != nil {
		assert.Zero(t, e.StandIn.Books().BrokenCapture)
	}
}

// Foreign code may have left another context on the thread, or none. Once a stream's handle is out, an
// address makes the device's current again, for the code that gets it.
func TestPtrSetsContext(t *testing.T) {
	e := start(t, alloc.Options{})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b := buffer[uint32](t, e.s, 4)
	defer b.Free()
	stream := e.s.Handle()
	none := drvtest.Call{Function: "cuCtxSetCurrent", Args: []drvtest.Arg{drvtest.Value(0)}}
	left := [][]drvtest.Call{{none}}
	if all, err := devices(e.Path); err == nil && len(all) > 1 {
		other := drvtest.Call{Function: "cuDevicePrimaryCtxRetain",
			Args: []drvtest.Arg{drvtest.Out(0), drvtest.Value(1)}}
		left = append(left,
			[]drvtest.Call{other, {Function: "cuCtxSetCurrent", Args: []drvtest.Arg{drvtest.Slot(0)}}})
	}
	for i, calls := range left {
		x := uint32(5 + i)
		require.NoError(t, b.Fill(e.s, 1)) // ours is current now, and known to be
		drvtest.Loop(t, e.Path, 1, calls...)
		p := b.Ptr(e.s)
		drvtest.Loop(t, e.Path, 1, drvtest.Call{Function: "cuMemsetD32Async", Args: []drvtest.Arg{
			drvtest.Value(uint64(p)), drvtest.Value(uint64(x)), drvtest.Value(4), drvtest.Value(uint64(stream)),
		}})
		if e.StandIn != nil { // which tells whose memory it is that foreign code gets
			before := e.StandIn.Books().Device
			drvtest.Loop(t, e.Path, 1,
				drvtest.Call{Function: "cuMemAlloc_v2", Args: []drvtest.Arg{drvtest.Out(2), drvtest.Value(1 << 20)}})
			assert.Equal(t, before[0]+(1<<20), e.StandIn.Books().Device[0])
		}
		got := make([]uint32, 4)
		require.NoError(t, b.CopyTo(e.s, got))
		assert.Equal(t, []uint32{x, x, x, x}, got)
	}
}
