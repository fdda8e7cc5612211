package alloc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

// What a script does with streams.

func (m *script) wait()  { m.stream().Wait(m.stream()) }
func (m *script) sync()  { m.fail(m.stream().Sync()) }
func (m *script) query() { m.stream().Record().Query() }

// replace closes a stream and makes a new one.
func (m *script) replace() {
	m.change(m.next(), func() (*alloc.Stream, error) { return m.pool.NewStream() })
}

// change closes a stream, but not the default one, and puts another one in its place.
func (m *script) change(which byte, next func() (*alloc.Stream, error)) {
	i := int(which) % len(m.streams)
	if i == 0 {
		return
	}
	old := m.at(i)
	m.fail(old.Close())
	s, err := next()
	require.NoError(m.t, err)
	m.streams[i] = s
	m.over(old)
}

// wrap replaces a stream by one that is not the pool's: a new one, or one that this pool or its twin has
// wrapped before and may have still.
func (m *script) wrap() {
	which, how := m.next(), m.next()
	if int(which)%len(m.streams) == 0 {
		return
	}
	var free []uintptr
	for _, h := range m.handles {
		if !slices.ContainsFunc(m.streams, func(s *alloc.Stream) bool { return s.LaunchHandle() == h }) {
			free = append(free, h)
		}
	}
	if len(free) == 0 || how%4 == 0 && len(m.handles) < 4 {
		h, err := m.order.NewStream()
		require.NoError(m.t, err)
		m.handles = append(m.handles, h)
		free = []uintptr{h}
	}
	m.change(which, func() (*alloc.Stream, error) { return m.pool.WrapStream(free[int(how)%len(free)]) })
}

// capture begins a capture of a stream, which refuses all work until uncaptured.
func (m *script) capture() {
	s := m.stream()
	// What a closed pool has left may go back to the device at any moment, which waits for all streams.
	if s == m.streams[0] || m.older {
		return
	}
	b := m.pick()
	if m.uncapture(); b != nil {
		m.toWrite(s, b, m.next())
	}
	m.seize(s)
	_, err := alloc.Make[byte](s, m.size())
	m.refused("Make", err)
	m.refused("Record", s.Record().Sync())
	if b != nil {
		m.refused("Fill", b.Fill(s, 1))
	}
}

// seize lets somebody else capture s.
func (m *script) seize(s *alloc.Stream) {
	m.captured = s.Handle()
	m.fail(m.late.SetCapturing(m.captured, true))
}

// refused notes if a call on a stream that is being captured was not.
func (m *script) refused(what string, err error) {
	if !errors.Is(err, alloc.ErrCapturing) {
		m.fail(fmt.Errorf("%s during a capture: %v", what, err))
	}
}

// uncapture ends the capture if there is one, uncaptured if it is of s.
func (m *script) uncapture() {
	if m.captured != 0 {
		m.fail(m.late.SetCapturing(m.captured, false))
		m.captured = 0
	}
}

func (m *script) uncaptured(s *alloc.Stream) *alloc.Stream {
	if s != nil && s.LaunchHandle() == m.captured {
		m.uncapture()
	}
	return s
}

// syncContext waits for a stream, or gives up at once.
func (m *script) syncContext() {
	s, how := m.stream(), m.next()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if how%8 != 0 {
		cancel()
	}
	if err := s.SyncContext(ctx); !errors.Is(err, ctx.Err()) {
		m.fail(err)
	}
}

// over forgets that anybody must be behind s, which is closed.
func (m *script) over(s *alloc.Stream) {
	is := func(u use) bool { return u.stream == s }
	all := slices.Clone(m.buffers)
	for _, g := range m.graphs {
		for _, w := range g.writes {
			all = append(all, w.buffer)
		}
	}
	for _, b := range all {
		if b.maker == s {
			b.maker = nil
		}
		if is(b.writer) {
			b.writer = use{}
		}
		b.readers = slices.DeleteFunc(b.readers, is)
		b.held = slices.DeleteFunc(b.held, func(h *alloc.Stream) bool { return h == s })
	}
	for _, h := range m.pinned {
		if is(h.writer) {
			h.writer = use{}
		}
		h.readers = slices.DeleteFunc(h.readers, is)
	}
}
