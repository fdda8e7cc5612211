package alloc_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

func TestBadInput(t *testing.T) {
	p := newPool(t, host.Options{Capacity: 1 << 30}, alloc.Options{Tracker: noSites()})
	q := newPool(t, host.Options{}, alloc.Options{})
	s, u := newStream(t, p), newStream(t, q)
	b := mustMake[int32](t, s, 10)

	t.Run("sizes", func(t *testing.T) {
		for _, n := range []int{-1, math.MinInt, math.MaxInt, math.MaxInt/8 + 1, 1 << 61} {
			_, err := alloc.Make[float64](s, n)
			require.ErrorIs(t, err, alloc.ErrSize, "%d", n)
		}
		_, err := alloc.Make[[1 << 20]byte](s, 1<<44)
		require.ErrorIs(t, err, alloc.ErrSize)
		_, err = alloc.Make[byte](s, 1<<47)
		require.ErrorIs(t, err, alloc.ErrOutOfMemory)
		z, err := alloc.Make[byte](s, 0)
		require.NoError(t, err)
		assert.Equal(t, alloc.Buffer[byte]{}, z)
	})
	t.Run("types", func(t *testing.T) {
		_, err := alloc.Make[*int](s, 1)
		require.ErrorIs(t, err, alloc.ErrType)
		_, err = alloc.Make[struct {
			a int
			s string
		}](s, 1)
		require.ErrorIs(t, err, alloc.ErrType)
		require.ErrorContains(t, err, "field s")
		_, err = alloc.Make[map[int]int](s, 0)
		require.ErrorIs(t, err, alloc.ErrType)
		_, err = alloc.Make[any](s, 1)
		require.ErrorIs(t, err, alloc.ErrType)
		require.ErrorIs(t, host.Launch(s, func(host.Args) {}, alloc.Scalar("s")), alloc.ErrType)
	})
	t.Run("zero buffer", func(t *testing.T) {
		var z alloc.Buffer[int]
		z.Free()
		z.Free()
		require.NoError(t, z.CopyFrom(s, nil))
		require.NoError(t, z.CopyTo(s, nil))
		require.NoError(t, z.Fill(s, 1))
		require.ErrorIs(t, z.CopyFrom(s, []int{1}), alloc.ErrSize)
		assert.Zero(t, z.Ptr(s))
		assert.Zero(t, z.All().Len())
		assert.Zero(t, p.Stats().Repeated)
	})
	t.Run("bounds", func(t *testing.T) {
		require.ErrorIs(t, b.CopyFrom(s, make([]int32, 11)), alloc.ErrSize)
		require.ErrorIs(t, b.CopyTo(s, make([]int32, 11)), alloc.ErrSize)
		require.ErrorIs(t, alloc.Copy(s, b.View(0, 5), b), alloc.ErrSize)
		for _, ij := range [][2]int{{-1, 2}, {3, 2}, {0, 11}, {11, 11}, {math.MinInt, math.MaxInt}} {
			assert.Panics(t, func() { b.View(ij[0], ij[1]) }, "%v", ij)
		}
	})
	t.Run("foreign", func(t *testing.T) {
		require.ErrorIs(t, b.CopyFrom(u, nil), alloc.ErrForeign)
		require.ErrorIs(t, b.Fill(u, 1), alloc.ErrForeign)
		require.ErrorIs(t, host.Launch(u, func(host.Args) {}, b.Arg()), alloc.ErrForeign)
		assert.Panics(t, func() { b.Ptr(u) })
		assert.Panics(t, func() { s.Wait(u) })
		g := block(t, s)
		e := s.Record()
		assert.Panics(t, func() { u.WaitEvent(e) })
		g.open()
	})
	t.Run("freed", func(t *testing.T) {
		c := mustMake[int32](t, s, 10)
		v := c.View(1, 3)
		c.Free()
		require.ErrorIs(t, c.CopyFrom(s, nil), alloc.ErrFreed)
		require.ErrorIs(t, c.CopyTo(s, nil), alloc.ErrFreed)
		require.ErrorIs(t, v.Fill(s, 1), alloc.ErrFreed)
		require.ErrorIs(t, alloc.Copy(s, b, v), alloc.ErrFreed)
		require.ErrorIs(t, alloc.Copy(s, v, b.View(0, 1)), alloc.ErrFreed)
		require.ErrorIs(t, host.Launch(s, func(host.Args) {}, b.Arg(), v.Arg()), alloc.ErrFreed)
		assert.PanicsWithError(t, "alloc: address: buffer used after Free", func() { c.Ptr(s) })
	})
	t.Run("closed", func(t *testing.T) {
		x := newStream(t, p)
		require.NoError(t, x.Close())
		require.NoError(t, x.Close())
		_, err := alloc.Make[byte](x, 1)
		require.ErrorIs(t, err, alloc.ErrClosed)
		_, err = alloc.Make[byte](x, 0)
		require.ErrorIs(t, err, alloc.ErrClosed)
		require.ErrorIs(t, b.Fill(x, 1), alloc.ErrClosed)
		require.ErrorIs(t, x.Sync(), alloc.ErrClosed)
		require.ErrorIs(t, host.Launch(x, func(host.Args) {}), alloc.ErrClosed)
		assert.Panics(t, func() { x.Wait(s) })
		assert.Panics(t, func() { s.Wait(x) })
	})
	b.Free()
	sound(t, p)
	require.NoError(t, p.Close())
	_, err := alloc.Make[byte](s, 1)
	require.ErrorIs(t, err, alloc.ErrClosed)
	_, err = p.NewStream()
	require.ErrorIs(t, err, alloc.ErrClosed)
	_, err = alloc.MakePinned[byte](p, 1)
	require.ErrorIs(t, err, alloc.ErrClosed)
	require.NoError(t, p.Close())
	require.NoError(t, q.Close())
	_, err = alloc.NewPool(nil, alloc.Options{})
	require.Error(t, err)
}
