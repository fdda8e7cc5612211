package alloc_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
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

// scribble writes through a raw address on s, as a kernel with a stale pointer does.
func scribble(t *testing.T, s *alloc.Stream, p alloc.Ptr, n int) {
	t.Helper()
	dev := s.Pool().Device()
	require.NoError(t, dev.Fill(s.Handle(), p, 0x5a, 1, int64(n)))
	require.NoError(t, s.Sync())
}

func TestCheckFindsWrites(t *testing.T) {
	const size = 1000
	for _, c := range []struct {
		name string
		off  int
		free bool
		what string
	}{
		{"after free", 10, true, "write after free: byte 10 of a buffer of 1000 bytes"},
		{"after free, last byte", size - 1, true, "write after free: byte 999"},
		{"behind", size, false, "write behind the buffer: byte 1000"},
		{"before", -1, false, "write before the buffer: byte -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPool(t, host.Options{}, alloc.Options{Check: true})
			s := newStream(t, p)
			b := mustMake[byte](t, s, size)
			at := b.Ptr(s) + alloc.Ptr(c.off)
			if c.free {
				b.Free()
				scribble(t, s, at, 1)
			} else {
				scribble(t, s, at, 1)
				b.Free()
				require.NoError(t, s.Sync())
			}
			err := p.Check()
			var ce *alloc.CorruptionError
			require.ErrorAs(t, err, &ce)
			assert.Contains(t, err.Error(), c.what)
			assert.Contains(t, ce.Made.String(), "check_test.go")
			assert.Contains(t, ce.Free.String(), "check_test.go")
			require.NoError(t, p.Check(), "said once")
			require.NoError(t, p.Close())
		})
	}
}

// The Make that takes a block out of quarantine panics with what it finds.
func TestCheckPanicsAtReuse(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{Check: true, Quarantine: 4096})
	s := newStream(t, p)
	b := mustMake[byte](t, s, 5000)
	at := b.Ptr(s)
	b.Free()
	scribble(t, s, at+77, 3)
	var err error
	func() {
		defer func() { err, _ = recover().(error) }()
		mustMake[byte](t, s, 100)
	}()
	var ce *alloc.CorruptionError
	require.ErrorAs(t, err, &ce)
	assert.EqualValues(t, 77, ce.Offset)
	sound(t, p)
	mustMake[byte](t, s, 100).Free()
	require.NoError(t, p.Close())
}

func TestCheckQuarantine(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{Check: true, Quarantine: 1 << 20})
	s := newStream(t, p)
	b := mustMake[byte](t, s, 100_000)
	at := b.Ptr(s)
	b.Free()
	st := sound(t, p)
	assert.Positive(t, st.Pending)
	assert.Zero(t, st.Live)
	c := mustMake[byte](t, s, 100_000)
	assert.NotEqual(t, at, c.Ptr(s), "quarantine holds the block back")
	c.Free()
	for range 30 {
		mustMake[byte](t, s, 100_000).Free()
		require.NoError(t, s.Sync())
	}
	st = sound(t, p)
	assert.LessOrEqual(t, st.Pending, int64(1<<20+200_000))
	require.NoError(t, p.Close())
}

// The quarantine is the whole pool's, however many streams there are.
func TestQuarantineOfManyStreams(t *testing.T) {
	const quarantine, size, streams = 1 << 20, 100_000, 8
	p := newPool(t, host.Options{}, alloc.Options{Check: true, Quarantine: quarantine})
	for range streams {
		s := newStream(t, p)
		for range 2 * quarantine / size {
			mustMake[byte](t, s, size).Free()
			require.NoError(t, s.Sync())
			assert.LessOrEqual(t, p.Stats().Pending, int64(quarantine+2*size))
		}
	}
	st := sound(t, p)
	assert.Greater(t, st.Pending, int64(quarantine/2), "it is used")
	require.NoError(t, p.Close())
}

func TestCheckUseAfterFree(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{Check: true})
	s := newStream(t, p)
	b := mustMake[byte](t, s, 10)
	b.Free()
	b.Free() // never a failure
	assert.EqualValues(t, 1, p.Stats().Repeated)
	var ue *alloc.UseError
	func() {
		defer func() {
			err, _ := recover().(error)
			require.ErrorIs(t, err, alloc.ErrFreed)
			require.True(t, errors.As(err, &ue))
		}()
		b.Fill(s, 1) //nolint:errcheck // it panics
	}()
	for _, st := range []alloc.Stack{ue.Made, ue.Free, ue.Use} {
		assert.Contains(t, st.String(), "TestCheckUseAfterFree")
	}
	require.NoError(t, p.Close())
}

// A correct program runs in Check mode as it does without.
func TestCheckCleanProgram(t *testing.T) {
	p := newPool(t, host.Options{Capacity: 64 << 20}, alloc.Options{Check: true, Quarantine: 8 << 20})
	s, u := newStream(t, p), newStream(t, p)
	for i := range 200 {
		b := mustMake[int32](t, s, 1+i*i*20%1_000_000)
		require.NoError(t, b.Fill(s, int32(i)))
		u.Wait(s)
		last := make([]int32, 1)
		require.NoError(t, b.View(b.Len()-1, b.Len()).CopyTo(u, last))
		require.EqualValues(t, i, last[0])
		b.Free()
	}
	big := mustMake[byte](t, s, 30<<20) // more than is looked at in full; quarantine gives way
	require.NoError(t, big.Fill(s, 1))
	big.Free()
	sound(t, p)
	require.NoError(t, p.Close())
}

// The red zones of a live buffer are looked at on demand; each write is said once, and what is written
// after that is still found when the buffer is freed.
func TestCheckFindsWritesWhileLive(t *testing.T) {
	const size = 1000
	for _, c := range []struct {
		name string
		off  int
		what string
	}{
		{"behind", size, "write behind the buffer: byte 1000 of a buffer of 1000 bytes"},
		{"far behind", size + 23, "write behind the buffer: byte 1023"},
		{"before", -1, "write before the buffer: byte -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPool(t, host.Options{}, alloc.Options{Check: true})
			s := newStream(t, p)
			b, neighbour := mustMake[byte](t, s, size), mustMake[byte](t, s, size)
			require.NoError(t, b.Fill(s, 1))
			require.NoError(t, s.Sync())
			require.NoError(t, p.Check(), "writes inside are the program's own affair")
			scribble(t, s, b.Ptr(s)+alloc.Ptr(c.off), 1)
			err := p.Check()
			var ce *alloc.CorruptionError
			require.ErrorAs(t, err, &ce)
			assert.Contains(t, err.Error(), c.what)
			assert.Contains(t, err.Error(), "still live")
			assert.True(t, ce.Live)
			assert.Contains(t, ce.Made.String(), "TestCheckFindsWritesWhileLive")
			require.NoError(t, p.Check(), "said once")
			last := make([]byte, 1)
			require.NoError(t, b.View(size-1, size).CopyTo(s, last))
			assert.Equal(t, byte(1), last[0], "what is in the buffer stays")
			at := b.Ptr(s)
			b.Free()
			neighbour.Free()
			require.NoError(t, s.Sync())
			require.NoError(t, p.Check(), "said once, also after the Free")
			scribble(t, s, at+5, 1)
			require.ErrorContains(t, p.Check(), "write after free: byte 5")
			require.NoError(t, p.Close())
		})
	}
}

// A red zone whose filling is still queued is left alone, and looked at once it is there.
func TestCheckLiveWaitsForNothing(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{Check: true})
	s, u := newStream(t, p), newStream(t, p)
	g := block(t, s)
	b := mustMake[byte](t, s, 100)
	require.NoError(t, p.Check(), "nothing of it has been written yet")
	g.open()
	u.Wait(s)
	scribble(t, u, b.Ptr(u)+100, 1)
	require.ErrorContains(t, p.Check(), "write behind the buffer: byte 100")
	require.NoError(t, p.Check())
	scribble(t, u, b.Ptr(u)-1, 1)
	b.Free()
	require.NoError(t, p.Close(), "its red zones have been reported")
}

// Close in Check mode says what was written around buffers that are live.
func TestCloseLooksAtLive(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{Check: true})
	s := newStream(t, p)
	b := mustMake[byte](t, s, 100)
	scribble(t, s, b.Ptr(s)+101, 1)
	err := p.Close()
	require.ErrorIs(t, err, alloc.ErrLive)
	require.ErrorContains(t, err, "write behind the buffer: byte 101")
	b.Free()
}

// Checks find nothing beside goroutines that make, free, share, trim and adopt, whatever memory is on its
// way.
func TestCheckConcurrently(t *testing.T) {
	for name, o := range map[string]struct {
		host host.Options
		pool alloc.Options
	}{
		"mapping":  {pool: alloc.Options{Growth: alloc.Tight}},
		"segments": {host: host.Options{NoMapping: true}, pool: alloc.Options{Segment: 1 << 20}},
		"limit":    {pool: alloc.Options{Limit: 64 << 20, CollectWait: time.Millisecond}},
		"checked":  {pool: alloc.Options{Check: true, Quarantine: 4096}},
		"quarantine": {host: host.Options{NoMapping: true},
			pool: alloc.Options{Check: true, Quarantine: 1 << 20, Segment: 1 << 20}},
	} {
		t.Run(name, func(t *testing.T) { checkConcurrently(t, newPool(t, o.host, o.pool)) })
	}
}

func checkConcurrently(t *testing.T, p *alloc.Pool) {
	const workers, rounds = 3, 10
	var wg sync.WaitGroup
	var released, busy atomic.Int64
	busy.Store(workers)
	for w := range workers {
		s := newStream(t, p)
		wg.Go(func() {
			defer busy.Add(-1)
			rng := rand.New(rand.NewPCG(1, uint64(w)))
			for i := range rounds {
				work(t, p, s, rng)
				b, err := alloc.Adopt[byte](s, alloc.Ptr((w+1)<<56|i<<12), 100, func() { released.Add(1) })
				assert.NoError(t, err)
				b.Free()
			}
		})
	}
	for busy.Load() > 0 {
		assert.NoError(t, p.Check())
	}
	wg.Wait()
	require.NoError(t, p.DefaultStream().Sync())
	sound(t, p)
	require.NoError(t, p.Close())
	require.EqualValues(t, workers*rounds, released.Load())
}

// work makes a few buffers on s, uses one on another stream, frees them and trims.
func work(t *testing.T, p *alloc.Pool, s *alloc.Stream, rng *rand.Rand) {
	var all []alloc.Buffer[byte]
	for range 4 {
		n := 1 + rng.IntN(5000)
		if rng.IntN(3) == 0 {
			n = 1 + rng.IntN(1<<20)
		}
		b, err := alloc.Make[byte](s, n)
		if !assert.NoError(t, err) {
			return
		}
		assert.NoError(t, b.Fill(s, byte(n)))
		all = append(all, b)
	}
	p.DefaultStream().Wait(s)
	assert.NoError(t, all[0].Fill(p.DefaultStream(), 1))
	for _, b := range all {
		b.Free()
	}
	p.Trim(int64(rng.IntN(4 << 20)))
}

// A Make that fails because its red zones cannot be filled leaves no Free in the trace that has no Make.
func TestTraceOfAFailedMake(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	f := alloctest.NewFaulty(dev)
	var lines bytes.Buffer
	p, err := alloc.NewPool(ordered(t, f), alloc.Options{Check: true, Trace: &lines})
	require.NoError(t, err)
	s := newStream(t, p)
	mustMake[byte](t, s, 1000).Free()
	f.Only("Fill")
	f.FailRandomly(1, 1)
	_, err = alloc.Make[byte](s, 1000)
	require.ErrorIs(t, err, alloctest.ErrInjected)
	f.Heal()
	require.NoError(t, p.Close())
	assert.Equal(t, 1, strings.Count(lines.String(), "\nm "))
	assert.Equal(t, 1, strings.Count(lines.String(), "\nf "), "%s", &lines)
}
