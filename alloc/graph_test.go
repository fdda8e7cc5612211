package alloc_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/tracker"
)

// A function of a graph that ends its goroutine ends nothing else.
func TestGraphGoesOn(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	b := mustMake[int32](t, s, 10)
	require.NoError(t, b.Fill(s, 0))
	g, err := s.Capture(func() error {
		return errors.Join(add(s, b, 1), host.Launch(s, func(host.Args) { runtime.Goexit() }), add(s, b, 1))
	})
	require.NoError(t, err)
	for i := range int32(20) { // more than a stream has room for at first
		require.NoError(t, g.Launch(s))
		require.NoError(t, add(s, b, 1))
		if i%5 == 0 {
			require.NoError(t, g.Launch(s))
			assert.EqualValues(t, 3*(i+1)+2*(i/5+1), first(t, s, b))
		}
	}
	b.Free()
	g.Close()
	require.NoError(t, p.Close())
}

// add enqueues the adding of x to all elements of b.
func add(s *alloc.Stream, b alloc.Buffer[int32], x int32) error {
	return host.Launch(s, func(a host.Args) {
		v, x := host.Slice[int32](a, 0), host.Value[int32](a, 1)
		for i := range v {
			v[i] += x
		}
	}, b.Arg(), alloc.Scalar(x))
}

// first returns the first element of b, in stream order on s.
func first(tb testing.TB, s *alloc.Stream, b alloc.Buffer[int32]) int32 {
	tb.Helper()
	got := make([]int32, 1)
	require.NoError(tb, b.CopyTo(s, got))
	return got[0]
}

// graphPools are the pools that graphs are tested on.
var graphPools = []struct {
	name string
	host host.Options
	pool alloc.Options
}{
	{"maps", host.Options{}, alloc.Options{}},
	{"plain", host.Options{NoMapping: true}, alloc.Options{}},
	{"limit", host.Options{Granularity: 64 << 10}, alloc.Options{Limit: 4 << 20}},
	{"checks", host.Options{}, alloc.Options{Check: true}},
}

func eachGraphPool(t *testing.T, f func(t *testing.T, p *alloc.Pool, s *alloc.Stream)) {
	for _, c := range graphPools {
		t.Run(c.name, func(t *testing.T) {
			p := newPool(t, c.host, c.pool)
			f(t, p, newStream(t, p))
			assert.Zero(t, sound(t, p).Live, "somebody has kept memory")
			require.NoError(t, p.Close())
			assert.Zero(t, hostDevice(p).Used())
		})
	}
}

// A graph does nothing when it is captured, and all of it whenever it is launched, on any stream.
func TestGraph(t *testing.T) {
	eachGraphPool(t, func(t *testing.T, p *alloc.Pool, s *alloc.Stream) {
		u := newStream(t, p)
		in := mustMake[int32](t, s, 1000)
		require.NoError(t, in.Fill(s, 1))
		var out alloc.Buffer[int32]
		g, err := s.Capture(func() error {
			x, err := alloc.Make[int32](s, 1000)
			if err != nil {
				return err
			}
			if out, err = alloc.Make[int32](s, 1000); err != nil {
				return err
			}
			err = errors.Join(x.Fill(s, 5), add(s, x, 2), alloc.Copy[int32](s, out, x), add(s, in, 1))
			x.Free()
			return err
		})
		require.NoError(t, err)
		st := sound(t, p)
		assert.Positive(t, st.Live)
		assert.EqualValues(t, 1, first(t, s, in), "nothing has run")
		for i := range 5 {
			for _, on := range []*alloc.Stream{s, u} {
				require.NoError(t, out.Fill(on, -1))
				require.NoError(t, g.Launch(on))
				assert.EqualValues(t, 7, first(t, on, out))
			}
			assert.EqualValues(t, 3+2*i, first(t, u, in))
			sound(t, p)
		}
		out.Free()
		in.Free()
		sound(t, p)
		assert.ErrorIs(t, g.Launch(s), alloc.ErrFreed)
		g.Close()
		g.Close()
		sound(t, p)
		require.NoError(t, s.Sync())
		require.NoError(t, u.Sync())
		if isChecked(p) {
			return
		}
		assert.Zero(t, sound(t, p).Pending)
	})
}

// The memory of a graph is live, at the site of Capture, and pending from Close until the launches have run.
func TestGraphMemory(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{Tracker: tracker.New(tracker.Options{Rate: 1})})
	s, u := newStream(t, p), newStream(t, p)
	b := mustMake[byte](t, s, 1<<20)
	g, err := s.Capture(func() error {
		if err := b.Fill(s, 1); err != nil {
			return err
		}
		for range 10 {
			x, err := alloc.Make[byte](s, 3<<20)
			if err != nil {
				return err
			}
			if err := x.Fill(s, 1); err != nil {
				return err
			}
			x.Free()
		}
		return nil
	})
	require.NoError(t, err)
	st := sound(t, p)
	assert.EqualValues(t, 5<<20, st.Live, "each Make has what the Free before gave up, in whole granules")
	sites := p.Tracker().Sites()
	require.NotEmpty(t, sites)
	assert.Contains(t, sites[0].String(), "graph_test.go")

	gate := block(t, u)
	require.NoError(t, g.Launch(u))
	g.Close()
	st = sound(t, p)
	assert.EqualValues(t, 1<<20, st.Live)
	assert.EqualValues(t, 4<<20, st.Pending, "a launch has not run")
	b.Free()
	assert.EqualValues(t, 5<<20, sound(t, p).Pending)
	assert.ErrorIs(t, g.Launch(u), alloc.ErrClosed)
	gate.open()
	require.NoError(t, u.Sync())
	st = sound(t, p)
	assert.Zero(t, st.Pending)
	require.NoError(t, p.Close())
}

// A buffer that a graph names may be freed: its memory is kept, and the graph is not launched any more.
func TestGraphNames(t *testing.T) {
	eachGraphPool(t, func(t *testing.T, p *alloc.Pool, s *alloc.Stream) {
		if isChecked(p) {
			return // pending is quarantine, too
		}
		b := mustMake[int32](t, s, 1000)
		h, err := alloc.MakePinned[int32](p, 1000)
		require.NoError(t, err)
		run := func() error { return errors.Join(add(s, b, 1), alloc.Upload(s, b, h), add(s, b, 2)) }
		g, err := s.Capture(run)
		require.NoError(t, err)
		other, err := s.Capture(run)
		require.NoError(t, err)
		h.Slice()[0] = 40
		require.NoError(t, g.Launch(s))
		assert.EqualValues(t, 42, first(t, s, b))
		before := sound(t, p)
		b.Free()
		st := sound(t, p)
		assert.Equal(t, before.Live-4096, st.Live)
		assert.EqualValues(t, 4096, st.Pending)
		require.NoError(t, s.Sync())
		assert.EqualValues(t, 4096, sound(t, p).Pending, "it waits for the graphs, not for the stream")
		err = g.Launch(s)
		require.ErrorIs(t, err, alloc.ErrFreed)
		assert.ErrorContains(t, err, "buffer 1 of 1 that the graph names, of 4.0 KiB")
		g.Close()
		assert.EqualValues(t, 4096, sound(t, p).Pending, "another graph names it")
		b2 := mustMake[int32](t, s, 1000)
		defer b2.Free()
		require.NoError(t, other.Update(func() error { return add(s, b2, 1) }))
		require.NoError(t, s.Sync())
		assert.Zero(t, sound(t, p).Pending)
		require.NoError(t, other.Update(func() error { return alloc.Upload(s, b2, h) }))
		require.NoError(t, other.Launch(s))
		h.Free()
		assert.Positive(t, sound(t, p).PinnedPending)
		err = other.Launch(s)
		require.ErrorIs(t, err, alloc.ErrFreed)
		assert.ErrorContains(t, err, "page-locked memory that the graph names")
		other.Close()
		require.NoError(t, s.Sync())
		assert.Zero(t, sound(t, p).PinnedPending)
	})
}

// What the function itself frees when it has used it is the graph's alone: that is where lastuse would have
// it freed, on whatever stream it was made.
func TestGraphOwnsWhatItsFunctionFreed(t *testing.T) {
	eachGraphPool(t, func(t *testing.T, p *alloc.Pool, s *alloc.Stream) {
		u := newStream(t, p)
		y := mustMake[int32](t, s, 1000)
		g, err := s.Capture(func() error {
			x, err := alloc.Make[int32](u, 1000)
			if err != nil {
				return err
			}
			h, err := alloc.MakePinned[int32](p, 1000)
			if err != nil {
				return err
			}
			h.Slice()[0] = 8
			err = errors.Join(x.Fill(u, 2), u.Sync(), alloc.Upload(s, y, h), add(s, x, 1), add(s, y, 1))
			err = errors.Join(err, alloc.Copy[int32](s, y.View(1, 1000), x.View(1, 1000)))
			x.Free()
			h.Free()
			return err
		})
		require.NoError(t, err)
		fill := mustMake[int32](t, u, 1000) // which does not get what x had
		require.NoError(t, fill.Fill(u, -1))
		for i := range int32(3) {
			require.NoError(t, g.Launch(u))
			got := make([]int32, 2)
			require.NoError(t, y.CopyTo(u, got))
			assert.Equal(t, []int32{9, 3 + i}, got)
		}
		fill.Free()
		y.Free()
		assert.ErrorIs(t, g.Launch(s), alloc.ErrFreed)
		g.Close()
		require.NoError(t, u.Sync())
		st := sound(t, p)
		assert.Zero(t, st.PinnedPending)
		if !isChecked(p) {
			assert.Zero(t, st.Pending)
		}
	})
}

// It changes hands when the graph lets go of it, and no earlier: on which streams the graph is launched
// before is the program's affair.
func TestGraphHandsOnLate(t *testing.T) {
	for _, closed := range []bool{false, true} {
		dev, err := host.Open(host.Options{})
		require.NoError(t, err)
		order := alloctest.Ordered(t, dev)
		p, err := alloc.NewPool(order, alloc.Options{})
		require.NoError(t, err)
		s, u, w := newStream(t, p), newStream(t, p), newStream(t, p)
		x := mustMake[int32](t, w, 1000)
		require.NoError(t, x.Fill(w, 1))
		g, err := s.Capture(func() error {
			defer x.Free()
			return x.Fill(s, 2)
		})
		require.NoError(t, err)
		require.NoError(t, g.Launch(u), "w may be at work on x")
		require.NoError(t, order.Err())
		if closed {
			require.NoError(t, p.Close())
		}
		g.Close()
		require.NoError(t, p.Close())
		require.NoError(t, order.Err())
		assert.Zero(t, dev.Used())
	}
}

func isChecked(p *alloc.Pool) bool {
	b, _ := alloc.Make[byte](p.DefaultStream(), 1)
	b.Free()
	return p.Stats().Pending > 0
}

// failing is what a capture that is to fail has.
type failing struct {
	p    *alloc.Pool
	s, u *alloc.Stream // s is being captured
	out  *alloc.Buffer[int32]
}

// What a capture cannot take fails and says what helps, and a capture that fails leaves nothing behind.
func TestCaptureFails(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name string
		f    func(x *failing) error
		is   error
		says string
	}{
		{"f", func(x *failing) error { return boom }, boom, "alloc: capture: boom"},
		{"outside", func(x *failing) error {
			x.s.Wait(x.u)
			return nil
		}, nil, "Wait before Capture"},
		{"outside event", func(x *failing) error {
			x.s.WaitEvent(x.u.Record())
			return nil
		}, nil, "Wait before Capture"},
		{"not joined", func(x *failing) error {
			x.u.Wait(x.s)
			return x.out.Fill(x.u, 1)
		}, nil, "Wait for it on the captured stream before the function returns"},
		{"joined too early", func(x *failing) error {
			x.u.Wait(x.s)
			x.s.Wait(x.u)
			return x.out.Fill(x.u, 1)
		}, nil, "before the function returns"},
		{"sync", func(x *failing) error { return x.s.Sync() }, alloc.ErrCapturing, ""},
		{"copy out", func(x *failing) error {
			return x.out.CopyTo(x.s, make([]int32, 1))
		}, alloc.ErrCapturing, "Download into page-locked memory"},
		{"callback", func(x *failing) error { return x.s.Callback(func() {}) }, alloc.ErrCapturing, ""},
		{"close", func(x *failing) error { return x.s.Close() }, alloc.ErrCapturing, ""},
		{"close pool", func(x *failing) error { return x.p.Close() }, alloc.ErrCapturing, "Close again"},
		{"event", func(x *failing) error { return x.s.Record().Sync() }, alloc.ErrCapturing, ""},
		{"again", func(x *failing) error {
			_, err := x.s.Capture(func() error { return nil })
			return err
		}, alloc.ErrCapturing, ""},
		{"default", func(x *failing) error {
			x.p.DefaultStream().Wait(x.s)
			return nil
		}, nil, "the default stream cannot be captured"},
		{"no memory", func(x *failing) error {
			_, err := alloc.Make[byte](x.s, 1<<40)
			return err
		}, alloc.ErrOutOfMemory, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPool(t, host.Options{Capacity: 64 << 20}, alloc.Options{Tracker: noSites()})
			s, u := newStream(t, p), newStream(t, p)
			b := mustMake[int32](t, s, 10)
			require.NoError(t, b.Fill(s, 3))
			before := sound(t, p).Live
			var out alloc.Buffer[int32]
			g, err := s.Capture(func() error {
				var err error
				if out, err = alloc.Make[int32](s, 10); err != nil {
					return err
				}
				return errors.Join(add(s, b, 1), c.f(&failing{p, s, u, &out}))
			})
			require.Error(t, err)
			assert.Nil(t, g)
			if c.is != nil {
				assert.ErrorIs(t, err, c.is)
			}
			assert.ErrorContains(t, err, c.says)
			assert.Equal(t, before, sound(t, p).Live)
			assert.ErrorIs(t, out.Fill(s, 1), alloc.ErrFreed, "what f made is gone")
			// All of it goes on as if nothing had been.
			assert.EqualValues(t, 3, first(t, s, b))
			g, err = s.Capture(func() error { return add(s, b, 1) })
			require.NoError(t, err)
			require.NoError(t, g.Launch(u))
			assert.EqualValues(t, 4, first(t, u, b))
			g.Close()
			b.Free()
			require.NoError(t, p.Close())
		})
	}
}

// A panic in f goes on, and so does the end of its goroutine; the capture is over.
func TestCapturePanics(t *testing.T) {
	eachGraphPool(t, func(t *testing.T, p *alloc.Pool, s *alloc.Stream) {
		half := func() alloc.Buffer[int32] {
			b, err := alloc.Make[int32](s, 10)
			require.NoError(t, err)
			require.NoError(t, b.Fill(s, 1))
			return b
		}
		assert.PanicsWithValue(t, "boom", func() {
			_, _ = s.Capture(func() error { half(); panic("boom") })
		})
		done := make(chan bool)
		go func() {
			defer close(done)
			_, _ = s.Capture(func() error { half(); runtime.Goexit(); return nil })
		}()
		<-done
		sound(t, p)
		b := half()
		assert.EqualValues(t, 1, first(t, s, b))
		g, err := s.Capture(func() error { return add(s, b, 1) })
		require.NoError(t, err)
		assert.PanicsWithValue(t, "boom", func() {
			_ = g.Update(func() error { half(); panic("boom") })
		})
		require.NoError(t, g.Launch(s))
		assert.EqualValues(t, 2, first(t, s, b))
		g.Close()
		b.Free()
	})
}
