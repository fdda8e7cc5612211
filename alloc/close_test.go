package alloc_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/internal/tier"
)

// closing does one thing after another with a pool that somebody closes meanwhile, and forgets some
// of the buffers.
func closing(t *testing.T, r *rand.Rand, p *alloc.Pool, streams []*alloc.Stream, foreign uintptr) {
	defer func() {
		// Where there is no error result the use of what is closed panics.
		if e, ok := recover().(error); ok && !errors.Is(e, alloc.ErrClosed) {
			panic(e)
		}
	}()
	known := func(err error) {
		if err != nil && !errors.Is(err, alloc.ErrClosed) && !errors.Is(err, alloc.ErrOutOfMemory) {
			t.Error(err)
		}
	}
	for i := range 30 {
		s, u := streams[r.IntN(len(streams))], streams[r.IntN(len(streams))]
		switch r.IntN(9) {
		case 0, 1, 2:
			b, err := alloc.Make[byte](s, 1+r.IntN(300_000))
			known(err)
			known(b.Fill(s, 1))
			if r.IntN(30) > 0 {
				b.Free()
			}
		case 3:
			e := s.Record()
			e.Query()
			known(e.Sync())
		case 4:
			u.Wait(s)
		case 5:
			x, err := p.NewStream()
			if known(err); err != nil {
				break
			}
			b, err := alloc.Make[byte](x, 1000)
			known(err)
			b.Free()
			known(x.Sync())
			if i%2 == 0 {
				known(x.Close())
			}
		case 6:
			p.Trim(0)
			p.Stats()
		case 7:
			if x, err := p.WrapStream(foreign); err == nil {
				known(x.Close())
			}
			h, err := alloc.MakePinned[byte](p, 100)
			known(err)
			h.Free()
		case 8:
			b, err := alloc.Adopt[byte](s, 512, 100, nil)
			known(err)
			b.Free()
			known(s.Sync())
		}
	}
}

// Close may meet any call of other goroutines: each either comes before it or fails, and all memory goes
// back exactly once.
func TestCloseMeetsEverything(t *testing.T) {
	for round := range tier.Of(14, 28) {
		dev, err := host.Open(host.Options{Capacity: 16 << 20, Granularity: 64 << 10,
			NoMapping: round%2 == 0})
		require.NoError(t, err)
		p, err := alloc.NewPool(ordered(t, dev),
			alloc.Options{Limit: 8 << 20, Segment: 256 << 10, CollectWait: time.Millisecond, Check: round%7 == 0})
		require.NoError(t, err)
		streams := []*alloc.Stream{p.DefaultStream(), newStream(t, p), newStream(t, p)}
		foreign, err := dev.NewStream()
		require.NoError(t, err)
		var steps atomic.Int64
		var wg sync.WaitGroup
		for g := range 6 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(g), uint64(round)))
				for range 5 {
					closing(t, r, p, streams, foreign)
					steps.Add(1)
				}
			})
		}
		wg.Go(func() {
			for after := int64(round % 20); steps.Load() < after; {
				runtime.Gosched()
			}
			if err := p.Close(); err != nil {
				assert.ErrorIs(t, err, alloc.ErrLive)
			}
		})
		wg.Wait()
		collectUntil(t, func() bool { return p.Stats().Live == 0 })
		assert.Zero(t, dev.Used(), "round %d", round)
		st := p.Stats()
		assert.Zero(t, st.Reserved+st.Pending+st.Idle, "%v", st)
	}
}

// A launch that has no buffer pins nothing, and Close meets it all the same: its stream is there until it is
// enqueued.
func TestCloseMeetsBareLaunch(t *testing.T) {
	for range 100 {
		p := newPool(t, host.Options{}, alloc.Options{})
		s := newStream(t, p)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					if err := host.Launch(s, func(host.Args) {}, alloc.Scalar(1)); err != nil {
						assert.ErrorIs(t, err, alloc.ErrClosed)
						return
					}
				}
			})
		}
		runtime.Gosched()
		require.NoError(t, p.Close())
		wg.Wait()
	}
}

// An event that fails while others ask about it leaves the pool open: each that comes in goes out once.
func TestEventFailsForAll(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	f := alloctest.NewFaulty(dev)
	p, err := alloc.NewPool(orderedFaulty(t, f), alloc.Options{})
	require.NoError(t, err)
	s := newStream(t, p)
	f.Only("Query")
	f.FailRandomly(1, 1)
	rounds := 20_000
	if testing.Short() {
		rounds = 1000
	}
	for range rounds {
		e := s.Record()
		var begin atomic.Bool
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for !begin.Load() {
					runtime.Gosched()
				}
				if i == 0 {
					e.Query()
				} else if err := e.Sync(); err != nil {
					assert.ErrorIs(t, err, alloctest.ErrInjected)
				}
			})
		}
		begin.Store(true)
		wg.Wait()
	}
	f.Heal()
	require.NoError(t, newStream(t, p).Sync())
	require.NoError(t, p.Close())
	require.Zero(t, dev.Used())
}

// Page-locked memory is its owner's after Close too: a slice of it must not fault.
func TestPinnedOutlivesClose(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	p, err := alloc.NewPool(ordered(t, dev), alloc.Options{})
	require.NoError(t, err)
	a, err := alloc.MakePinned[byte](p, 1<<20)
	require.NoError(t, err)
	_, err = alloc.MakePinned[byte](p, 1<<20) // dropped
	require.NoError(t, err)
	require.NoError(t, p.Close())
	a.Slice()[1<<20-1] = 1
	collectUntil(t, func() bool { p.Stats(); return dev.Used() == 1<<20 })
	a.Slice()[0] = 1
	a.Free()
	assert.Zero(t, dev.Used())

	func() {
		p, err := alloc.NewPool(ordered(t, dev), alloc.Options{})
		require.NoError(t, err)
		_, err = alloc.MakePinned[byte](p, 1<<20)
		require.NoError(t, err)
		require.NoError(t, p.Close())
	}()
	collectUntil(t, func() bool { return dev.Used() == 0 }) // with the pool
}

// What has been recorded is over when the pool has been closed; the device's event is gone by then.
func TestEventsAfterClose(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	g := block(t, s)
	e, never := s.Record(), s.Record()
	assert.False(t, e.Query())
	g.open()
	require.NoError(t, p.Close())
	assert.True(t, e.Query())
	assert.NoError(t, e.Sync())
	assert.NoError(t, never.Sync())
	e = s.Record()
	assert.True(t, e.Query())
	assert.ErrorIs(t, e.Sync(), alloc.ErrClosed)
	assert.Zero(t, p.Trim(0))
	assert.NoError(t, p.Check())
}

// Nothing is pending, and less than nothing idle, in a pool that has given all back: neither what waited for
// a stream that could not be waited for nor what was in quarantine.
func TestNothingIsLeftPending(t *testing.T) {
	for _, check := range []bool{false, true} {
		dev, err := host.Open(host.Options{})
		require.NoError(t, err)
		f := alloctest.NewFaulty(dev)
		p, err := alloc.NewPool(ordered(t, f), alloc.Options{Check: check})
		require.NoError(t, err)
		s, u := newStream(t, p), newStream(t, p)
		a, b := mustMake[byte](t, s, 5000), mustMake[byte](t, s, 5000)
		u.Wait(s)
		require.NoError(t, a.Fill(u, 1))
		require.NoError(t, b.Fill(u, 1))
		f.Break()
		a.Free()
		require.ErrorIs(t, p.Close(), alloc.ErrLive)
		b.Free()
		st := p.Stats()
		assert.Equal(t, []int64{0, 0, 0, 0}, []int64{st.Live, st.Pending, st.Idle, st.Reserved})
	}
}
