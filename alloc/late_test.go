package alloc_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
	"github.com/lastuse/lastuse/finalize"
	"github.com/lastuse/lastuse/internal/tier"
)

// Buffers that the collector has found dead are live in the books until somebody has drained them. One
// who is stopped in the middle of that must not make others fail, whose collections find nothing more.
func TestStoppedDrain(t *testing.T) {
	const limit, each = 16 << 20, 1 << 20
	for range 3 {
		p := newPool(t, host.Options{}, alloc.Options{Limit: limit})
		s := p.DefaultStream()
		for range limit / each {
			mustMake[byte](t, s, each)
		}
		for alloc.LateLen(p) < limit/each {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
		stopped, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			alloc.DrainLate(p, func() {
				close(stopped)
				time.Sleep(50 * time.Millisecond)
			})
		}()
		<-stopped
		b, err := alloc.Make[byte](s, each)
		require.NoError(t, err)
		b.Free()
		<-done
		sound(t, p)
		require.NoError(t, p.Close())
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
	n := tier.Of(100_000, 1_000_000)
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
		p, err := alloc.NewPool(ordered(t, dev), alloc.Options{})
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

// A program that forgets one buffer in a hundred and frees the rest is collected before memory runs out,
// although its frees are 99 % of all that it makes.
func TestForgetful(t *testing.T) {
	const size = 1 << 20
	p := newPool(t, host.Options{}, alloc.Options{Limit: 64 * size, Pacing: finalize.Options{GCShare: 1000}})
	s := newStream(t, p)
	for i := range 20_000 {
		b := mustMake[byte](t, s, size)
		if i%100 != 0 {
			b.Free()
		}
	}
	st := p.Stats()
	assert.GreaterOrEqual(t, st.Late, int64(200-64), "what was forgotten")
	assert.Zero(t, st.Pacing.Exhausted, "%v", st.Pacing)
}
