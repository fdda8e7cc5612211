package alloc_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/finalize"
	"github.com/lastuse/lastuse/tracker"
)

// mustMake makes a buffer or ends the test.
func mustMake[T any](tb testing.TB, s *alloc.Stream, n int) alloc.Buffer[T] {
	tb.Helper()
	b, err := alloc.Make[T](s, n)
	require.NoError(tb, err)
	return b
}

// sound checks the pool's books.
func sound(tb testing.TB, p *alloc.Pool) alloc.Stats {
	tb.Helper()
	require.NoError(tb, p.Check())
	st := p.Stats()
	require.Equal(tb, st.Reserved, st.Live+st.Pending+st.Idle)
	return st
}

// gate blocks a stream until it is opened.
type gate chan struct{}

func block(tb testing.TB, s *alloc.Stream) gate {
	tb.Helper()
	g := make(gate)
	require.NoError(tb, host.Launch(s, func(host.Args) { <-g }))
	return g
}

func (g gate) open() { close(g) }

func TestRoundTrip(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	b := mustMake[float32](t, s, 1000)
	src := make([]float32, 1000)
	for i := range src {
		src[i] = float32(i)
	}
	require.NoError(t, b.CopyFrom(s, src))
	half := b.View(500, 1000)
	require.NoError(t, half.Fill(s, 2.5))
	c := mustMake[float32](t, s, 500)
	require.NoError(t, alloc.Copy(s, c, half))
	require.NoError(t, alloc.Copy(s, b.View(0, 10), c.View(0, 10)))
	got := make([]float32, 1000)
	require.NoError(t, b.CopyTo(s, got))
	assert.Equal(t, float32(2.5), got[0])
	assert.Equal(t, float32(10), got[10])
	assert.Equal(t, float32(499), got[499])
	assert.Equal(t, float32(2.5), got[999])
	assert.Equal(t, 1000, b.Len())
	assert.EqualValues(t, 4000, b.Bytes())
	assert.Zero(t, uintptr(b.Ptr(s))%alloc.MinAlign)
	b.Free()
	c.Free()
	b.Free()
	st := sound(t, p)
	assert.Zero(t, st.Live)
	assert.EqualValues(t, 1, st.Repeated)
	require.NoError(t, p.Close())
}

func TestFillWidths(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	type triple struct{ a, b, c uint32 }
	fill(t, s, uint8(7))
	fill(t, s, int16(-2))
	fill(t, s, float32(1.5))
	fill(t, s, float64(math.Pi))
	fill(t, s, float64(0))
	fill(t, s, complex(1.5, -2))
	fill(t, s, triple{1, 2, 3})
	fill(t, s, [3]byte{1, 2, 3})
	fill(t, s, [3]byte{4, 4, 4})
	fill(t, s, struct{}{})
	fill(t, s, true)
	require.NoError(t, p.Close())
}

func fill[T comparable](t *testing.T, s *alloc.Stream, x T) {
	t.Helper()
	for _, n := range []int{1, 2, 3, 1000} {
		b := mustMake[T](t, s, n)
		require.NoError(t, b.Fill(s, x))
		got := make([]T, b.Len())
		require.NoError(t, b.CopyTo(s, got))
		for i := range got {
			require.Equal(t, x, got[i])
		}
		b.Free()
	}
}

// A Free of memory that only its own stream used makes it idle at once, and the next
// Make gets it, although the work on it has not run.
func TestFreeIsStreamOrdered(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	g := block(t, s)
	a := mustMake[byte](t, s, 1<<20)
	require.NoError(t, a.Fill(s, 1))
	first := a.Ptr(s)
	calls := p.Stats().DeviceCalls
	a.Free()
	st := p.Stats()
	assert.Equal(t, calls, st.DeviceCalls, "Free calls no device")
	assert.Zero(t, st.Live)
	assert.Zero(t, st.Pending)
	b := mustMake[byte](t, s, 1<<20)
	assert.Equal(t, first, b.Ptr(s))
	require.NoError(t, b.Fill(s, 2))
	g.open()
	got := make([]byte, 1)
	require.NoError(t, b.CopyTo(s, got))
	assert.EqualValues(t, 2, got[0])
	b.Free()
	require.NoError(t, p.Close())
}

// Memory that another stream used is pending until that stream is seen past it.
func TestPending(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s, u := newStream(t, p), newStream(t, p)
	b := mustMake[byte](t, s, 4096)
	u.Wait(s)
	g := block(t, u)
	require.NoError(t, b.Fill(u, 1))
	ptr := b.Ptr(s)
	b.Free()
	st := sound(t, p)
	assert.EqualValues(t, 4096, st.Pending)
	c := mustMake[byte](t, s, 4096)
	assert.NotEqual(t, ptr, c.Ptr(s), "the other stream is not done with it")
	g.open()
	require.NoError(t, u.Sync())
	st = sound(t, p)
	assert.Zero(t, st.Pending)
	d := mustMake[byte](t, s, 4096)
	assert.Equal(t, ptr, d.Ptr(s))
	c.Free()
	d.Free()
	require.NoError(t, p.Close())
}

// A block of another stream is used once its work is complete, and not before while there
// is fresh memory.
func TestOtherStreams(t *testing.T) {
	const size = 1 << 20
	p := newPool(t, host.Options{Capacity: 2 << 20, Granularity: 64 << 10}, alloc.Options{})
	s, u := newStream(t, p), newStream(t, p)
	g := block(t, s)
	a := mustMake[byte](t, s, size)
	ptr := a.Ptr(s)
	a.Free()
	b := mustMake[byte](t, u, size) // s is not done: fresh
	assert.NotEqual(t, ptr, b.Ptr(u))
	assert.Zero(t, p.Stats().Waits)
	c := mustMake[byte](t, u, size) // nothing fresh is left: u waits for s
	assert.Equal(t, ptr, c.Ptr(u))
	st := sound(t, p)
	assert.EqualValues(t, 1, st.Waits)
	assert.EqualValues(t, 1, st.Ordered)
	require.NoError(t, c.Fill(u, 9))
	e := u.Record()
	assert.False(t, e.Query(), "u waits for s")
	g.open()
	require.NoError(t, e.Sync())
	b.Free()
	c.Free()
	st = sound(t, p)
	assert.EqualValues(t, 2*size, st.Idle)
	require.NoError(t, u.Sync())
	d := mustMake[byte](t, s, 2*size) // both granules, one of them with u
	st = sound(t, p)
	assert.EqualValues(t, 2*size, st.Reserved)
	d.Free()
	require.NoError(t, s.Sync())
	assert.EqualValues(t, 2*size, p.Trim(0))
	assert.Zero(t, sound(t, p).Reserved)
	require.NoError(t, p.Close())
}

// Streams that borrow small blocks get runs of their own, not slots of one that another stream uses:
// these would stay with them, and every Make would meet the other's on one cache line.
func TestBorrowedRuns(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	var streams []*alloc.Stream
	for range 6 {
		streams = append(streams, newStream(t, p))
	}
	var at []alloc.Ptr
	var keep []alloc.Buffer[byte]
	for i := range streams {
		s := streams[len(streams)-1-i] // the one whose memory it is comes last where they are looked through
		b := mustMake[byte](t, s, 4096)
		at = append(at, b.Ptr(s))
		keep = append(keep, b)
	}
	slices.Sort(at)
	for i := range at[1:] {
		assert.GreaterOrEqual(t, at[i+1]-at[i], alloc.Ptr(64<<10), "two streams in one run")
	}
	for _, b := range keep {
		b.Free()
	}
	st := sound(t, p)
	assert.EqualValues(t, 5, st.Other)
	require.NoError(t, p.Close())

	// Where there is nothing else a slot will do.
	p = newPool(t, host.Options{NoMapping: true}, alloc.Options{Limit: 64 << 10, Segment: 64 << 10})
	s, u := newStream(t, p), newStream(t, p)
	a, b := mustMake[byte](t, s, 4096), mustMake[byte](t, u, 4096)
	assert.EqualValues(t, 1, p.Stats().Other)
	a.Free()
	b.Free()
	sound(t, p)
	require.NoError(t, p.Close())
}

func TestLimitIsHard(t *testing.T) {
	for _, mapping := range []bool{true, false} {
		p := newPool(t, host.Options{NoMapping: !mapping, Granularity: 64 << 10}, alloc.Options{Limit: 1 << 20})
		s := newStream(t, p)
		var all []alloc.Buffer[byte]
		for range 16 {
			all = append(all, mustMake[byte](t, s, 64<<10))
		}
		_, err := alloc.Make[byte](s, 1)
		require.ErrorIs(t, err, alloc.ErrOutOfMemory)
		var me *alloc.MemoryError
		require.ErrorAs(t, err, &me)
		assert.EqualValues(t, 1<<20, me.Stats.Live)
		assert.EqualValues(t, 1, p.Stats().Failed)
		t.Log(err)
		for i, b := range all {
			if i%2 == 0 {
				b.Free()
			}
		}
		require.NoError(t, s.Sync())
		st := sound(t, p)
		assert.EqualValues(t, 1<<20, st.Reserved)
		c, err := alloc.Make[byte](s, 512<<10)
		if mapping {
			require.NoError(t, err, "enough whole granules are idle")
			assert.EqualValues(t, 1<<20, sound(t, p).Reserved)
			c.Free()
		} else {
			require.ErrorIs(t, err, alloc.ErrOutOfMemory, "nothing can put eight holes together")
		}
		for _, b := range all {
			b.Free()
		}
		sound(t, p)
		require.NoError(t, p.Close())
	}
}

func TestBadInput(t *testing.T) {
	p := newPool(t, host.Options{Capacity: 1 << 30}, alloc.Options{})
	q := newPool(t, host.Options{}, alloc.Options{})
	s, u := newStream(t, p), newStream(t, q)
	b := mustMake[int32](t, s, 10)

	t.Run("sizes", func(t *testing.T) {
		for _, n := range []int{-1, math.MinInt, math.MaxInt, math.MaxInt/8 + 1, 1 << 61} {
			_, err := alloc.Make[float64](s, n)
			require.ErrorIs(t, err, alloc.ErrSize, "%d", n)
		}
		_, err := alloc.Make[[1 << 20]byte](s, 1<<44)
		require.ErrorIs(t, err, alloc.ErrSize)
		_, err = alloc.Make[byte](s, 1<<47)
		require.ErrorIs(t, err, alloc.ErrOutOfMemory)
		z, err := alloc.Make[byte](s, 0)
		require.NoError(t, err)
		assert.Equal(t, alloc.Buffer[byte]{}, z)
	})
	t.Run("types", func(t *testing.T) {
		_, err := alloc.Make[*int](s, 1)
		require.ErrorIs(t, err, alloc.ErrType)
		_, err = alloc.Make[struct {
			a int
			s string
		}](s, 1)
		require.ErrorIs(t, err, alloc.ErrType)
		require.ErrorContains(t, err, "field s")
		_, err = alloc.Make[map[int]int](s, 0)
		require.ErrorIs(t, err, alloc.ErrType)
		_, err = alloc.Make[any](s, 1)
		require.ErrorIs(t, err, alloc.ErrType)
		require.ErrorIs(t, host.Launch(s, func(host.Args) {}, alloc.Scalar("s")), alloc.ErrType)
	})
	t.Run("zero buffer", func(t *testing.T) {
		var z alloc.Buffer[int]
		z.Free()
		z.Free()
		require.NoError(t, z.CopyFrom(s, nil))
		require.NoError(t, z.CopyTo(s, nil))
		require.NoError(t, z.Fill(s, 1))
		require.ErrorIs(t, z.CopyFrom(s, []int{1}), alloc.ErrSize)
		assert.Zero(t, z.Ptr(s))
		assert.Zero(t, z.All().Len())
		assert.Zero(t, p.Stats().Repeated)
	})
	t.Run("bounds", func(t *testing.T) {
		require.ErrorIs(t, b.CopyFrom(s, make([]int32, 11)), alloc.ErrSize)
		require.ErrorIs(t, b.CopyTo(s, make([]int32, 11)), alloc.ErrSize)
		require.ErrorIs(t, alloc.Copy(s, b.View(0, 5), b), alloc.ErrSize)
		for _, ij := range [][2]int{{-1, 2}, {3, 2}, {0, 11}, {11, 11}, {math.MinInt, math.MaxInt}} {
			assert.Panics(t, func() { b.View(ij[0], ij[1]) }, "%v", ij)
		}
	})
	t.Run("foreign", func(t *testing.T) {
		require.ErrorIs(t, b.CopyFrom(u, nil), alloc.ErrForeign)
		require.ErrorIs(t, b.Fill(u, 1), alloc.ErrForeign)
		require.ErrorIs(t, host.Launch(u, func(host.Args) {}, b.Arg()), alloc.ErrForeign)
		assert.Panics(t, func() { b.Ptr(u) })
		assert.Panics(t, func() { s.Wait(u) })
		g := block(t, s)
		e := s.Record()
		assert.Panics(t, func() { u.WaitEvent(e) })
		g.open()
	})
	t.Run("freed", func(t *testing.T) {
		c := mustMake[int32](t, s, 10)
		v := c.View(1, 3)
		c.Free()
		require.ErrorIs(t, c.CopyFrom(s, nil), alloc.ErrFreed)
		require.ErrorIs(t, c.CopyTo(s, nil), alloc.ErrFreed)
		require.ErrorIs(t, v.Fill(s, 1), alloc.ErrFreed)
		require.ErrorIs(t, alloc.Copy(s, b, v), alloc.ErrFreed)
		require.ErrorIs(t, alloc.Copy(s, v, b.View(0, 1)), alloc.ErrFreed)
		require.ErrorIs(t, host.Launch(s, func(host.Args) {}, b.Arg(), v.Arg()), alloc.ErrFreed)
		assert.PanicsWithError(t, "alloc: address: buffer used after Free", func() { c.Ptr(s) })
	})
	t.Run("closed", func(t *testing.T) {
		x := newStream(t, p)
		require.NoError(t, x.Close())
		require.NoError(t, x.Close())
		_, err := alloc.Make[byte](x, 1)
		require.ErrorIs(t, err, alloc.ErrClosed)
		_, err = alloc.Make[byte](x, 0)
		require.ErrorIs(t, err, alloc.ErrClosed)
		require.ErrorIs(t, b.Fill(x, 1), alloc.ErrClosed)
		require.ErrorIs(t, x.Sync(), alloc.ErrClosed)
		require.ErrorIs(t, host.Launch(x, func(host.Args) {}), alloc.ErrClosed)
		assert.Panics(t, func() { x.Wait(s) })
		assert.Panics(t, func() { s.Wait(x) })
	})
	b.Free()
	sound(t, p)
	require.NoError(t, p.Close())
	_, err := alloc.Make[byte](s, 1)
	require.ErrorIs(t, err, alloc.ErrClosed)
	_, err = p.NewStream()
	require.ErrorIs(t, err, alloc.ErrClosed)
	_, err = alloc.MakePinned[byte](p, 1)
	require.ErrorIs(t, err, alloc.ErrClosed)
	require.NoError(t, p.Close())
	require.NoError(t, q.Close())
	_, err = alloc.NewPool(nil, alloc.Options{})
	require.Error(t, err)
}

func TestCloseNamesLive(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	p, err := alloc.NewPool(dev, alloc.Options{})
	require.NoError(t, err)
	s := newStream(t, p)
	// So large that the sampler does not miss one.
	a, b := mustMake[byte](t, s, 64<<20), mustMake[byte](t, s, 64<<20)
	b.Free()
	err = p.Close()
	require.ErrorIs(t, err, alloc.ErrLive)
	var le *alloc.LiveError
	require.ErrorAs(t, err, &le)
	assert.EqualValues(t, 1, le.Buffers)
	assert.EqualValues(t, 64<<20, le.Bytes)
	assert.Contains(t, err.Error(), "pool_test.go")
	assert.NotZero(t, dev.Used())
	a.Free()
	assert.Zero(t, dev.Used(), "the last one takes its segment along")
	assert.Zero(t, p.Stats().Reserved)
}

// What was not sampled is counted, and the error says how to have it named. Figures are exact, and of
// this pool alone although the books are shared.
func TestCloseCountsUnsampled(t *testing.T) {
	never := tracker.New(tracker.Options{Rate: -1})
	every := tracker.New(tracker.Options{Rate: 1})
	for _, c := range []struct {
		books *tracker.Tracker
		check bool
		want  string
	}{
		{never, false, "alloc: close: buffers still live: 3 of 3.0 KiB; 3.0 KiB in 3 from sites that were not sampled: " +
			"tracker.Options{Rate: 1} or alloc.Options{Check: true} names all"},
		{every, false, "3.0 KiB in 3 from "},
		{nil, true, " in 3 from "},
		{never, true, " in 3 from "}, // Check mode keeps the stacks itself
	} {
		other := newPool(t, host.Options{}, alloc.Options{Tracker: c.books})
		elsewhere := mustMake[byte](t, other.DefaultStream(), 1<<20)
		p := newPool(t, host.Options{}, alloc.Options{Tracker: c.books, Check: c.check})
		s := newStream(t, p)
		var all []alloc.Buffer[byte]
		for range 4 {
			all = append(all, mustMake[byte](t, s, 1000))
		}
		all[3].Free()
		err := p.Close()
		var le *alloc.LiveError
		require.ErrorAs(t, err, &le)
		assert.EqualValues(t, 3, le.Buffers)
		assert.Contains(t, err.Error(), c.want)
		if c.books == never && !c.check {
			assert.Equal(t, alloc.Unknown{Buffers: 3, Bytes: le.Bytes}, le.Unknown)
			assert.Empty(t, le.Sites)
		} else {
			assert.Zero(t, le.Unknown)
			require.Len(t, le.Sites, 1)
			assert.EqualValues(t, 3, le.Sites[0].LiveObjects)
			assert.Equal(t, le.Bytes, le.Sites[0].LiveBytes)
			assert.Contains(t, le.Sites[0].String(), "_test.go:")
			assert.NotContains(t, err.Error(), "not sampled")
		}
		for _, b := range all {
			b.Free()
		}
		assert.Zero(t, p.Stats().Reserved)
		elsewhere.Free()
		require.NoError(t, other.Close())
	}
}

// Whatever way a Make goes, its site begins where the program called it.
func TestSitesBeginAtTheCaller(t *testing.T) {
	for name, c := range map[string]struct {
		check, expose bool
		history       int
	}{
		"plain":   {},
		"exposed": {expose: true}, // may be captured by others
		"history": {history: 10},
		"check":   {check: true},
	} {
		t.Run(name, func(t *testing.T) {
			books := tracker.New(tracker.Options{Rate: 1, History: c.history})
			p := newPool(t, host.Options{}, alloc.Options{Tracker: books, Check: c.check})
			s := newStream(t, p)
			if c.expose {
				s.Handle()
			}
			for range 3 { // the second and later ones may be recognized by their stack
				b, err := alloc.Make[byte](s, 100)
				require.NoError(t, err)
				b.Free()
			}
			a, err := alloc.Adopt[byte](s, 512, 100, nil)
			require.NoError(t, err)
			a.Free()
			sites := books.Sites()
			require.Len(t, sites, 2)
			for _, site := range sites {
				assert.Contains(t, site.Frames[0].Function, "TestSitesBeginAtTheCaller", "%v", site.Frames)
				assert.Zero(t, site.LiveObjects)
			}
			require.NoError(t, p.Close())
		})
	}
}

// collectUntil collects until done reports true. It gives up after so many collections, not after a while,
// which a busy machine may need for a few.
func collectUntil(tb testing.TB, done func() bool) {
	tb.Helper()
	for i := 0; !done(); i++ {
		require.Less(tb, i, 2000, "the collector does not bring it")
		finalize.Collect(time.Minute)
		time.Sleep(time.Millisecond) // for the goroutines that cleanups start
	}
}

func TestLateFree(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	func() {
		for i := range 100 {
			mustMake[byte](t, s, 1000*(i+1))
		}
	}()
	collectUntil(t, func() bool { return p.Stats().Live == 0 })
	st := sound(t, p)
	assert.EqualValues(t, 100, st.Late)
	// A live one stays, however often the collector looks.
	b := mustMake[byte](t, s, 1000)
	for range 3 {
		runtime.GC()
	}
	assert.EqualValues(t, 1, p.Stats().Buffers)
	v := b.View(1, 2)
	for range 3 {
		runtime.GC()
	}
	assert.EqualValues(t, 1, p.Stats().Buffers, "a view keeps its buffer")
	require.NoError(t, v.Fill(s, 1))
	b.Free()
	require.NoError(t, p.Close())
}

func TestMillionDropped(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 50_000
	}
	p := newPool(t, host.Options{}, alloc.Options{Limit: 64 << 20})
	s := newStream(t, p)
	for range n {
		mustMake[byte](t, s, 300)
	}
	collectUntil(t, func() bool { return p.Stats().Live == 0 })
	st := sound(t, p)
	assert.EqualValues(t, n, st.Late)
	t.Log(st.Pacing)
	require.NoError(t, p.Close())
}

func TestDroppedPool(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	func() {
		p, err := alloc.NewPool(dev, alloc.Options{})
		require.NoError(t, err)
		s := newStream(t, p)
		b := mustMake[byte](t, s, 1<<20)
		mustMake[byte](t, s, 100).Free()
		require.NoError(t, b.Fill(s, 1))
		s.Record()
		_, err = alloc.MakePinned[int](p, 10)
		require.NoError(t, err)
		require.NotZero(t, dev.Used())
	}()
	collectUntil(t, func() bool { return dev.Used() == 0 })
}

// A use that races with a Free, and with Makes that want the memory, either comes before the
// Free or fails: it never writes into the next owner's memory.
func TestUseRacesWithFree(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	const size = 64
	for round := range 300 {
		a := mustMake[byte](t, s, size)
		var wg sync.WaitGroup
		for range 2 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for {
					if err := a.Fill(s, 0xff); err != nil {
						if !errors.Is(err, alloc.ErrFreed) {
							t.Error(err)
						}
						return
					}
				}
			}()
		}
		if round%2 == 0 {
			runtime.Gosched()
		}
		a.Free()
		b := mustMake[byte](t, s, size)
		require.NoError(t, b.Fill(s, 1))
		wg.Wait()
		got := make([]byte, size)
		require.NoError(t, b.CopyTo(s, got))
		for _, x := range got {
			require.EqualValues(t, 1, x)
		}
		b.Free()
	}
	sound(t, p)
	require.NoError(t, p.Close())
}

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
		p, err := alloc.NewPool(h, alloc.Options{})
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
	p, err := alloc.NewPool(dev, alloc.Options{})
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

func TestAdopt(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	p, err := alloc.NewPool(dev, alloc.Options{Limit: 1 << 20})
	require.NoError(t, err)
	s, u := newStream(t, p), newStream(t, p)
	ptr, err := dev.Alloc(2 << 20)
	require.NoError(t, err)
	released := 0
	b, err := alloc.Adopt[uint16](s, ptr, 1<<20, func() { released++; require.NoError(t, dev.Free(ptr, 2<<20)) })
	require.NoError(t, err)
	st := sound(t, p)
	assert.EqualValues(t, 2<<20, st.Live)
	assert.EqualValues(t, 2<<20, st.Reserved)
	u.Wait(s)
	g := block(t, u)
	require.NoError(t, b.Fill(u, 7))
	assert.Equal(t, ptr, b.Ptr(s))
	b.Free()
	b.Free()
	assert.Zero(t, released)
	st = sound(t, p)
	assert.EqualValues(t, 2<<20, st.Pending)
	g.open()
	require.NoError(t, u.Sync())
	require.NoError(t, s.Sync())
	assert.Equal(t, 1, released)
	assert.Zero(t, sound(t, p).Reserved)
	for _, n := range []int{0, -1, math.MaxInt} {
		_, err = alloc.Adopt[uint16](s, ptr, n, nil)
		require.ErrorIs(t, err, alloc.ErrSize)
	}
	require.NoError(t, p.Close())
}

func TestPinned(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	p, err := alloc.NewPool(dev, alloc.Options{})
	require.NoError(t, err)
	h, err := alloc.MakePinned[int64](p, 1000)
	require.NoError(t, err)
	assert.Len(t, h.Slice(), 1000)
	h.Slice()[999] = 1
	h.Free()
	h.Free()
	assert.Panics(t, func() { h.Slice() })
	assert.Zero(t, dev.Used())
	func() {
		_, err := alloc.MakePinned[int64](p, 1000)
		require.NoError(t, err)
	}()
	collectUntil(t, func() bool { p.Stats(); return dev.Used() == 0 })
	var z alloc.Pinned[int]
	z.Free()
	assert.Empty(t, z.Slice())
	require.NoError(t, p.Close())
}

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
	p, err := alloc.NewPool(dev, alloc.Options{})
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
	b := mustMake[byte](t, s, 10)
	require.NoError(t, b.Fill(s, 1))
	b.Free()
	require.NoError(t, s.Close())
	require.NoError(t, dev.Sync(h), "the stream itself is not ours to destroy")
	require.NoError(t, p.Close())
}

func TestSharedStream(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var held []alloc.Buffer[byte]
			for i := range 2000 {
				b, err := alloc.Make[byte](s, 1+(i*7919+g*104729)%200_000)
				if err != nil {
					t.Error(err)
					return
				}
				if held = append(held, b); len(held) > 10 {
					held[i%10].Free()
					held[i%10] = held[10]
					held = held[:10]
				}
			}
			for _, b := range held {
				b.Free()
			}
		}()
	}
	wg.Wait()
	st := sound(t, p)
	assert.Zero(t, st.Live)
	require.NoError(t, p.Close())
}
