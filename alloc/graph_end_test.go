package alloc_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
)

// An ending is a device on which others get at a stream when a capture has ended, and the pool does not know
// that yet.
type ending struct {
	*alloctest.Order
	ended func()
}

func (d *ending) EndCapture(s uintptr) (uintptr, error) {
	g, err := d.Order.EndCapture(s)
	if f := d.ended; f != nil {
		d.ended = nil
		f()
	}
	return g, err
}

// What a stream is given while its capture ends runs at once, and memory waits for it.
func TestCaptureEndsMeanwhile(t *testing.T) {
	for _, fails := range []bool{false, true} {
		hd, err := host.Open(host.Options{})
		require.NoError(t, err)
		dev := &ending{Order: alloctest.Ordered(t, hd)}
		p, err := alloc.NewPool(dev, alloc.Options{})
		require.NoError(t, err)
		s, u := newStream(t, p), newStream(t, p)
		b := mustMake[int32](t, u, 1000)
		h, err := alloc.MakePinned[int32](p, 1000)
		require.NoError(t, err)
		gate := block(t, s)
		dev.ended = func() {
			assert.NoError(t, b.Fill(s, 9))
			assert.NoError(t, alloc.Upload(s, b, h))
			assert.NoError(t, b.CopyFrom(s, []int32{1}))
		}
		g, err := s.Capture(func() error {
			if fails {
				return errBoom
			}
			return nil
		})
		if fails {
			require.ErrorIs(t, err, errBoom)
		}
		g.Close()
		b.Free()
		h.Free()
		st := sound(t, p)
		assert.Positive(t, st.Pending)
		assert.Positive(t, st.PinnedPending)
		other := mustMake[int32](t, u, 1000) // which must not be what s still writes
		require.NoError(t, other.Fill(u, 3))
		require.NoError(t, u.Sync())
		gate.open()
		require.NoError(t, s.Sync())
		assert.EqualValues(t, 3, first(t, u, other))
		other.Free()
		assert.Zero(t, sound(t, p).Live)
		require.NoError(t, p.Close())
		assert.Zero(t, hd.Used())
	}
}

// A goroutine that a capture's function has started goes on when the capture has ended: each of its calls is
// captured, or runs, or fails.
func TestCaptureEndsStorm(t *testing.T) {
	eachGraphPool(t, func(t *testing.T, p *alloc.Pool, s *alloc.Stream) {
		u, checked := newStream(t, p), isChecked(p)
		h, err := alloc.MakePinned[int32](p, 1000)
		require.NoError(t, err)
		e := u.Record()
		var wg sync.WaitGroup
		f := func() error {
			begun := make(chan bool)
			wg.Go(func() {
				close(begun)
				b, err := alloc.Make[int32](s, 1000)
				if err != nil {
					assert.ErrorIs(t, err, alloc.ErrCapturing)
					return
				}
				err = errors.Join(b.Fill(s, 3), alloc.Upload(s, b, h), b.CopyFrom(s, []int32{1, 2}))
				if !errors.Is(err, alloc.ErrFreed) && !errors.Is(err, alloc.ErrCapturing) {
					assert.NoError(t, err) // freed with the capture that it was made in, or between the two
				}
				if !checked {
					s.WaitEvent(e) // which fails a capture
				}
				b.Free()
			})
			<-begun
			return nil
		}
		for range 300 {
			g, err := s.Capture(f)
			wg.Wait()
			if err == nil {
				require.NoError(t, g.Launch(u))
				_ = g.Update(f)
				wg.Wait()
				require.NoError(t, g.Launch(u))
			}
			g.Close()
		}
		h.Free()
		_ = s.Sync()
		require.NoError(t, u.Sync())
		st := sound(t, p)
		assert.Zero(t, st.Live+st.PinnedLive)
		if !checked {
			assert.Zero(t, st.Pending+st.PinnedPending)
		}
	})
}
