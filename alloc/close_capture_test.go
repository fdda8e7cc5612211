package alloc_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
)

// captured returns a pool on dev with a stream on which freed memory is still in use, page-locked memory too,
// and that somebody captures since then. The gate holds the work back.
func captured(t *testing.T, dev alloc.Device, o alloc.Options) (*alloc.Pool, uintptr, gate) {
	p, err := alloc.NewPool(dev, o)
	require.NoError(t, err)
	s := newStream(t, p)
	g := block(t, s)
	b := mustMake[byte](t, s, 300<<10)
	h, err := alloc.MakePinned[byte](p, 1000)
	require.NoError(t, err)
	require.NoError(t, b.Fill(s, 1))
	use, err := alloc.BeginPinned(s, h)
	require.NoError(t, err)
	use.End()
	b.Free()
	h.Free()
	handle := s.Handle()
	require.NoError(t, hostDevice(p).SetCapturing(handle, true))
	return p, handle, g
}

// Nobody can wait for a stream that is being captured, and what it was given before may still be running: its
// memory stays until a Close that comes after the capture.
func TestCloseDuringCapture(t *testing.T) {
	for _, mapping := range []bool{true, false} {
		for _, check := range []bool{true, false} {
			for _, live := range []bool{true, false} {
				t.Run(fmt.Sprintf("mapping=%v,check=%v,live=%v", mapping, check, live), func(t *testing.T) {
					dev, err := host.Open(host.Options{Granularity: 64 << 10, NoMapping: !mapping})
					require.NoError(t, err)
					p, s, g := captured(t, alloctest.Ordered(t, dev), alloc.Options{Check: check})
					var b alloc.Buffer[byte]
					if live {
						b = mustMake[byte](t, p.DefaultStream(), 1000)
					}
					used := dev.Used()
					err = p.Close()
					require.ErrorIs(t, err, alloc.ErrCapturing)
					assert.Equal(t, live, errors.Is(err, alloc.ErrLive))
					b.Free()
					assert.Equal(t, used, dev.Used(), "work is queued on it")
					sound(t, p)

					g.open()
					require.NoError(t, dev.SetCapturing(s, false))
					require.NoError(t, p.Close())
					require.Zero(t, dev.Used())
					require.NoError(t, p.Close())
				})
			}
		}
	}
}

// A capture may end at any point of Close. Whether that is early enough or not, nothing is left in the end.
func TestCaptureEndsDuringClose(t *testing.T) {
	for n := 1; n <= 12; n++ {
		hd, err := host.Open(host.Options{Granularity: 64 << 10})
		require.NoError(t, err)
		dev := &meeting{Order: alloctest.Ordered(t, hd), synced: func(uintptr) {}}
		p, s, g := captured(t, dev, alloc.Options{})
		g.open()
		times := 0
		dev.synced = func(on uintptr) {
			if on != s {
				return
			}
			if times++; times == n {
				require.NoError(t, hd.SetCapturing(s, false))
			}
		}
		_ = p.Close()
		_ = hd.SetCapturing(s, false) // which is gone if it was early enough
		require.NoError(t, p.Close(), "after %d waits", n)
		require.Zero(t, hd.Used(), "after %d waits", n)
	}
}

// So it is with a pool that is dropped: its memory goes back when the capture is over.
func TestDropDuringCapture(t *testing.T) {
	hd, err := host.Open(host.Options{Granularity: 64 << 10})
	require.NoError(t, err)
	var syncs atomic.Int64
	dev := &meeting{Order: alloctest.Ordered(t, hd), synced: func(uintptr) { syncs.Add(1) }}
	_, s, g := captured(t, dev, alloc.Options{})
	used := hd.Used()
	collectUntil(t, func() bool { return syncs.Load() > 6 }) // of all streams, more than once
	assert.Equal(t, used, hd.Used(), "work is queued on it")
	g.open()
	require.NoError(t, hd.SetCapturing(s, false))
	collectUntil(t, func() bool { return hd.Used() == 0 })
}
