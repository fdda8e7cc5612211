package alloc_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
)

// An update replaces what a graph does, by the device's way and by a new executable, on the memory that the
// graph has; if it fails the graph is as it was.
func TestGraphUpdate(t *testing.T) {
	eachGraphPool(t, func(t *testing.T, p *alloc.Pool, s *alloc.Stream) {
		u := newStream(t, p)
		var out alloc.Buffer[int32]
		// with is a function that makes out and leaves n+x in it, in n steps.
		with := func(n int, x int32) func() error {
			return func() error {
				tmp, err := alloc.Make[int32](s, 10000)
				if err != nil {
					return err
				}
				if out, err = alloc.Make[int32](s, 10000); err != nil {
					return err
				}
				err = tmp.Fill(s, x)
				for range n {
					err = errors.Join(err, add(s, tmp, 1))
				}
				err = errors.Join(err, alloc.Copy[int32](s, out, tmp))
				tmp.Free()
				return err
			}
		}
		g, err := s.Capture(with(1, 10))
		require.NoError(t, err)
		oldest := out
		require.NoError(t, g.Launch(s))
		require.NoError(t, s.Sync())
		reserved := p.Stats().Reserved
		for i := range 6 {
			old := out
			gate := block(t, u)
			require.NoError(t, g.Launch(u)) // and is not over when the update comes
			require.NoError(t, g.Update(with(1+i/2, int32(i))), "with as many steps, or with more")
			require.NoError(t, g.Launch(s), "behind the launch before")
			gate.open()
			assert.EqualValues(t, 1+i/2+i, first(t, s, out))
			if old != oldest {
				old.Free()
			} else {
				require.NoError(t, oldest.Fill(s, 99))
			}
			good := out
			require.ErrorIs(t, g.Update(func() error { return errors.Join(with(3, 3)(), errBoom) }), errBoom)
			out = good
			require.NoError(t, out.Fill(s, -1))
			require.NoError(t, g.Launch(s))
			assert.EqualValues(t, 1+i/2+i, first(t, s, out))
			assert.EqualValues(t, 99, first(t, s, oldest), "what has left belongs to its owner")
			sound(t, p)
		}
		assert.LessOrEqual(t, p.Stats().Reserved, reserved+256<<10, "updates use the graph's memory again")
		oldest.Free()
		out.Free()
		g.Close()
	})
}

var errBoom = errors.New("boom")

// A stream joins by waiting for a captured one, or for an event of the capture, and what it frees serves
// another only behind a wait.
func TestCaptureJoins(t *testing.T) {
	eachGraphPool(t, func(t *testing.T, p *alloc.Pool, s *alloc.Stream) {
		u, w := newStream(t, p), newStream(t, p)
		y := mustMake[int32](t, s, 100)
		require.NoError(t, y.Fill(s, 0))
		var first1, other, behind alloc.Ptr
		run := func() error {
			a, err := alloc.Make[int32](s, 100)
			if err != nil {
				return err
			}
			err = a.Fill(s, 1)
			u.Wait(s)
			e := s.Record()
			w.WaitEvent(e)
			first1 = a.Ptr(s)
			err = errors.Join(err, add(u, a, 2), add(w, y, 1))
			a.Free()
			b, err2 := alloc.Make[int32](s, 100) // u may be at work on what a had
			other = b.Ptr(s)
			s.Wait(u)
			c, err3 := alloc.Make[int32](s, 100)
			behind = c.Ptr(s)
			s.Wait(w)
			err = errors.Join(err, err2, err3, b.Fill(s, 5), alloc.Copy[int32](s, c, b))
			b.Free()
			c.Free()
			return err
		}
		g, err := s.Capture(run)
		require.NoError(t, err)
		assert.NotEqual(t, first1, other)
		assert.Equal(t, first1, behind)
		w.Wait(s) // y is filled there
		for range 3 {
			require.NoError(t, g.Launch(w))
		}
		assert.EqualValues(t, 3, first(t, w, y))
		require.NoError(t, u.Sync(), "which is a stream like any other again")
		y.Free()
		g.Close()
	})
}

// Memory that one stream of a capture has freed unused serves none that is not behind its work before.
func TestCaptureUnused(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s, u, w := newStream(t, p), newStream(t, p), newStream(t, p)
	var was, now alloc.Ptr
	g, err := s.Capture(func() error {
		u.Wait(s)
		w.Wait(s)
		a, err := alloc.Make[int32](u, 100)
		was = a.Ptr(u)
		err = errors.Join(err, a.Fill(u, 1))
		a.Free()
		s.Wait(u)
		b, err2 := alloc.Make[int32](s, 100) // has what a had, as s is behind u
		b.Free()
		c, err3 := alloc.Make[int32](w, 100)
		now = c.Ptr(w)
		s.Wait(w)
		c.Free()
		return errors.Join(err, err2, err3)
	})
	require.NoError(t, err)
	assert.NotEqual(t, was, now, "u may be at work on it")
	g.Close()
	require.NoError(t, p.Close())
}

// A graph may name what has left another one: the memory of that is kept until both are done with it.
func TestGraphNamesGraph(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	var x alloc.Buffer[int32]
	a, err := s.Capture(func() (err error) {
		x, err = alloc.Make[int32](s, 1000)
		return errors.Join(err, x.Fill(s, 3))
	})
	require.NoError(t, err)
	b, err := s.Capture(func() error { return add(s, x, 1) })
	require.NoError(t, err)
	require.NoError(t, a.Launch(s))
	require.NoError(t, b.Launch(s))
	assert.EqualValues(t, 4, first(t, s, x))
	a.Close()
	require.NoError(t, b.Launch(s), "x is its owner's")
	assert.EqualValues(t, 5, first(t, s, x))
	x.Free()
	require.ErrorIs(t, b.Launch(s), alloc.ErrFreed)
	require.NoError(t, s.Sync())
	assert.Positive(t, sound(t, p).Live, "b names it")
	b.Close()
	require.NoError(t, s.Sync())
	st := sound(t, p)
	assert.Zero(t, st.Live)
	assert.Zero(t, st.Pending)
	require.NoError(t, p.Close())
}

// A graph that is dropped is closed, and buffers that left it and are dropped are freed.
func TestGraphDropped(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	b := mustMake[int32](t, s, 1000)
	func() {
		g, err := s.Capture(func() error {
			x, err := alloc.Make[int32](s, 1000)
			return errors.Join(err, alloc.Copy[int32](s, x, b))
		})
		require.NoError(t, err)
		require.NoError(t, g.Launch(s))
	}()
	b.Free()
	assert.Positive(t, p.Stats().Pending)
	collectUntil(t, func() bool {
		require.NoError(t, s.Sync())
		st := p.Stats()
		return st.Live == 0 && st.Pending == 0
	})
	sound(t, p)
	require.NoError(t, p.Close())
	assert.Zero(t, hostDevice(p).Used())
}

// A pool that is closed while it has a graph says so; the memory goes back when the graph is closed.
func TestGraphOutlivesPool(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	g, err := s.Capture(func() error {
		x, err := alloc.Make[int32](s, 1000)
		return errors.Join(err, x.Fill(s, 1))
	})
	require.NoError(t, err)
	plain, err := s.Capture(func() error { return nil })
	require.NoError(t, err)
	require.NoError(t, g.Launch(s))
	require.ErrorIs(t, p.Close(), alloc.ErrLive)
	assert.ErrorIs(t, g.Launch(s), alloc.ErrClosed)
	assert.ErrorIs(t, g.Update(func() error { return nil }), alloc.ErrClosed)
	assert.Positive(t, hostDevice(p).Used())
	g.Close()
	plain.Close()
	collectUntil(t, func() bool { p.Stats(); return hostDevice(p).Used() == 0 }) // x has been dropped, too
}

// Whatever call of the device fails, the books balance and the graph that was there is good.
func TestGraphFaults(t *testing.T) {
	for _, plain := range []bool{false, true} {
		hd, err := host.Open(host.Options{NoMapping: plain})
		require.NoError(t, err)
		dev := alloctest.NewFaulty(hd)
		for n := int64(1); ; n++ {
			p, err := alloc.NewPool(orderedFaulty(t, dev), alloc.Options{})
			require.NoError(t, err)
			s, u := newStream(t, p), newStream(t, p)
			b := mustMake[int32](t, s, 1000)
			require.NoError(t, b.Fill(s, 1))
			u.Wait(s)
			run := func() error {
				x, err := alloc.Make[int32](s, 1000)
				if err != nil {
					return err
				}
				defer x.Free()
				u.Wait(s)
				err = errors.Join(x.Fill(s, 1), b.Fill(u, 5), b.View(1, 4).CopyFrom(u, []int32{1, 2, 3}))
				s.Wait(u)
				return errors.Join(err, alloc.Copy[int32](s, x, b))
			}
			before := dev.Calls()
			dev.FailNth(n)
			steps := func() (err error) {
				g, err := s.Capture(run)
				if err != nil {
					return err
				}
				defer g.Close()
				err = errors.Join(g.Launch(s), g.Update(run), g.Launch(u), g.Update(func() error {
					return errors.Join(run(), b.Fill(s, 6))
				}))
				dev.Heal()
				if err := g.Launch(s); err != nil {
					return err
				}
				if got := first(t, s, b); got != 5 && got != 6 {
					t.Errorf("call %d fails: %d", n, got)
				}
				return err
			}
			err = steps()
			dev.Heal()
			if err == nil && dev.Calls()-before < n {
				b.Free()
				require.NoError(t, p.Close())
				break
			}
			require.NoError(t, s.Sync(), "call %d fails", n)
			require.NoError(t, u.Sync())
			sound(t, p)
			b.Free()
			assert.Zero(t, sound(t, p).Live, "call %d fails", n)
			_ = p.Close()
			require.Zero(t, hd.Used(), "call %d fails", n)
		}
	}
}

// Goroutines launch, update and free while others allocate: under the race detector and the order checker.
func TestGraphStorm(t *testing.T) {
	eachGraphPool(t, func(t *testing.T, p *alloc.Pool, s *alloc.Stream) {
		run := func() error {
			for i := range 4 {
				x, err := alloc.Make[int32](s, 1000<<i)
				if err != nil {
					return err
				}
				if err := x.Fill(s, 1); err != nil {
					return err
				}
				x.Free()
			}
			return nil
		}
		g, err := s.Capture(run)
		require.NoError(t, err)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				u, err := p.NewStream()
				if !assert.NoError(t, err) {
					return
				}
				for i := range 30 {
					b, err := alloc.Make[int32](u, 5000)
					if assert.NoError(t, err) {
						assert.NoError(t, errors.Join(b.Fill(u, 2), g.Launch(u)))
						b.Free()
					}
					if i%10 == 0 {
						p.Trim(0)
						p.Stats()
					}
				}
				assert.NoError(t, u.Close())
			})
		}
		wg.Go(func() {
			for range 20 {
				assert.NoError(t, g.Update(run))
				h, err := s.Capture(run)
				if assert.NoError(t, err) {
					assert.NoError(t, h.Launch(p.DefaultStream()))
					h.Close()
				}
			}
		})
		wg.Wait()
		g.Close()
	})
}

// A new executable runs behind the launches of the one that it replaces, on whatever streams.
func TestGraphUpdateRunsBehind(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s, u, w := newStream(t, p), newStream(t, p), newStream(t, p)
	var ran []int // by the graph, one launch at a time
	say := func(n int) func() error {
		return func() (err error) {
			for range n { // so that each has another shape
				err = errors.Join(err, host.Launch(s, func(host.Args) { ran = append(ran, n) }))
			}
			return err
		}
	}
	g, err := s.Capture(say(1))
	require.NoError(t, err)
	gate := block(t, u)
	require.NoError(t, g.Launch(u))
	require.NoError(t, g.Update(say(2)))
	require.NoError(t, g.Update(say(3)), "which nobody has launched the one before of")
	require.NoError(t, g.Launch(s))
	require.NoError(t, host.Launch(w, func(host.Args) {}))
	require.NoError(t, w.Sync(), "time enough for s to go wrong")
	gate.open()
	require.NoError(t, s.Sync())
	require.NoError(t, u.Sync())
	assert.Equal(t, []int{1, 3, 3, 3}, ran)
	g.Close()
	require.NoError(t, p.Close())
}

// So it does when a launch fails in between, and when the stream of those launches is being closed.
func TestGraphUpdateRunsBehindAllTheSame(t *testing.T) {
	for _, closing := range []bool{false, true} {
		dev, err := host.Open(host.Options{})
		require.NoError(t, err)
		f := alloctest.NewFaulty(dev)
		p, err := alloc.NewPool(orderedFaulty(t, f), alloc.Options{})
		require.NoError(t, err)
		s, u, w := newStream(t, p), newStream(t, p), newStream(t, p)
		var ran []int // by the graph, one launch at a time
		run := func() error { return host.Launch(s, func(host.Args) { ran = append(ran, 1) }) }
		g, err := s.Capture(run)
		require.NoError(t, err)
		gate := block(t, u)
		require.NoError(t, g.Launch(u))
		closed := make(chan error, 1)
		if closing {
			go func() { closed <- u.Close() }()
			for host.Launch(u, func(host.Args) {}) == nil {
				runtime.Gosched()
			}
		} else {
			closed <- nil
		}
		require.NoError(t, g.Update(func() error {
			return errors.Join(run(), host.Launch(s, func(host.Args) { ran = append(ran, 2) }))
		}))
		f.Only("LaunchExec")
		f.FailNth(1)
		require.ErrorIs(t, g.Launch(s), alloctest.ErrInjected)
		f.Heal()
		require.NoError(t, g.Launch(w))
		require.NoError(t, host.Launch(s, func(host.Args) {}))
		if e := w.Record(); closing {
			assert.False(t, e.Query())
		}
		gate.open()
		require.NoError(t, w.Sync())
		require.NoError(t, <-closed)
		assert.Equal(t, []int{1, 1, 2}, ran)
		g.Close()
		require.NoError(t, p.Close())
	}
}

// Memory that a graph was launched on waits for those launches, whether it is freed before or behind its
// Close.
func TestGraphMemoryWaitsForLaunches(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s, u, w := newStream(t, p), newStream(t, p), newStream(t, p)
	b := mustMake[int32](t, s, 1<<20)
	var out alloc.Buffer[int32]
	var at alloc.Ptr
	run := func() (err error) {
		out, err = alloc.Make[int32](s, 1000)
		at = out.Ptr(s)
		return errors.Join(err, out.Fill(s, 1), b.Fill(s, 1))
	}
	g, err := s.Capture(run)
	require.NoError(t, err)
	gate := block(t, u)
	require.NoError(t, g.Launch(u))
	other := block(t, w)
	require.NoError(t, out.Fill(w, 2), "by its owner")
	old, was := out, at
	old.Free()
	require.NoError(t, g.Update(run))
	assert.NotEqual(t, was, at, "work on what has left may not have run")
	out.Free()
	g.Close()
	b.Free()
	st := sound(t, p)
	assert.Zero(t, st.Live)
	assert.GreaterOrEqual(t, st.Pending, int64(4<<20), "b was launched on u")
	gate.open()
	require.NoError(t, u.Sync())
	require.NoError(t, s.Sync())
	assert.Positive(t, sound(t, p).Pending, "of the graph's memory w may still use some")
	other.open()
	require.NoError(t, w.Sync())
	assert.Zero(t, sound(t, p).Pending)
	require.NoError(t, p.Close())
}
