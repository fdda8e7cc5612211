package alloc_test

import (
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

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
