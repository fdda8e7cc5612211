package alloc_test

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/tracker"
)

func mustPin[T any](tb testing.TB, p *alloc.Pool, n int) alloc.Pinned[T] {
	tb.Helper()
	h, err := alloc.MakePinned[T](p, n)
	require.NoError(tb, err)
	return h
}

func at[T any](h alloc.Pinned[T]) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(h.Slice())) }

// pinnedPool is a pool on a device of the host's, which may fail.
func pinnedPool(tb testing.TB, ho host.Options, o alloc.Options) (*alloc.Pool, *alloctest.Faulty,
	*host.Device) {
	tb.Helper()
	dev, err := host.Open(ho)
	require.NoError(tb, err)
	f := alloctest.NewFaulty(dev)
	p, err := alloc.NewPool(ordered(tb, f), o)
	require.NoError(tb, err)
	return p, f, dev
}

func TestPinned(t *testing.T) {
	p, _, dev := pinnedPool(t, host.Options{}, alloc.Options{Tracker: noSites()})
	h := mustPin[int64](t, p, 1000)
	assert.Len(t, h.Slice(), 1000)
	h.Slice()[999] = 1
	st := sound(t, p)
	assert.EqualValues(t, 8192, st.PinnedLive)
	assert.EqualValues(t, 1, st.PinnedBuffers)
	assert.Equal(t, dev.Used(), st.PinnedReserved)
	assert.Zero(t, st.Reserved, "it is the host's memory")
	memory := at(h)
	h.Free()
	h.Free()
	assert.PanicsWithError(t, "alloc: page-locked memory: buffer used after Free", func() { h.Slice() })
	st = sound(t, p)
	assert.Zero(t, st.PinnedLive+st.PinnedPending)
	assert.Equal(t, st.PinnedReserved, st.PinnedIdle)
	again := mustPin[int64](t, p, 1000)
	assert.Equal(t, memory, at(again))
	h.Free() // another's now
	again.Slice()[0] = 1
	again.Free()
	st = sound(t, p)
	assert.Equal(t, st.PinnedReserved, p.Trim(0))
	assert.Zero(t, dev.Used())

	func() { mustPin[int64](t, p, 1000) }()
	collectUntil(t, func() bool { return p.Stats().PinnedLate == 1 })
	p.Trim(0)
	assert.Zero(t, dev.Used())
	var z alloc.Pinned[int]
	z.Free()
	assert.Empty(t, z.Slice())
	require.NoError(t, p.Close())
}

// Values of all sizes are apart from each other, and what is given back serves its size and no smaller than
// half.
func TestPinnedSizes(t *testing.T) {
	p, f, dev := pinnedPool(t, host.Options{}, alloc.Options{})
	var held []alloc.Pinned[byte]
	sizes := []int{1, 512, 513, 4096, 5000, 100_000, 128 << 10, 128<<10 + 1, 1 << 20, 3_000_000}
	for i, n := range append(sizes, sizes...) {
		h := mustPin[byte](t, p, n)
		require.Zero(t, uintptr(at(h))%alloc.MinAlign)
		for j := range h.Slice() {
			h.Slice()[j] = byte(i)
		}
		held = append(held, h)
	}
	for i, h := range held {
		require.Equal(t, h.Len(), bytes.Count(h.Slice(), []byte{byte(i)}))
	}
	sound(t, p)
	for _, h := range held {
		h.Free()
	}
	sound(t, p)
	before := f.Calls()
	big := mustPin[byte](t, p, 2_000_000)
	assert.Equal(t, before, f.Calls(), "the larger one serves")
	small := mustPin[byte](t, p, 300_000)
	assert.Greater(t, f.Calls(), before, "those are much larger")
	big.Free()
	small.Free()
	p.Trim(1 << 20)
	assert.LessOrEqual(t, p.Stats().PinnedIdle, int64(1<<20))
	require.NoError(t, p.Close())
	assert.Zero(t, dev.Used())
}

// A warm pair allocates nothing and calls no device, with a cleanup that is attached once.
func TestPinnedWarm(t *testing.T) {
	p, f, _ := pinnedPool(t, host.Options{}, alloc.Options{})
	for _, n := range []int{100, 1 << 20} {
		pair := func() { mustPin[byte](t, p, n).Free() }
		pair()
		before := f.Calls()
		allocatesNothing(t, pair, "%d bytes", n)
		assert.Equal(t, before, f.Calls())
	}
	require.NoError(t, p.Close())
}

// Memory that work on streams was given is nobody else's until that work is seen to have run, on each of
// them. Free calls no device and does not wait.
func TestPinnedStreamOrder(t *testing.T) {
	p, f, _ := pinnedPool(t, host.Options{}, alloc.Options{})
	s, u := newStream(t, p), newStream(t, p)
	use := func(h alloc.Pinned[byte], on *alloc.Stream) gate {
		x, err := alloc.BeginPinned(on, h)
		require.NoError(t, err)
		assert.Equal(t, at(h), x.Ptr)
		assert.EqualValues(t, 1000, x.Size)
		g := block(t, on)
		x.End()
		return g
	}
	h := mustPin[byte](t, p, 1000)
	memory := at(h)
	g, k := use(h, s), use(h, u)
	before := f.Calls()
	h.Free()
	assert.Equal(t, before, f.Calls())
	st := sound(t, p)
	assert.EqualValues(t, 1024, st.PinnedPending)
	unused := func() bool {
		var others []alloc.Pinned[byte]
		defer func() {
			for _, o := range others {
				o.Free()
			}
		}()
		p.Stats() // looks at what is pending
		for range 200 {
			o := mustPin[byte](t, p, 1000)
			others = append(others, o)
			if at(o) == memory {
				return false
			}
		}
		return true
	}
	require.True(t, unused(), "both streams have it")
	g.open()
	require.NoError(t, s.Sync())
	require.True(t, unused(), "one has it still")
	k.open()
	require.NoError(t, u.Sync())
	require.False(t, unused())
	st = sound(t, p)
	assert.Zero(t, st.PinnedPending)
	require.NoError(t, p.Close())
}

// However many blocks wait for a stream that is held up, one that is free is found behind them.
func TestPinnedManyPending(t *testing.T) {
	const slow = 300
	p, _, _ := pinnedPool(t, host.Options{}, alloc.Options{})
	s, u := newStream(t, p), newStream(t, p)
	g := block(t, s)
	freed := func(on *alloc.Stream) unsafe.Pointer {
		h := mustPin[byte](t, p, 1000)
		x, err := alloc.BeginPinned(on, h)
		require.NoError(t, err)
		x.End()
		h.Free()
		return x.Ptr
	}
	held := make(map[unsafe.Pointer]bool)
	for range slow {
		held[freed(s)] = true
	}
	over := freed(u)
	require.NoError(t, u.Sync())
	found := false
	var all []alloc.Pinned[byte]
	for range 2 * slow {
		h := mustPin[byte](t, p, 1000)
		require.False(t, held[at(h)], "work on it has not run")
		found = found || at(h) == over
		all = append(all, h)
	}
	assert.True(t, found)
	g.open()
	for _, h := range all {
		h.Free()
	}
	sound(t, p)
	require.NoError(t, p.Close())
}

// A Free that meets a use takes effect at its end.
func TestPinnedFreedInUse(t *testing.T) {
	p, _, _ := pinnedPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	h := mustPin[byte](t, p, 1<<20)
	memory := at(h)
	x, err := alloc.BeginPinned(s, h)
	require.NoError(t, err)
	h.Free()
	st := sound(t, p)
	assert.EqualValues(t, 1<<20, st.PinnedPending)
	other := mustPin[byte](t, p, 1<<20)
	assert.NotEqual(t, memory, at(other))
	x.End()
	require.NoError(t, s.Sync())
	assert.Zero(t, sound(t, p).PinnedPending)
	assert.Equal(t, memory, at(mustPin[byte](t, p, 1<<20)))
	other.Free()

	_, err = alloc.BeginPinned(s, h)
	assert.ErrorIs(t, err, alloc.ErrFreed)
	q := newPool(t, host.Options{}, alloc.Options{})
	_, err = alloc.BeginPinned(q.DefaultStream(), other)
	assert.ErrorIs(t, err, alloc.ErrForeign)
	x, err = alloc.BeginPinned(s, alloc.Pinned[byte]{})
	require.NoError(t, err)
	x.End()
	require.NoError(t, q.Close())
	require.NoError(t, p.Close())
}

// Copies know page-locked memory by its address. They refuse what has been freed, and leave nothing pending.
func TestPinnedCopies(t *testing.T) {
	p, f, _ := pinnedPool(t, host.Options{}, alloc.Options{Tracker: tracker.New(tracker.Options{Rate: 1})})
	s := newStream(t, p)
	b := mustMake[byte](t, s, 5000)
	h := mustPin[byte](t, p, 5000)
	mem := h.Slice()
	for i := range mem {
		mem[i] = byte(i)
	}
	require.NoError(t, b.CopyFrom(s, mem))
	require.NoError(t, b.CopyFrom(s, mem[17:100]))
	clear(mem)
	require.NoError(t, b.CopyTo(s, mem))
	assert.Equal(t, byte(17), mem[0])
	assert.Equal(t, byte(4999&0xff), mem[4999])
	f.Only("CopyIn")
	f.FailNth(1)
	require.ErrorIs(t, b.CopyFrom(s, mem), alloctest.ErrInjected)
	h.Free()
	assert.EqualValues(t, 5120, sound(t, p).PinnedPending, "a copy that failed may have it still")
	for _, err := range []error{b.CopyFrom(s, mem), b.CopyTo(s, mem), b.CopyTo(s, mem[100:200])} {
		require.ErrorIs(t, err, alloc.ErrFreed)
		assert.ErrorContains(t, err, "page-locked memory: buffer used after Free, made at ")
		assert.ErrorContains(t, err, "pinned_test.go")
	}
	require.NoError(t, s.Sync())
	assert.Zero(t, sound(t, p).PinnedPending)
	b.Free()
	require.NoError(t, p.Close())
}

// The books have an account of page-locked memory, with the sites.
func TestPinnedBooks(t *testing.T) {
	books := tracker.New(tracker.Options{Rate: 1, History: 10})
	p, _, _ := pinnedPool(t, host.Options{}, alloc.Options{Tracker: books})
	assert.Len(t, books.Stats().Accounts, 1, "none before there is any")
	h := mustPin[byte](t, p, 1<<20)
	all := books.Stats().Accounts
	require.Len(t, all, 2)
	assert.Equal(t, "host page-locked", all[1].Name)
	assert.EqualValues(t, 1<<20, all[1].Live)
	assert.EqualValues(t, 1<<20, all[1].Reserved)
	var found bool
	for _, site := range books.Sites() {
		if site.LiveBytes == 1<<20 {
			found = true
			assert.True(t, strings.HasSuffix(site.Frames[0].Function, ".mustPin[...]"),
				site.Frames[0].Function)
		}
	}
	assert.True(t, found)
	h.Free()
	h.Free()
	st := books.Stats().Accounts[1]
	assert.Zero(t, st.Live)
	assert.EqualValues(t, 1, st.Repeated)
	require.NoError(t, p.Close())
	assert.Zero(t, books.Stats().Accounts[1].Reserved)
}

// A device without room for more gets back what is idle in other sizes; then what is pending is waited for,
// and the collector is asked.
func TestPinnedNoRoom(t *testing.T) {
	p, f, _ := pinnedPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	f.Watermark(8 << 20)
	h := mustPin[byte](t, p, 5<<20)
	h.Free()
	h = mustPin[byte](t, p, 1<<20) // fresh
	g := mustPin[byte](t, p, 7<<20)
	_, err := alloc.MakePinned[byte](p, 1<<20)
	require.ErrorIs(t, err, alloc.ErrOutOfMemory)
	x, err := alloc.BeginPinned(s, g)
	require.NoError(t, err)
	gate := block(t, s)
	x.End()
	g.Free()
	time.AfterFunc(time.Millisecond, gate.open)
	g = mustPin[byte](t, p, 3<<20) // waits
	g.Slice()[0] = 1
	func() { mustPin[byte](t, p, 4<<20) }()
	mustPin[byte](t, p, 4<<20).Free() // the dropped one's
	sound(t, p)
	g.Free()
	h.Free()
	f.Only("AllocHost")
	f.FailNth(1)
	_, err = alloc.MakePinned[byte](p, 100)
	require.ErrorIs(t, err, alloctest.ErrInjected)
	sound(t, p)
	require.NoError(t, p.Close())
}

// Freeing what the collector found dead is bookkeeping: a Make that does so calls no device.
func TestPinnedLateCallsNothing(t *testing.T) {
	p, f, dev := pinnedPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	b := mustMake[byte](t, s, 1000)
	b.Free()
	func() {
		for range 100 {
			mustPin[byte](t, p, 1<<10)
		}
	}()
	used := dev.Used()
	before := f.Calls()
	collectUntil(t, func() bool {
		mustMake[byte](t, s, 1000).Free()
		return p.Stats().PinnedLate == 100
	})
	assert.Equal(t, before, f.Calls())
	assert.Equal(t, used, dev.Used())
	require.NoError(t, p.Close())
	assert.Zero(t, dev.Used())
}

// Goroutines make, use, share, free twice and drop page-locked memory. What one has written nobody else
// changes.
func TestPinnedConcurrent(t *testing.T) {
	p, f, dev := pinnedPool(t, host.Options{}, alloc.Options{})
	f.SlowEvents(2)
	streams := []*alloc.Stream{newStream(t, p), newStream(t, p), newStream(t, p)}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 7))
			for range 400 {
				n := 1 + r.IntN(3000)
				h, err := alloc.MakePinned[uint64](p, n)
				if !assert.NoError(t, err) {
					return
				}
				mem := h.Slice()
				tag := r.Uint64()
				for i := range mem {
					mem[i] = tag
				}
				s := streams[r.IntN(3)]
				if r.IntN(2) == 0 {
					x, err := alloc.BeginPinned(s, h)
					if !assert.NoError(t, err) {
						return
					}
					late := host.Launch(s, func(host.Args) { // reads when the stream gets to it
						for _, v := range unsafe.Slice((*uint64)(x.Ptr), n) {
							if v != tag {
								t.Errorf("%x in memory that the stream was given, not %x", v, tag)
								return
							}
						}
					})
					x.End()
					assert.NoError(t, late)
				}
				for _, v := range mem {
					if v != tag {
						t.Errorf("%x in memory of another owner, not %x", v, tag)
						return
					}
				}
				runtime.KeepAlive(h)
				if r.IntN(8) > 0 {
					h.Free()
					h.Free()
				}
				if r.IntN(50) == 0 {
					p.Trim(0)
				}
			}
		})
	}
	wg.Wait()
	for _, s := range streams {
		require.NoError(t, s.Sync())
	}
	collectUntil(t, func() bool { return p.Stats().PinnedLive == 0 })
	sound(t, p)
	require.NoError(t, p.Close())
	assert.Zero(t, dev.Used())
}
