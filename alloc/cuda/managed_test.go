//go:build cgo && linux

package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

// Host and device write to the same memory, which is in the books and given back.
func TestManaged(t *testing.T) {
	e := start(t, alloc.Options{})
	m, err := MakeManaged[uint32](e.s, 1000)
	if e.Real() && err != nil {
		require.ErrorIs(t, err, ErrUnavailable)
		t.Skip(err)
	}
	require.NoError(t, err)
	assert.EqualValues(t, 4000, e.pool.Stats().Live)
	k := e.kernel(t, testPTX, "write")
	memory, err := m.Slice(e.s)
	require.NoError(t, err)
	require.Len(t, memory, 1000)
	memory[0], memory[999] = 1, 2
	require.NoError(t, k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0, m.Arg(), alloc.Scalar(uint32(7))))
	memory, err = m.Slice(e.s)
	require.NoError(t, err)
	assert.EqualValues(t, 7, memory[0])
	got := make([]uint32, 1000)
	require.NoError(t, m.CopyTo(e.s, got))
	assert.EqualValues(t, 2, got[999])
	require.NoError(t, m.Fill(e.s, 5))
	m.Free()
	m.Free()
	_, err = m.Slice(e.s)
	require.ErrorIs(t, err, alloc.ErrFreed)
	require.NoError(t, e.s.Sync())
	assert.Zero(t, e.pool.Stats().Live)
	e.pool.Trim(0)
	assert.Zero(t, e.pool.Stats().Pending)
	if e.StandIn != nil {
		assert.Zero(t, e.StandIn.Books().Device[0])
		assert.Zero(t, e.StandIn.Books().BadAccess)
	}

	none, err := MakeManaged[uint32](e.s, 0)
	require.NoError(t, err)
	memory, err = none.Slice(e.s)
	require.NoError(t, err)
	assert.Empty(t, memory)
	none.Free()
}

// What cannot be had is said, and nothing is left.
func TestManagedErrors(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	_, err := MakeManaged[byte](e.s, 2<<30)
	require.ErrorIs(t, err, alloc.ErrOutOfMemory)
	require.ErrorContains(t, err, "cuda: make managed: 2147483648 bytes, the device has ")
	_, err = MakeManaged[byte](e.s, -1)
	require.ErrorIs(t, err, alloc.ErrSize)
	_, err = MakeManaged[[1 << 20]byte](e.s, 1<<50)
	require.ErrorIs(t, err, alloc.ErrSize)
	_, err = MakeManaged[*int](e.s, 1)
	require.ErrorIs(t, err, alloc.ErrType)
	_, err = e.s.Capture(func() error {
		_, err := MakeManaged[byte](e.s, 1)
		return err
	})
	require.ErrorIs(t, err, alloc.ErrCapturing)
	e.StandIn.Fail(t, "cuMemAllocManaged", 0, 1, 2)
	_, err = MakeManaged[byte](e.s, 1)
	require.ErrorIs(t, err, alloc.ErrOutOfMemory)
	e.StandIn.Set(t, "managed", 0)
	_, err = MakeManaged[byte](e.s, 1)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "use Make and copies")
	require.NoError(t, e.pool.Close())
	assert.Zero(t, e.StandIn.Books().Device[0])
}
