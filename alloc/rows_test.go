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

// A tile goes up, across and down again, and nothing beside it is touched; its memory may be freed at once.
func TestCopyRows(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	testRows(t, p)
	t.Run("on a device that waits", func(t *testing.T) {
		dev, err := host.Open(host.Options{})
		require.NoError(t, err)
		q, err := alloc.NewPool(alloctest.NewFaulty(alloctest.NewLate(dev, 1)), alloc.Options{})
		require.NoError(t, err)
		testRows(t, q)
		require.NoError(t, q.Close())
	})
}

func testRows(t *testing.T, p *alloc.Pool) {
	const rows, width, up, left = 5, 7, 2, 3 // a tile of 5 by 7 in images of 10 by 12 and 9 by 20
	s := newStream(t, p)
	from, back := mustPin[int16](t, p, rows*8), mustPin[int16](t, p, rows*9-2)
	a, b := mustMake[int16](t, s, 10*12), mustMake[int16](t, s, 9*20)
	for i := range from.Slice() {
		from.Slice()[i] = int16(i)
	}
	clear(back.Slice())
	require.NoError(t, a.Fill(s, -1))
	require.NoError(t, b.Fill(s, -2))
	require.NoError(t, alloc.Upload2D(s, a.View(up*12+left, 120), 12, from, 8, width, rows))
	from.Free()
	require.NoError(t, alloc.Copy2D(s, b.View(20+1, 180), 20, a.View(up*12+left, 120), 12, width, rows))
	require.NoError(t, alloc.Download2D(s, back, 9, b.View(20+1, 180), 20, width, rows))
	inA, inB := make([]int16, 120), make([]int16, 180)
	require.NoError(t, a.CopyTo(s, inA))
	require.NoError(t, b.CopyTo(s, inB))
	for i, x := range inA {
		y, x0 := i/12-up, i%12-left
		want := int16(-1)
		if y >= 0 && y < rows && x0 >= 0 && x0 < width {
			want = int16(8*y + x0)
		}
		require.Equal(t, want, x, "row %d, column %d", y, x0)
	}
	for i, x := range inB {
		y, x0 := i/20-1, i%20-1
		want := int16(-2)
		if y >= 0 && y < rows && x0 >= 0 && x0 < width {
			want = int16(8*y + x0)
		}
		require.Equal(t, want, x, "row %d, column %d", y, x0)
	}
	for i, x := range back.Slice() {
		want := int16(0)
		if i%9 < width {
			want = int16(8*(i/9) + i%9)
		}
		require.Equal(t, want, x, "element %d", i)
	}
	a.Free()
	b.Free()
	back.Free()
	require.NoError(t, s.Close())
}

func TestCopyRowsBadInput(t *testing.T) {
	p, q := newPool(t, host.Options{}, alloc.Options{}), newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	a, b := mustMake[int32](t, s, 20), mustMake[int32](t, s, 20)
	h := mustPin[int32](t, p, 6)
	defer b.Free()
	defer h.Free()
	for name, tt := range map[string]struct {
		dst, src, width, height int // pitches, extent
		want                    string
	}{
		"dst":      {6, 5, 5, 4, "4 rows of 5 elements, 6 apart, in 20"},
		"src":      {5, 6, 5, 4, "4 rows of 5 elements, 6 apart, in 20"},
		"overlap":  {5, 4, 5, 2, "rows of 5 elements, 4 apart"},
		"row":      {30, 30, 21, 1, "a row of 21 elements in 20"},
		"negative": {5, 5, -1, 2, "2 rows of -1 elements"},
		"height":   {5, 5, 1, -2, "-2 rows of 1 elements"},
		"huge":     {math.MaxInt, 5, 1, 3, "3 rows of 1 elements, 9223372036854775807 apart, in 20"},
		"many":     {1, 1, 1, math.MaxInt, "9223372036854775807 rows of 1 elements, 1 apart, in 20"},
	} {
		err := alloc.Copy2D(s, a, tt.dst, b, tt.src, tt.width, tt.height)
		require.ErrorIs(t, err, alloc.ErrSize, name)
		assert.EqualError(t, err, "alloc: copy of rows: "+tt.want+": bad size", name)
	}
	require.NoError(t, alloc.Copy2D(s, a, 0, b, -3, 20, 1), "a single row has no pitch")
	require.NoError(t, alloc.Copy2D(s, a, 5, b, 5, 5, 4), "all of it")
	require.NoError(t, alloc.Copy2D(s, a, 0, b, 0, 0, 4))
	require.NoError(t, alloc.Copy2D(s, alloc.Buffer[int32]{}, 0, b, 0, 4, 0))
	require.ErrorIs(t, alloc.Upload2D(s, a, 4, h, 4, 4, 2), alloc.ErrSize)
	require.NoError(t, alloc.Upload2D(s, a, 4, h, 4, 2, 2))
	require.ErrorIs(t, alloc.Copy2D(q.DefaultStream(), a, 5, b, 5, 5, 4), alloc.ErrForeign)
	require.ErrorContains(t, alloc.Copy2D(nil, a, 5, b, 5, 5, 4), "no stream")
	a.Free()
	require.ErrorIs(t, alloc.Copy2D(s, b, 5, a, 5, 5, 4), alloc.ErrFreed)
	require.ErrorIs(t, alloc.Download2D(s, h, 2, a, 5, 2, 2), alloc.ErrFreed)
	require.ErrorIs(t, alloc.Copy2D(s, a, 5, b, 5, 0, 4), alloc.ErrFreed, "nothing of it")
	dead := mustPin[int32](t, p, 6)
	dead.Free()
	require.ErrorIs(t, alloc.Upload2D(s, b, 2, dead, 2, 2, 2), alloc.ErrFreed)
	require.NoError(t, s.Sync())
	assert.Zero(t, sound(t, p).Pending)
}

func TestCopyRowsNoAllocation(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	a, b := mustMake[int32](t, s, 20), mustMake[int32](t, s, 20)
	h := mustPin[int32](t, p, 20)
	allocatesNothing(t, func() {
		assert.NoError(t, alloc.Copy2D(s, a, 5, b, 5, 4, 2))
		assert.NoError(t, alloc.Upload2D(s, a, 5, h, 5, 4, 2))
		assert.NoError(t, s.Sync())
	})
	a.Free()
	b.Free()
	h.Free()
}
