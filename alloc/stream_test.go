package alloc_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
)

func TestSyncContext(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	g := block(t, s)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.SyncContext(ctx), context.DeadlineExceeded)
	g.open()
	require.NoError(t, s.SyncContext(context.Background()))
	require.NoError(t, p.Close())
}

// held is a device whose Sync waits until it is let go, as if others had given the stream more to do, and
// which may have no events.
type held struct {
	*alloctest.Faulty
	gate chan struct{}
}

func (h held) Sync(s uintptr) error {
	<-h.gate
	return h.Faulty.Sync(s)
}

// SyncContext gives up when it is told to, whatever it is waiting for.
func TestSyncContextGivesUp(t *testing.T) {
	for _, events := range []bool{true, false} {
		dev, err := host.Open(host.Options{})
		require.NoError(t, err)
		h := held{alloctest.NewFaulty(dev), make(chan struct{})}
		p, err := alloc.NewPool(ordered(t, h), alloc.Options{})
		require.NoError(t, err)
		s := newStream(t, p)
		if !events {
			h.Only("NewEvent")
			h.FailRandomly(1, 1)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		require.ErrorIs(t, s.SyncContext(ctx), context.DeadlineExceeded)
		cancel()
		close(h.gate)
		require.NoError(t, s.SyncContext(t.Context()))
		require.NoError(t, p.Close())
	}
}

func TestEvents(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s, u := newStream(t, p), newStream(t, p)
	var order []int
	g := block(t, s)
	require.NoError(t, host.Launch(s, func(host.Args) { order = append(order, 1) }))
	e := s.Record()
	assert.False(t, e.Query())
	u.WaitEvent(e)
	require.NoError(t, host.Launch(u, func(host.Args) { order = append(order, 2) }))
	g.open()
	require.NoError(t, u.Sync())
	assert.Equal(t, []int{1, 2}, order)
	require.NoError(t, e.Sync())
	assert.True(t, e.Query())
	assert.True(t, alloc.Event{}.Query())
	require.NoError(t, alloc.Event{}.Sync())
	require.NoError(t, p.Close())
}

func TestCapture(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	p, err := alloc.NewPool(ordered(t, dev), alloc.Options{})
	require.NoError(t, err)
	s := newStream(t, p)
	b := mustMake[byte](t, s, 10)
	require.NoError(t, dev.SetCapturing(s.Handle(), true))
	_, err = alloc.Make[byte](s, 10)
	require.ErrorIs(t, err, alloc.ErrCapturing)
	require.ErrorIs(t, b.Fill(s, 1), alloc.ErrCapturing)
	require.ErrorIs(t, host.Launch(s, func(host.Args) {}), alloc.ErrCapturing)
	assert.Panics(t, func() { b.Ptr(s) })
	b.Free()
	p.Trim(0)
	require.NoError(t, dev.SetCapturing(s.Handle(), false))
	b = mustMake[byte](t, s, 10)
	b.Free()
	sound(t, p)
	require.NoError(t, p.Close())
}

// A device that cannot say whether a stream is captured is not taken for one that says yes: what is wrong
// with it is what the call itself meets.
func TestCapturingUnknown(t *testing.T) {
	for _, tt := range []struct {
		name     string
		err      error
		captured bool
	}{
		{"broken", errors.New("broken"), false},
		{"captured", fmt.Errorf("asked of a stream that waits for one: %w", alloc.ErrCapturing), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dev, err := host.Open(host.Options{})
			require.NoError(t, err)
			p, err := alloc.NewPool(ordered(t, mute{dev, tt.err}), alloc.Options{})
			require.NoError(t, err)
			s := newStream(t, p)
			s.Handle()
			b, err := alloc.Make[byte](s, 10)
			if tt.captured {
				require.ErrorIs(t, err, alloc.ErrCapturing)
			} else {
				require.NoError(t, err)
				assert.NotPanics(t, func() { b.Ptr(s) })
				b.Free()
			}
			require.NoError(t, p.Close())
		})
	}
}

// mute is a device that fails to say whether a stream is captured.
type mute struct {
	*host.Device
	err error
}

func (m mute) Capturing(uintptr) (bool, error) { return false, m.err }

// Streams that come and go leave their memory to those that follow.
func TestStreamChurn(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	for range 200 {
		s := newStream(t, p)
		b := mustMake[byte](t, s, 1<<20)
		require.NoError(t, b.Fill(s, 1))
		c := mustMake[byte](t, s, 1<<10)
		b.Free()
		require.NoError(t, s.Close())
		c.Free()
	}
	st := sound(t, p)
	assert.LessOrEqual(t, st.Reserved, int64(8<<20))
	assert.EqualValues(t, 1, st.Streams)
	require.NoError(t, p.Close())
}

func TestWrapStream(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	p, err := alloc.NewPool(ordered(t, dev), alloc.Options{})
	require.NoError(t, err)
	_, err = p.WrapStream(999)
	require.Error(t, err)
	h, err := dev.NewStream()
	require.NoError(t, err)
	s, err := p.WrapStream(h)
	require.NoError(t, err)
	assert.Equal(t, h, s.Handle())
	_, err = p.WrapStream(h)
	require.ErrorContains(t, err, "has a stream with handle", "wrapped twice")
	own, err := p.NewStream()
	require.NoError(t, err)
	_, err = p.WrapStream(own.Handle())
	require.ErrorContains(t, err, "has a stream with handle", "made by the pool")
	std, err := p.WrapStream(dev.DefaultStream())
	require.NoError(t, err, "other libraries name it too")
	_, err = p.WrapStream(dev.DefaultStream())
	require.ErrorContains(t, err, "has a stream with handle", "wrapped twice")
	require.NoError(t, std.Close())
	b := mustMake[byte](t, s, 10)
	require.NoError(t, b.Fill(s, 1))
	b.Free()
	require.NoError(t, s.Close())
	require.NoError(t, dev.Sync(h), "the stream itself is not ours to destroy")
	require.NoError(t, p.Close())
}

// A stream that is being captured is in no order with others: the event and the wait would be the graph's,
// and the other stream would be captured too.
func TestOrderDuringCapture(t *testing.T) {
	h, err := host.Open(host.Options{NoMapping: true, Capacity: 1 << 20})
	require.NoError(t, err)
	late := alloctest.NewLate(h, 1)
	p, err := alloc.NewPool(ordered(t, late), alloc.Options{Segment: 1 << 20, CollectWait: time.Millisecond})
	require.NoError(t, err)
	s, u := newStream(t, p), newStream(t, p)
	b := mustMake[byte](t, s, 1<<20)
	require.NoError(t, b.Fill(s, 1))
	b.Free()

	require.NoError(t, late.SetCapturing(s.Handle(), true))
	_, err = alloc.Make[byte](u, 1<<20)
	require.ErrorIs(t, err, alloc.ErrOutOfMemory, "only s has some")
	u.Wait(s)
	require.ErrorIs(t, u.Sync(), alloc.ErrCapturing)
	require.NoError(t, u.Sync(), "said once")
	require.NoError(t, late.SetCapturing(s.Handle(), false))

	b = mustMake[byte](t, u, 1<<20)
	require.NoError(t, late.SetCapturing(u.Handle(), true))
	u.Wait(s)
	require.NoError(t, late.SetCapturing(u.Handle(), false))
	require.ErrorIs(t, u.Sync(), alloc.ErrCapturing)
	e := s.Record()
	require.NoError(t, late.SetCapturing(u.Handle(), true))
	u.WaitEvent(e)
	require.NoError(t, late.SetCapturing(u.Handle(), false))
	require.ErrorIs(t, u.Sync(), alloc.ErrCapturing)
	b.Free()
	require.NoError(t, late.Faults())
	require.NoError(t, p.Close())
}

// lingering is a device whose first Sync waits until it is let go.
type lingering struct {
	*host.Device
	asked atomic.Bool
	gate  chan struct{}
}

func (d *lingering) Sync(s uintptr) error {
	if !d.asked.Swap(true) {
		<-d.gate
	}
	return d.Device.Sync(s)
}

// Close waits for a SyncContext that has given up: somebody is still at work with the stream.
func TestSyncContextMeetsClose(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	d := &lingering{Device: dev, gate: make(chan struct{})}
	p, err := alloc.NewPool(ordered(t, d), alloc.Options{})
	require.NoError(t, err)
	s := newStream(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error)
	go func() { given <- s.SyncContext(ctx) }()
	for !d.asked.Load() {
		runtime.Gosched()
	}
	cancel()
	require.ErrorIs(t, <-given, context.Canceled)
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	select {
	case <-closed:
		t.Fatal("the stream is destroyed while the device waits for it")
	case <-time.After(5 * time.Millisecond):
	}
	close(d.gate)
	require.NoError(t, <-closed)
	require.ErrorIs(t, s.Sync(), alloc.ErrClosed)
	require.NoError(t, p.Close())
}
