//go:build cgo && linux

package cuda

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
	"github.com/lastuse/lastuse/internal/tier"
)

// processors lets a test have more of them than the machine may have, so that copies have helpers.
func processors(t *testing.T, n int) {
	old := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(old) })
}

func noise(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = r.Read(b)
	return b
}

// settled checks that nobody has a chunk in hands, that no goroutine helps, and returns how many chunks
// there are.
func settled(t *testing.T, g *stage) int {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	all := 0
	count := func(c *chunk) (n int) {
		for ; c != nil; c = c.next {
			n++
		}
		return n
	}
	for kind := range numKinds {
		made := count(g.idle[kind])
		for s, q := range g.queues {
			n := count(q.flying[kind].first)
			assert.Equal(t, n, q.held[kind], "stream %#x", s)
			made += n
		}
		assert.Equal(t, g.made[kind], made)
		all += made
	}
	assert.Zero(t, g.copiers)
	for j := g.jobs; j != nil; j = j.after {
		assert.Nil(t, j.host)
		assert.Zero(t, j.helpers)
		assert.Zero(t, j.count)
	}
	return all + count(g.lost)
}

// Goroutines copy pieces of all sizes in and out, on streams of their own and on a shared one. All arrives
// where it should and nothing else is touched.
func TestCopiesBesideEachOther(t *testing.T) {
	processors(t, 6)
	e := startStandIn(t, alloc.Options{}, "memory", 1<<30)
	var wg sync.WaitGroup
	for g := range uint64(4) {
		own, err := e.pool.NewStream()
		require.NoError(t, err)
		wg.Go(func() {
			r := rand.New(rand.NewPCG(g, 3))
			const most = 12 << 20
			b, err := alloc.Make[byte](own, most)
			if !assert.NoError(t, err) {
				return
			}
			defer b.Free()
			for round := range uint64(6) {
				s := own
				if round%2 == 1 {
					s = e.s
					s.Wait(own)
				}
				n := 1 + r.IntN(most-2)
				if round == 0 {
					n = 3*pieceLeast + 17
				}
				at := r.IntN(most - n)
				src := noise(n, g*100+round)
				want := bytes.Clone(src)
				v := b.View(at, at+n)
				assert.NoError(t, v.CopyFrom(s, src))
				clear(src)
				got := bytes.Repeat([]byte{0xa5}, n+2)
				assert.NoError(t, v.CopyTo(s, got[1:n+1]))
				assert.True(t, bytes.Equal(want, got[1:n+1]), "%d bytes", n)
				assert.Equal(t, []byte{0xa5, 0xa5}, []byte{got[0], got[n+1]})
				own.Wait(s)
			}
		})
	}
	wg.Wait()
	settled(t, &e.dev.stage)
	assert.Zero(t, e.StandIn.Books().Pageable, "the driver saw Go memory")
	assert.Zero(t, e.StandIn.Books().BadAccess)
}

// Copies on a stream that is held up keep nobody else's from running: each stream may have its own chunks,
// and what is done on others is used again.
func TestSlowStreamHoldsUpNobody(t *testing.T) {
	processors(t, 4)
	e := startStandIn(t, alloc.Options{}, "memory", 1<<30)
	slow, err := e.pool.NewStream()
	require.NoError(t, err)
	const n = 40 << 20 // more than a stream may have in chunks
	a, b := buffer[byte](t, slow, n), buffer[byte](t, e.s, n)
	e.StandIn.Set(t, "hold", int64(slow.Handle()))
	defer e.StandIn.Set(t, "hold", 0)
	src := noise(n, 1)
	done := make(chan error, 2)
	go func() { done <- a.CopyFrom(slow, src) }()
	go func() {
		var err error
		for i := 0; i < 2*chunkKinds[small].stream && err == nil; i++ {
			err = a.View(i, i+1).CopyFrom(slow, src[i:i+1])
		}
		done <- err
	}()
	var streams []*alloc.Stream
	for range 5 {
		s, err := e.pool.NewStream()
		require.NoError(t, err)
		streams = append(streams, s)
	}
	for _, s := range append(streams, e.s) {
		s.Wait(e.s)
		got := make([]byte, n)
		require.NoError(t, b.CopyFrom(s, src))
		require.NoError(t, b.View(5, 6).CopyFrom(s, src[5:6]))
		require.NoError(t, b.CopyTo(s, got))
		require.True(t, bytes.Equal(src, got))
		e.s.Wait(s)
	}
	select {
	case err := <-done:
		t.Fatalf("a stream that is held up is done: %v", err)
	default:
	}
	most := chunkKinds[small].stream*smallChunk + chunkKinds[large].stream*largeChunk
	assert.LessOrEqual(t, e.StandIn.Books().Pinned, int64(4*most))
	e.StandIn.Set(t, "hold", 0)
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	got := make([]byte, n)
	require.NoError(t, a.CopyTo(slow, got))
	require.True(t, bytes.Equal(src, got))
	require.NoError(t, slow.Sync())
	require.NoError(t, slow.Close())
	settled(t, &e.dev.stage)
}

// Whichever call of the driver fails in the middle of a copy, once, several times or for a while, the copy
// says so or goes on; no chunk is lost or used while it is in flight, and the next copy works.
func TestCopyFails(t *testing.T) {
	processors(t, 4)
	const n = 5*pieceLeast + 3
	src, got := noise(n, 1), make([]byte, n)
	for _, f := range []string{
		"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuEventRecord", "cuEventSynchronize",
		"cuEventQuery", "cuMemHostAlloc", "cuEventCreate",
	} {
		for _, times := range []int{1, 3, 1000} {
			t.Run(fmt.Sprintf("%s/times=%d", f, times), func(t *testing.T) {
				failed := 0
				d := drvtest.OpenStandIn(t, drvtest.Options{})
				for skip := 0; skip < 12; skip += tier.Of(2, 1) {
					clear(got)
					dev, err := open(d.Path, 0, Options{})
					require.NoError(t, err)
					pool, err := alloc.NewPool(dev, alloc.Options{})
					require.NoError(t, err)
					s, err := pool.NewStream()
					require.NoError(t, err)
					b := buffer[byte](t, s, n)
					d.StandIn.Fail(t, f, skip, times, 2)
					in := b.CopyFrom(s, src)
					out := b.CopyTo(s, got)
					d.StandIn.Fail(t, f, 0, 0, 0)
					if in == nil && out == nil {
						assert.True(t, bytes.Equal(src, got))
					} else {
						failed++
					}
					require.NoError(t, s.Sync())
					settled(t, &dev.stage)
					require.NoError(t, b.CopyFrom(s, src))
					require.NoError(t, b.CopyTo(s, got))
					require.True(t, bytes.Equal(src, got))
					b.Free()
					require.NoError(t, pool.Close())
					require.NoError(t, dev.Close())
					books := d.StandIn.Books()
					require.Zero(t, books.Pinned)
					require.Zero(t, books.Events)
					require.Zero(t, books.BadAccess)
				}
				t.Logf("%d failed", failed)
				chunk := f == "cuMemHostAlloc" || f == "cuEventCreate" // one is enough
				if f != "cuEventQuery" && (!chunk || times == 1000) {
					assert.Positive(t, failed)
				}
			})
		}
	}
}

// Where there is no more page-locked memory than a chunk, copies go on with that one.
func TestCopyWithFewChunks(t *testing.T) {
	processors(t, 4)
	e := startStandIn(t, alloc.Options{})
	const n = 8*pieceLeast + 1
	b := buffer[byte](t, e.s, n)
	src, got := noise(n, 1), make([]byte, n)
	e.StandIn.Fail(t, "cuMemHostAlloc", 1, 1<<30, 2)
	require.NoError(t, b.CopyFrom(e.s, src))
	require.NoError(t, b.CopyTo(e.s, got))
	require.True(t, bytes.Equal(src, got))
	assert.EqualValues(t, largeChunk, e.StandIn.Books().Pinned)
	other, err := e.pool.NewStream() // has nothing of its own, and gets what is done on the first
	require.NoError(t, err)
	require.NoError(t, b.CopyFrom(e.s, src))
	require.NoError(t, e.s.Sync())
	other.Wait(e.s)
	clear(got)
	require.NoError(t, b.CopyTo(other, got))
	require.True(t, bytes.Equal(src, got))
	e.StandIn.Fail(t, "cuMemHostAlloc", 0, 0, 0)
	settled(t, &e.dev.stage)
}

// A stream that is destroyed leaves its chunks to the others.
func TestStreamsLeaveTheirChunks(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	for range 20 {
		s, err := e.pool.NewStream()
		require.NoError(t, err)
		b := buffer[byte](t, s, 1000)
		require.NoError(t, b.CopyFrom(s, make([]byte, 1000)))
		b.Free()
		require.NoError(t, s.Close())
	}
	assert.Equal(t, 1, settled(t, &e.dev.stage))
	assert.Empty(t, e.dev.stage.queues)
}
