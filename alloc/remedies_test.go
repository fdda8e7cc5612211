package alloc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

const (
	streamClosed = "stream closed: Close it behind its last use, or take another of the pool"
	graphClosed  = "graph closed: Close it behind its last use, or Capture anew"
	inCapture    = "stream is being captured: do it before Capture, or behind the graph's Launch"
	byOthers     = "stream is being captured by somebody else: do it when that has ended"
)

// A refusal is a call that fails, and what it says.
type refusal struct {
	name string
	call func() error
	is   error
	want string
}

func refused(t *testing.T, list []refusal) {
	t.Helper()
	for _, c := range list {
		err := func() (err error) {
			defer func() {
				if r := recover(); r != nil {
					err = r.(error)
				}
			}()
			return c.call()
		}()
		assert.EqualError(t, err, c.want, c.name)
		assert.ErrorIs(t, err, c.is, c.name)
	}
}

// Errors of streams, events and graphs say what to do.
func TestRemedies(t *testing.T) {
	nothing := func() error { return nil }
	p, q := newPool(t, host.Options{}, alloc.Options{}), newPool(t, host.Options{}, alloc.Options{})
	s, u, foreign := newStream(t, p), newStream(t, p), newStream(t, q)
	b := mustMake[int32](t, s, 128)
	graph := func() *alloc.Graph {
		g, err := u.Capture(func() error { return b.Fill(u, 1) })
		require.NoError(t, err)
		return g
	}
	g, other := graph(), graph()
	var inside alloc.Event
	_, err := s.Capture(func() error {
		inside = s.Record()
		refused(t, []refusal{
			{"capture", func() error { _, err := s.Capture(nothing); return err }, alloc.ErrCapturing,
				"alloc: capture: stream is being captured already: Capture when that has ended"},
			{"launch", func() error { return g.Launch(s) }, alloc.ErrCapturing, "alloc: launch graph: " + inCapture},
			{"sync", s.Sync, alloc.ErrCapturing, "alloc: sync: " + inCapture},
			{"sync context", func() error { return s.SyncContext(context.Background()) }, alloc.ErrCapturing,
				"alloc: sync: " + inCapture},
			{"close", s.Close, alloc.ErrCapturing, "alloc: close stream: " + inCapture},
			{"callback", func() error { return s.Callback(func() {}) }, alloc.ErrCapturing,
				"alloc: callback: " + inCapture},
			{"event", inside.Sync, alloc.ErrCapturing, "alloc: event: " + inCapture},
			{"timed event", s.RecordTimed().Sync, alloc.ErrCapturing, "alloc: event: " + inCapture},
		})
		return nil
	})
	require.NoError(t, err)
	update := func() error { return g.Update(nothing) }
	require.NoError(t, g.Update(func() error {
		refused(t, []refusal{{"update", update, alloc.ErrCapturing,
			"alloc: update graph: another Update is under way: Update behind it: stream is being captured"}})
		return nil
	}))
	u.WaitEvent(inside)
	require.NoError(t, hostDevice(p).SetCapturing(s.Handle(), true))
	refused(t, []refusal{
		{"event of a capture", u.Sync, alloc.ErrCapturing, "alloc: sync: alloc: wait event: event was recorded " +
			"in a capture: Record one behind the graph's Launch: stream is being captured"},
		{"sync", s.Sync, alloc.ErrCapturing, "alloc: sync: " + byOthers},
		{"launch", func() error { return g.Launch(s) }, alloc.ErrCapturing, "alloc: launch graph: " + byOthers},
		{"make", func() error { _, err := alloc.Make[int32](s, 1); return err }, alloc.ErrCapturing,
			"alloc: make: " + byOthers},
	})
	require.NoError(t, hostDevice(p).SetCapturing(s.Handle(), false))
	b.Free()
	g.Close()
	v := newStream(t, p)
	require.NoError(t, v.Close())
	refused(t, []refusal{
		{"foreign stream", func() error { return g.Launch(foreign) }, alloc.ErrForeign,
			"alloc: launch graph: stream belongs to another pool: launch on one of the graph's pool"},
		{"launch", func() error { return g.Launch(s) }, alloc.ErrClosed, "alloc: launch graph: " + graphClosed},
		{"update", update, alloc.ErrClosed, "alloc: update graph: " + graphClosed},
		{"sync", v.Sync, alloc.ErrClosed, "alloc: sync: " + streamClosed},
		{"wait", func() error { v.Wait(s); return nil }, alloc.ErrClosed, "alloc: wait: " + streamClosed},
		{"wait event", func() error { v.WaitEvent(s.Record()); return nil }, alloc.ErrClosed,
			"alloc: wait event: " + streamClosed},
		{"make", func() error { _, err := alloc.Make[int32](v, 1); return err }, alloc.ErrClosed,
			"alloc: make: " + streamClosed},
		{"capture", func() error { _, err := v.Capture(nothing); return err }, alloc.ErrClosed,
			"alloc: capture: " + streamClosed},
	})
	err = other.Launch(s)
	require.ErrorIs(t, err, alloc.ErrFreed)
	assert.ErrorContains(t, err, "of 512 B: Free it behind the last Launch, or Update to work without it: ")
	other.Close()
	require.NoError(t, errors.Join(q.Close(), p.Close()))
	refused(t, []refusal{{"pool", func() error { _, err := p.NewStream(); return err }, alloc.ErrClosed,
		"alloc: new stream: pool closed: Close it behind the last use of what is its"}})
}
