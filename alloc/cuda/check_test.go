//go:build cgo && linux

package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

// Check mode works through the device's own fills and copies, so it finds what a kernel wrote.
func TestCheckFindsKernel(t *testing.T) {
	one := Dim{X: 1}
	const n = 1 << 16 // elements
	for _, tt := range []struct {
		name string
		at   int64 // element written, from the buffer's start
		free bool  // before the write
		what string
	}{
		{"after free", 12345, true, "write after free"},
		{"behind", n, false, "write behind the buffer"},
		{"before", -1, false, "write before the buffer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := start(t, alloc.Options{Check: true})
			k := e.kernel(t, testPTX, "write")
			b := buffer[uint32](t, e.s, n)
			require.NoError(t, b.Fill(e.s, 1))
			p := uint64(b.Ptr(e.s)) + uint64(4*tt.at)
			if tt.free {
				b.Free()
			}
			require.NoError(t, e.s.Sync())
			require.NoError(t, e.pool.Check(), "nothing is wrong yet")
			require.NoError(t, k.Launch(e.s, one, one, 0, alloc.Scalar(p), alloc.Scalar(uint32(0xabad1dea))))
			b.Free()
			require.NoError(t, e.s.Sync()) // Check looks only at what is known to be written
			err := e.pool.Check()
			var ce *alloc.CorruptionError
			require.ErrorAs(t, err, &ce)
			assert.Equal(t, tt.what, ce.What)
			assert.Equal(t, 4*tt.at, ce.Offset)
			assert.ErrorContains(t, err, "check_test.go", "where it was made and freed")
		})
	}
}

// A clean program is clean.
func TestCheckQuiet(t *testing.T) {
	e := start(t, alloc.Options{Check: true, Quarantine: 1 << 20})
	k := e.kernel(t, testPTX, "axpy")
	for range 100 {
		x, y := buffer[float32](t, e.s, 5000), buffer[float32](t, e.s, 5000)
		require.NoError(t, x.Fill(e.s, 1))
		require.NoError(t, y.Fill(e.s, 2))
		require.NoError(t, k.Launch(e.s, Dim{X: 40}, Dim{X: 128}, 0, y.Arg(), x.Arg(),
			alloc.Scalar(float32(2)), alloc.Scalar(uint32(5000))))
		x.Free()
		y.Free()
	}
	require.NoError(t, e.s.Sync())
	require.NoError(t, e.pool.Check())
	require.NoError(t, e.pool.Close())
}
