package alloc_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
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
		late, err := alloc.NewPool(alloctest.NewLate(p.Device(), 1), alloc.Options{})
		require.NoError(t, err)
		v := late.DefaultStream()
		assert.Panics(t, func() { s.Wait(v) })
		g := block(t, s)
		e := s.Record()
		assert.Panics(t, func() { v.WaitEvent(e) })
		g.open()
		require.NoError(t, late.Close())
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
	t.Run("adopted", func(t *testing.T) {
		for _, x := range []struct {
			p alloc.Ptr
			n int
		}{{0, 1}, {512, 0}, {512, -1}, {512, math.MaxInt}, {^alloc.Ptr(511), 65}} {
			_, err := alloc.Adopt[int64](s, x.p, x.n, func() { t.Error("released") })
			require.ErrorIs(t, err, alloc.ErrSize, "%d elements at %#x", x.n, x.p)
		}
	})
	t.Run("page-locked", func(t *testing.T) {
		for _, n := range []int{-1, math.MinInt, math.MaxInt, 1 << 48} {
			_, err := alloc.MakePinned[byte](p, n)
			require.ErrorIs(t, err, alloc.ErrSize, "%d", n)
		}
		_, err := alloc.MakePinned[byte](p, 1<<47)
		require.ErrorIs(t, err, alloc.ErrOutOfMemory)
		_, err = alloc.MakePinned[string](p, 1)
		require.ErrorIs(t, err, alloc.ErrType)
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

func TestBadOptions(t *testing.T) {
	dev, err := host.Open(host.Options{Capacity: 64 << 20, Granularity: 64 << 10})
	require.NoError(t, err)
	for _, tt := range []struct {
		options alloc.Options
		is      error
		text    string
	}{
		{alloc.Options{Growth: -1}, alloc.ErrOption,
			"option Growth is -1: want Balanced, Tight or Fast: bad option"},
		{alloc.Options{Growth: 3}, alloc.ErrOption,
			"option Growth is 3: want Balanced, Tight or Fast: bad option"},
		{alloc.Options{Apart: true, Check: true}, alloc.ErrOption,
			"option Apart goes with neither Check nor Trace: bad option"},
		{alloc.Options{Limit: -1}, alloc.ErrSize, "option Limit is -1 bytes: bad size"},
		{alloc.Options{Keep: -2}, alloc.ErrSize, "option Keep is -2 bytes: bad size"},
		{alloc.Options{Segment: -3}, alloc.ErrSize, "option Segment is -3 bytes: bad size"},
		{alloc.Options{Quarantine: math.MinInt64}, alloc.ErrSize,
			"option Quarantine is -9223372036854775808 bytes: bad size"},
	} {
		_, err := alloc.NewPool(dev, tt.options)
		require.ErrorIs(t, err, tt.is)
		assert.EqualError(t, err, "alloc: new pool: "+tt.text)
	}
	assert.Zero(t, dev.Used())
}

// The largest values stand for no bound: a pool with them gets as much memory as one without.
func TestLargestOptions(t *testing.T) {
	for _, noMapping := range []bool{true, false} {
		for _, o := range []alloc.Options{
			{Segment: math.MaxInt64},
			{Limit: math.MaxInt64},
			{Keep: math.MaxInt64},
			{Quarantine: math.MaxInt64, Check: true},
		} {
			p := newPool(t, host.Options{Capacity: 64 << 20, Granularity: 64 << 10, NoMapping: noMapping}, o)
			s := newStream(t, p)
			for _, n := range []int{1, 40_000, 3 << 20, 10 << 20, 1 << 20} {
				b := mustMake[byte](t, s, n)
				require.NoError(t, b.Fill(s, 1))
				b.Free()
				require.NoError(t, s.Sync())
			}
			st := sound(t, p)
			assert.Zero(t, st.Trimmed+st.Failed, "%+v: all of it was there at the first try", o)
			require.NoError(t, p.Close())
		}
	}
}
