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
	rounds := 28
	if testing.Short() {
		rounds = 14
	}
	for round := range rounds {
		dev, err := host.Open(host.Options{Capacity: 16 << 20, Granularity: 64 << 10, NoMapping: round%2 == 0})
		require.NoError(t, err)
		p, err := alloc.NewPool(dev, alloc.Options{Limit: 8 << 20, Segment: 256 << 10, CollectWait: time.Millisecond, Check: round%7 == 0})
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

// watched is a device that knows whether one of its calls came while another had not returned.
type watched struct {
	alloc.Mapper
	inside func()      // called in each Unmap
	busy   atomic.Bool // in Unmap
	early  atomic.Bool // something was given back meanwhile
	end    chan struct{}
}

func (w *watched) Unmap(p alloc.Ptr, size int64) error {
	w.early.Store(w.early.Load() || w.busy.Swap(true))
	defer w.busy.Store(false)
	w.inside()
	return w.Mapper.Unmap(p, size)
}

func (w *watched) Unreserve(p alloc.Ptr, size int64) error {
	defer close(w.end) // there is one range
	w.early.Store(w.early.Load() || w.busy.Load())
	return w.Mapper.Unreserve(p, size)
}

// A pool whose last use is a Trim is dead while Trim runs, and the collector may find it then.
func TestPoolDiesInTrim(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	w := &watched{Mapper: dev, end: make(chan struct{})}
	dropped := make(chan struct{})
	w.inside = sync.OnceFunc(func() {
		for range 100 {
			runtime.GC()
			select {
			case <-dropped: // the goroutine that gives the estate back may run
				time.Sleep(5 * time.Millisecond)
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	func() {
		p, err := alloc.NewPool(w, alloc.Options{})
		require.NoError(t, err)
		runtime.AddCleanup(p, func(c chan struct{}) { close(c) }, dropped)
		s := newStream(t, p)
		mustMake[byte](t, s, 1<<20).Free()
		require.NoError(t, s.Sync())
		p.Trim(0)
	}()
	collectUntil(t, func() bool {
		select {
		case <-w.end:
			return true
		default:
			return false
		}
	})
	assert.False(t, w.early.Load(), "given back while Trim was at it")
	assert.Zero(t, dev.Used())
}

// Page-locked memory is its owner's after Close too: a slice of it must not fault.
func TestPinnedOutlivesClose(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	p, err := alloc.NewPool(dev, alloc.Options{})
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
		p, err := alloc.NewPool(dev, alloc.Options{})
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

// Nothing is pending, and less than nothing idle, in a pool that has given all back: neither what waited for a
// stream that could not be waited for nor what was in quarantine.
func TestNothingIsLeftPending(t *testing.T) {
	for _, check := range []bool{false, true} {
		dev, err := host.Open(host.Options{})
		require.NoError(t, err)
		f := alloctest.NewFaulty(dev)
		p, err := alloc.NewPool(f, alloc.Options{Check: check})
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

// The sizes in Stats are of one instant, whoever makes and frees meanwhile.
func TestStatsOfOneInstant(t *testing.T) {
	const limit = 4 << 20
	p := newPool(t, host.Options{Granularity: 64 << 10}, alloc.Options{Limit: limit, CollectWait: time.Millisecond})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for g := range 4 {
		s := newStream(t, p)
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			var held []alloc.Buffer[byte]
			for i := 0; ; i++ {
				select {
				case <-stop:
					for _, b := range held {
						b.Free()
					}
					return
				default:
				}
				b, err := alloc.Make[byte](s, 1+r.IntN(300_000))
				if err == nil {
					held = append(held, b)
				}
				for len(held) > 0 && (err != nil || r.IntN(2) == 0) {
					held[len(held)-1].Free()
					held = held[:len(held)-1]
				}
				if i%50 == 0 {
					p.Trim(0)
				}
			}
		})
	}
	for made := int64(0); made < 2000; {
		st := p.Stats()
		made = st.Made
		require.Equal(t, st.Reserved, st.Live+st.Pending+st.Idle)
		require.GreaterOrEqual(t, min(st.Live, st.Pending, st.Idle), int64(0), "%v", st)
		require.LessOrEqual(t, st.Reserved, int64(limit))
	}
	close(stop)
	wg.Wait()
	require.NoError(t, p.Close())
}
