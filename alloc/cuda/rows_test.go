//go:build cgo && linux

package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

// A tile of an image goes up, across and down again in one call of the driver each, and nothing beside it is
// touched.
func TestCopyRows(t *testing.T) {
	e := start(t, alloc.Options{})
	const rows, width, pitch = 300, 1000, 1024
	up, err := alloc.MakePinned[float32](e.pool, rows*width)
	require.NoError(t, err)
	down, err := alloc.MakePinned[float32](e.pool, rows*(width+1))
	require.NoError(t, err)
	for i := range up.Slice() {
		up.Slice()[i] = float32(i)
	}
	clear(down.Slice())
	a, b := buffer[float32](t, e.s, rows*pitch), buffer[float32](t, e.s, 2*rows*pitch)
	require.NoError(t, a.Fill(e.s, -1))
	require.NoError(t, b.Fill(e.s, -2))
	require.NoError(t, alloc.Upload2D(e.s, a, pitch, up, width, width, rows))
	require.NoError(t, alloc.Copy2D(e.s, b.View(5, b.Len()), 2*pitch, a, pitch, width, rows))
	require.NoError(t, alloc.Download2D(e.s, down, width+1, b.View(5, b.Len()), 2*pitch, width, rows))
	beside := make([]float32, 2*pitch)
	require.NoError(t, b.View(0, 2*pitch).CopyTo(e.s, beside))
	require.NoError(t, e.s.Sync())
	for i, x := range down.Slice() {
		want := float32(i/(width+1)*width + i%(width+1))
		if i%(width+1) == width {
			want = 0
		}
		require.Equal(t, want, x, "element %d", i)
	}
	for i, x := range beside {
		if i < 5 || i >= 5+width {
			require.EqualValues(t, -2, x, "element %d", i)
		}
	}
	if e.StandIn != nil {
		assert.EqualValues(t, 3, e.StandIn.Calls(t, "cuMemcpy2DAsync_v2"))
		assert.Zero(t, e.StandIn.Books().Pageable)
	}
	noGoMemory(t, 20, func() {
		if alloc.Copy2D(e.s, b, 2*pitch, a, pitch, width, rows) != nil {
			t.Error("copy")
		}
	})
	for _, free := range []func(){up.Free, down.Free, a.Free, b.Free} {
		free()
	}
	require.NoError(t, e.pool.Close())
}
