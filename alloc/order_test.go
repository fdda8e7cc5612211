package alloc_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

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

// However many sets of streams pending blocks wait for, a Make asks about each stream a few times at most.
func TestPendingSetsOfStreams(t *testing.T) {
	const streams = 7
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	var others []*alloc.Stream
	var gates []gate
	for i := range streams {
		others = append(others, newStream(t, p))
		gates = append(gates, block(t, others[i]))
	}
	for set := 1; set < 1<<streams; set++ {
		b := mustMake[byte](t, s, 512)
		for i, u := range others {
			if set>>i&1 != 0 {
				b.Ptr(u)
			}
		}
		b.Free()
	}
	assert.EqualValues(t, (1<<streams-1)*512, sound(t, p).Pending)
	before := p.Stats().DeviceCalls
	b := mustMake[byte](t, s, 64<<20)
	assert.LessOrEqual(t, p.Stats().DeviceCalls-before, int64(10*streams))
	b.Free()
	for i, g := range gates {
		g.open()
		require.NoError(t, others[i].Sync())
	}
	assert.Zero(t, sound(t, p).Pending)
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
