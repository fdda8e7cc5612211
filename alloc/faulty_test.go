package alloc_test

import (
	"errors"
	"flag"
	"fmt"
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

// soak is how long the device fails at random and goroutines are let loose on a pool, instead of
// the seconds that every run of the tests takes:
//
//	go test ./alloc -run 'TestRandomFailures|TestStress' -soak 10m -timeout 0 -v
var soak = flag.Duration("soak", 0,
	"how long TestRandomFailures and TestStress run together, half of it each")

// workout uses every path of a pool that calls the device: growth, moves, lending,
// pending blocks, waits, trim, stream churn, copies. Errors are for the caller to count: whatever fails,
// workout goes on and gives back what it got.
func workout(p *alloc.Pool) (failures []error) {
	note := func(err error) bool {
		if err != nil {
			failures = append(failures, err)
		}
		return err == nil
	}
	s, err := p.NewStream()
	if !note(err) {
		return failures
	}
	u, err := p.NewStream()
	if !note(err) {
		note(s.Close())
		return failures
	}
	var held []alloc.Buffer[byte]
	get := func(s *alloc.Stream, size int) {
		if b, err := alloc.Make[byte](s, size); note(err) {
			note(b.Fill(s, 1))
			held = append(held, b)
		}
	}
	free := func(every int) {
		var rest []alloc.Buffer[byte]
		for i, b := range held {
			if i%every == 0 {
				b.Free()
			} else {
				rest = append(rest, b)
			}
		}
		held = rest
	}
	for _, size := range []int{100, 5000, 100_000, 300_000, 70_000, 100_000} {
		get(s, size)
	}
	free(2)
	note(s.Sync())  // what queued work uses does not move
	get(s, 350_000) // does not fit between: granules move
	for _, b := range held {
		u.Wait(s)
		note(b.Fill(u, 2))
	}
	free(1) // pending
	get(s, 400_000)
	get(u, 400_000) // lent, or fresh
	get(u, 100)
	note(u.Sync())
	s.Wait(u)
	if len(held) > 1 {
		note(alloc.Copy(s, held[0].View(0, 100), held[1].View(0, 100)))
		note(held[0].CopyFrom(s, make([]byte, 100)))
		note(held[0].CopyTo(s, make([]byte, 100)))
	}
	e := s.Record()
	u.WaitEvent(e)
	note(e.Sync())
	free(1)
	get(s, 700_000)
	get(u, 700_000)
	free(1)
	note(s.Sync())
	p.Trim(100_000)
	if h, err := alloc.MakePinned[byte](p, 1000); note(err) {
		h.Free()
	}
	p.Trim(0)
	note(s.Close())
	note(u.Close())
	return failures
}

// Every call of the device in a workout fails once. After each failure the books balance and
// the pool works.
func TestEveryCallFails(t *testing.T) {
	for _, mapping := range []bool{true, false} {
		t.Run(fmt.Sprintf("mapping=%v", mapping), func(t *testing.T) {
			first, step := half()
			for n := first; ; n += step {
				dev, err := host.Open(host.Options{Capacity: 1 << 20, Granularity: 64 << 10,
					NoMapping: !mapping})
				require.NoError(t, err)
				f := alloctest.NewFaulty(dev)
				p, err := alloc.NewPool(orderedFaulty(t, f),
					alloc.Options{Segment: 128 << 10, CollectWait: time.Millisecond})
				require.NoError(t, err)
				f.FailNth(n)
				failures := workout(p)
				if f.Calls() < n {
					require.Greater(t, n, int64(60), "the workout calls the device often")
					for _, err := range failures {
						assert.ErrorIs(t, err, alloc.ErrOutOfMemory, "nothing was injected")
					}
					f.Heal()
					require.NoError(t, p.Close())
					return
				}
				for _, err := range failures {
					assert.True(t, errors.Is(err, alloctest.ErrInjected) ||
						errors.Is(err, alloc.ErrOutOfMemory), "call %d: %v", n, err)
				}
				f.Heal()
				sound(t, p)
				s := p.DefaultStream()
				b, err := alloc.Make[byte](s, 200_000)
				require.NoError(t, err, "call %d failed; the next Make works", n)
				require.NoError(t, b.Fill(s, 1))
				b.Free()
				require.NoError(t, s.Sync())
				sound(t, p)
				require.NoError(t, p.Close(), "call %d", n)
			}
		})
	}
}

// Each call that maps, moves or unmaps fails in a workout, and the ones after it too. What is idle afterwards
// is mapped: the device and the books agree on how much is, and every new buffer can be written to. No call
// is left out here, as half does elsewhere: which calls are Moves is not the same in every run.
func TestMappingFailsInARow(t *testing.T) {
	for _, times := range []int64{1, 2, 3} {
		t.Run(fmt.Sprintf("times=%d", times), func(t *testing.T) {
			unmapped := int64(0)
			for n := int64(1); ; n++ {
				dev, err := host.Open(host.Options{Capacity: 1 << 20, Granularity: 64 << 10})
				require.NoError(t, err)
				f := alloctest.NewFaulty(dev)
				p, err := alloc.NewPool(orderedFaulty(t, f),
					alloc.Options{Segment: 128 << 10, CollectWait: time.Millisecond})
				require.NoError(t, err)
				f.Only("Map", "Move", "Restore", "Unmap")
				f.FailRun(n, times)
				failures := workout(p)
				done := f.Calls() < n
				f.Heal()
				for _, err := range failures {
					assert.True(t, errors.Is(err, alloctest.ErrInjected) ||
						errors.Is(err, alloc.ErrOutOfMemory), "call %d: %v", n, err)
				}
				st := sound(t, p)
				require.Equal(t, dev.Used(), st.Reserved, "call %d", n)
				unmapped += f.Unmapped()
				s := p.DefaultStream()
				b, err := alloc.Make[byte](s, 900_000)
				require.NoError(t, err, "call %d failed; the next Make works", n)
				require.NoError(t, b.Fill(s, 1))
				require.NoError(t, s.Sync())
				b.Free()
				st = sound(t, p)
				require.Equal(t, dev.Used(), st.Reserved, "call %d", n)
				require.NoError(t, p.Close(), "call %d", n)
				require.Zero(t, dev.Used())
				if done {
					require.Greater(t, n, int64(10), "the workout maps often")
					break
				}
			}
			assert.Equal(t, times > 1, unmapped > 0, "Moves that lost their memory: %d", unmapped)
		})
	}
}

func TestRandomFailures(t *testing.T) {
	rounds := tier.Of(20, 60)
	if testing.Short() {
		rounds = 15
	}
	begin := time.Now()
	seed := uint64(0)
	for ; seed < uint64(rounds) || time.Since(begin) < *soak/2; seed++ {
		dev, err := host.Open(host.Options{Capacity: 1 << 20, Granularity: 64 << 10, NoMapping: seed%2 == 0})
		require.NoError(t, err)
		f := alloctest.NewFaulty(dev)
		f.SlowEvents(int(seed % 4))
		p, err := alloc.NewPool(orderedFaulty(t, f),
			alloc.Options{Segment: 128 << 10, CollectWait: time.Millisecond, Check: seed%5 == 0})
		require.NoError(t, err)
		f.FailRandomly(0.15, seed)
		for range 5 {
			workout(p)
			sound(t, p)
		}
		f.Heal()
		workout(p)
		sound(t, p)
		p.Close() // may say what failed: streams that could not be destroyed
	}
	t.Logf("%d pools, each with six workouts", seed)
}

// A device that fails for good gives clear errors and no deadlock.
func TestBrokenDevice(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	f := alloctest.NewFaulty(dev)
	p, err := alloc.NewPool(orderedFaulty(t, f), alloc.Options{})
	require.NoError(t, err)
	s := newStream(t, p)
	b := mustMake[byte](t, s, 1<<20)
	f.Break()
	_, err = alloc.Make[byte](s, 64<<20)
	require.ErrorIs(t, err, alloctest.ErrInjected)
	require.NotErrorIs(t, err, alloc.ErrOutOfMemory)
	require.ErrorIs(t, b.Fill(s, 1), alloctest.ErrInjected)
	require.ErrorIs(t, s.Sync(), alloctest.ErrInjected)
	u := p.DefaultStream()
	u.Wait(s)
	require.ErrorIs(t, u.Sync(), alloctest.ErrInjected)
	e := s.Record()
	assert.False(t, e.Query())
	require.ErrorIs(t, e.Sync(), alloctest.ErrInjected)
	assert.Zero(t, p.Trim(0))
	b.Free()
	sound(t, p)
	require.ErrorIs(t, p.Close(), alloctest.ErrInjected)
}

func TestWatermark(t *testing.T) {
	dev, err := host.Open(host.Options{Granularity: 64 << 10})
	require.NoError(t, err)
	f := alloctest.NewFaulty(dev)
	p, err := alloc.NewPool(orderedFaulty(t, f), alloc.Options{})
	require.NoError(t, err)
	f.Watermark(1 << 20)
	s := newStream(t, p)
	b := mustMake[byte](t, s, 900<<10)
	_, err = alloc.Make[byte](s, 200<<10)
	require.ErrorIs(t, err, alloc.ErrOutOfMemory)
	b.Free()
	c := mustMake[byte](t, s, 200<<10)
	c.Free()
	sound(t, p)
	require.NoError(t, p.Close())
}

// TestStress lets goroutines loose on shared streams, with drops, trims, stream churn and a device that
// fails now and then. A watchdog dumps the pool if nothing moves.
func TestStress(t *testing.T) {
	duration := time.Duration(tier.Of(500, 2000)) * time.Millisecond
	if testing.Short() {
		duration = 300 * time.Millisecond
	}
	duration = max(duration, *soak/2)
	dev, err := host.Open(host.Options{Capacity: 24 << 20, Granularity: 64 << 10})
	require.NoError(t, err)
	f := alloctest.NewFaulty(dev)
	p, err := alloc.NewPool(orderedFaulty(t, f),
		alloc.Options{Segment: 1 << 20, CollectWait: 10 * time.Millisecond})
	require.NoError(t, err)
	f.Only("Map", "Move", "Unmap", "Record", "Query", "Reserve", "NewEvent")
	f.FailRandomly(0.02, 1)
	var streams [3]*alloc.Stream
	for i := range streams {
		streams[i] = newStream(t, p)
	}
	var steps atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewPCG(uint64(g), 1))
			var held []alloc.Buffer[byte]
			for {
				select {
				case <-stop:
					for _, b := range held {
						b.Free()
					}
					return
				default:
				}
				steps.Add(1)
				s := streams[r.IntN(len(streams))]
				switch k := r.IntN(20); {
				case k < 10:
					b, err := alloc.Make[byte](s, 1+int(r.ExpFloat64()*50_000))
					if err != nil {
						if !errors.Is(err, alloc.ErrOutOfMemory) && !errors.Is(err, alloctest.ErrInjected) {
							t.Error(err)
						}
						break
					}
					if k == 0 {
						break // dropped
					}
					held = append(held, b)
				case k < 13 && len(held) > 0:
					b := held[r.IntN(len(held))]
					s.Wait(streams[(k+1)%len(streams)])
					if err := b.Fill(s, byte(g)); err != nil {
						t.Error(err)
					}
				case k == 13:
					p.Trim(int64(r.IntN(8 << 20)))
				case k == 15:
					if st := p.Stats(); min(st.Live, st.Pending, st.Idle) < 0 ||
						st.Live+st.Pending+st.Idle != st.Reserved {
						t.Error("not of one instant: ", st)
					}
				case k == 14 && r.IntN(20) == 0:
					x, err := p.NewStream()
					if err != nil {
						t.Error(err)
						break
					}
					if b, err := alloc.Make[byte](x, 100_000); err == nil {
						held = append(held, b)
					}
					if err := x.Close(); err != nil {
						t.Error(err)
					}
				}
				for len(held) > 20 || len(held) > 0 && r.IntN(2) == 0 {
					i := r.IntN(len(held))
					held[i].Free()
					held[i] = held[len(held)-1]
					held = held[:len(held)-1]
				}
			}
		}()
	}
	watch := time.NewTicker(500 * time.Millisecond)
	defer watch.Stop()
	end := time.After(duration)
	for last, still := int64(-1), 0; ; {
		select {
		case <-end:
			close(stop)
			wg.Wait()
			f.Heal()
			collectUntil(t, func() bool { return p.Stats().Live == 0 })
			st := sound(t, p)
			t.Logf("%d steps, %+v", steps.Load(), st)
			require.NoError(t, p.Close())
			require.Zero(t, dev.Used())
			return
		case <-watch.C:
			now := steps.Load()
			if still++; now != last {
				still = 0
			}
			last = now
			if still == 20 {
				buf := make([]byte, 1<<20)
				t.Fatalf("nothing moves\n%+v\n%s", p.Stats(), buf[:runtime.Stack(buf, true)])
			}
		}
	}
}

// A stream whose Close could not wait keeps its memory: work is still queued on it, and its handle, had
// it been given up, would be the next stream's, whose events say nothing of that work.
func TestCloseWithoutSync(t *testing.T) {
	for _, check := range []bool{false, true} {
		dev, err := host.Open(host.Options{Capacity: 1 << 20, Granularity: 64 << 10})
		require.NoError(t, err)
		f := alloctest.NewFaulty(dev)
		p, err := alloc.NewPool(orderedFaulty(t, f),
			alloc.Options{CollectWait: time.Millisecond, Check: check})
		require.NoError(t, err)
		s := newStream(t, p)
		const size = 600 << 10 // two of them do not fit
		b := mustMake[byte](t, s, size)
		kept := mustMake[byte](t, p.DefaultStream(), 1000)
		require.NoError(t, s.Sync())
		release, err := dev.Hold(uintptr(s.Handle()))
		require.NoError(t, err)
		require.NoError(t, b.Fill(s, 1))
		require.NoError(t, kept.Fill(s, 1))
		b.Free()

		f.Only("Sync")
		f.FailRandomly(1, 0)
		require.ErrorIs(t, s.Close(), alloctest.ErrInjected)
		f.Heal()
		kept.Free() // used on a stream of which nobody knows whether it has run

		u := newStream(t, p)
		assert.NotEqual(t, s.Handle(), u.Handle(), "the device has the old one still")
		_, err = alloc.Make[byte](u, size)
		require.ErrorIs(t, err, alloc.ErrOutOfMemory, "the fill is not over")
		release()
		require.NoError(t, p.Close(), "which waits for it")
	}
}
