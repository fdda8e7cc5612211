//go:build cgo && linux

package cuda

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/internal/gomemory"
)

// Copies of all sizes, in and out, arrive whole; the source may be changed at once.
func TestStage(t *testing.T) {
	e := start(t, alloc.Options{})
	rng := rand.New(rand.NewPCG(1, 2))
	const most = 2*largeChunk + smallChunk + 17
	src, want, got := make([]byte, most), make([]byte, most), make([]byte, most)
	b := buffer[byte](t, e.s, most)
	defer b.Free()
	for _, n := range []int{1, 511, smallChunk - 1, smallChunk, smallChunk + 1, largeChunk, largeChunk + 1,
		most} {
		for i := range n {
			src[i] = byte(rng.Uint32())
		}
		copy(want, src[:n])
		v := b.View(0, n)
		require.NoError(t, v.CopyFrom(e.s, src[:n]))
		clear(src[:n])
		require.NoError(t, v.CopyTo(e.s, got[:n]))
		require.Equal(t, want[:n], got[:n], "%d bytes", n)
	}
	if e.StandIn != nil {
		assert.Zero(t, e.StandIn.Books().Pageable, "the driver saw Go memory")
	}
}

// What the chunks hold is in the books, and in the figures of every pool on the device, also one that looks
// through another device, until the device is closed.
func TestStageBooks(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	other, err := alloc.NewPool(alloctest.NewFaulty(alloctest.Ordered(t, e.dev)), alloc.Options{})
	require.NoError(t, err)
	assert.Zero(t, e.pool.Stats().PinnedStaging)
	b := buffer[byte](t, e.s, 4*largeChunk)
	for _, n := range []int{1, smallChunk + 1, 4 * largeChunk} {
		require.NoError(t, b.View(0, n).CopyFrom(e.s, make([]byte, n)))
		st := e.pool.Stats()
		require.NotZero(t, st.PinnedStaging)
		require.Equal(t, e.StandIn.Books().Pinned, st.PinnedStaging, "%d bytes", n)
		require.Equal(t, st.PinnedStaging, other.Stats().PinnedStaging)
		require.Zero(t, st.PinnedReserved)
	}
	b.Free()
	shown := e.dev.stage.account.Load().Stats()
	assert.Equal(t, e.dev.Name()+" staging", shown.Name)
	assert.Equal(t, e.dev.Staged(), shown.Reserved)
	require.NoError(t, other.Close())
	require.NoError(t, e.pool.Close())
	require.NoError(t, e.dev.Close())
	assert.Zero(t, e.dev.Staged())
	assert.Zero(t, e.StandIn.Books().Pinned)
}

// Many small copies in from many goroutines while the device does nothing wait for chunks, and get them.
func TestStageManyInFlight(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	b := buffer[uint64](t, e.s, 4*chunkKinds[small].stream)
	defer b.Free()
	e.StandIn.Hold(true)
	done := make(chan error, 4)
	for g := range 4 {
		go func() {
			var err error
			for i := 0; i < chunkKinds[small].stream && err == nil; i++ {
				at := g*chunkKinds[small].stream + i
				err = b.View(at, at+1).CopyFrom(e.s, []uint64{uint64(at)})
			}
			done <- err
		}()
	}
	time.Sleep(10 * time.Millisecond)
	assert.LessOrEqual(t, e.StandIn.Books().Pinned, int64(chunkKinds[small].stream*smallChunk))
	e.StandIn.Hold(false)
	for range 4 {
		require.NoError(t, <-done)
	}
	got := make([]uint64, b.Len())
	require.NoError(t, b.CopyTo(e.s, got))
	for i, x := range got {
		require.EqualValues(t, i, x)
	}
}

func TestCopiesNoAllocation(t *testing.T) {
	e := start(t, alloc.Options{})
	b := buffer[byte](t, e.s, 1<<20)
	defer b.Free()
	host := make([]byte, 1<<20)
	pinned, err := alloc.MakePinned[byte](e.pool, 1<<20)
	require.NoError(t, err)
	defer pinned.Free()
	for name, f := range map[string]func() error{
		"in":         func() error { return b.CopyFrom(e.s, host) },
		"out":        func() error { return b.CopyTo(e.s, host) },
		"small in":   func() error { return b.View(0, 64).CopyFrom(e.s, host[:64]) },
		"pinned in":  func() error { return b.CopyFrom(e.s, pinned.Slice()) },
		"pinned out": func() error { return b.CopyTo(e.s, pinned.Slice()) },
		"async in":   func() error { return alloc.Upload[byte](e.s, b, pinned) },
		"async out":  func() error { return alloc.Download[byte](e.s, pinned, b) },
		"fill":       func() error { return b.Fill(e.s, 3) },
		"within":     func() error { return alloc.Copy[byte](e.s, b.View(0, 64), b.View(64, 128)) },
	} {
		require.NoError(t, f(), name)
		require.NoError(t, e.s.Sync())
		assert.Empty(t, gomemory.Stacks(50, func() {
			if err := f(); err != nil {
				t.Error(err)
			}
			if err := e.dev.Sync(e.s.Handle()); err != nil { // so that chunks are free again
				t.Error(err)
			}
		}, checkers), name)
	}
}

// Copies with page-locked memory by this package return at once and run in stream order.
func TestPinnedAsync(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	const n = 1 << 20
	in, err := alloc.MakePinned[uint32](e.pool, n)
	require.NoError(t, err)
	out, err := alloc.MakePinned[uint32](e.pool, n)
	require.NoError(t, err)
	for i := range in.Slice() {
		in.Slice()[i] = uint32(i)
	}
	b := buffer[uint32](t, e.s, n)
	e.StandIn.Hold(true)
	require.NoError(t, alloc.Upload[uint32](e.s, b, in))
	require.NoError(t, alloc.Download[uint32](e.s, out, b))
	assert.Zero(t, out.Slice()[n-1], "nothing has run")
	b.Free()
	e.StandIn.Hold(false)
	require.NoError(t, e.s.Sync())
	assert.Equal(t, in.Slice(), out.Slice())
	in.Free()
	out.Free()
	in.Free()
	assert.ErrorIs(t, alloc.Upload[uint32](e.s, b, in), alloc.ErrFreed)
	assert.ErrorIs(t, alloc.Download[uint32](e.s, in, b), alloc.ErrFreed)
	assert.ErrorIs(t, alloc.Upload[uint32](e.s, buffer[uint32](t, e.s, 3), mustPin[uint32](t, e.pool, 4)),
		alloc.ErrSize)
	assert.Zero(t, e.StandIn.Books().Pageable)
}

// Page-locked memory that a queued copy was given is not used again before the copy has run, and freeing it
// calls no driver.
func TestPinnedFreedWhileQueued(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	const n = 1 << 18
	b := buffer[uint32](t, e.s, n)
	defer b.Free()
	fill := func(x uint32) alloc.Pinned[uint32] {
		h := mustPin[uint32](t, e.pool, n)
		for i := range h.Slice() {
			h.Slice()[i] = x
		}
		return h
	}
	e.StandIn.Hold(true)
	in := fill(1)
	require.NoError(t, alloc.Upload[uint32](e.s, b, in))
	calls := e.StandIn.Books().Calls
	in.Free()
	assert.Equal(t, calls, e.StandIn.Books().Calls)
	fill(2).Free()
	fill(3).Free()
	assert.EqualValues(t, 4*n, e.pool.Stats().PinnedPending)
	e.StandIn.Hold(false)
	got := make([]uint32, n)
	require.NoError(t, b.CopyTo(e.s, got))
	require.Equal(t, slices.Repeat([]uint32{1}, n), got)
	require.NoError(t, e.s.Sync())
	assert.Zero(t, e.pool.Stats().PinnedPending)
	e.pool.Trim(0)
	assert.Zero(t, e.pool.Stats().PinnedReserved)
}

// Page-locked memory is freed right behind the copies that were given it, dropped, and trimmed, on several
// streams that lag behind. What arrives is what was in it when the copy was enqueued: nobody had the memory
// too early.
func TestPinnedChurn(t *testing.T) {
	e := startStandIn(t, alloc.Options{}, "delay", 20)
	var wg sync.WaitGroup
	for g := range uint32(4) {
		s, err := e.pool.NewStream()
		require.NoError(t, err)
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 5))
			const slots, most = 64, 3000
			b, err := alloc.Make[uint32](s, slots*most)
			if !assert.NoError(t, err) {
				return
			}
			defer b.Free()
			var want [slots]struct {
				n   int
				tag uint32
			}
			for round := range uint32(300) {
				i := r.IntN(slots)
				n, tag := 1+r.IntN(most), g<<16|round
				h, err := alloc.MakePinned[uint32](e.pool, n)
				if !assert.NoError(t, err) {
					return
				}
				for j := range h.Slice() {
					h.Slice()[j] = tag
				}
				v := b.View(i*most, i*most+n)
				assert.NoError(t, alloc.Upload[uint32](s, v, h))
				want[i].n, want[i].tag = n, tag
				if r.IntN(10) > 0 {
					h.Free()
				}
				if r.IntN(60) == 0 {
					e.pool.Trim(0)
				}
			}
			for i, w := range want {
				got := make([]uint32, w.n)
				assert.NoError(t, b.View(i*most, i*most+w.n).CopyTo(s, got))
				assert.True(t, slices.Equal(slices.Repeat([]uint32{w.tag}, w.n), got), "slot %d", i)
			}
		})
	}
	wg.Wait()
	require.NoError(t, e.pool.Check())
	assert.Zero(t, e.StandIn.Books().BadAccess)
}
