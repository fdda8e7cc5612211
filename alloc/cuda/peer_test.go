//go:build cgo && linux

package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
)

// Two devices: a pool each, kernels on each, copies between them in the order of both streams.
func TestPeers(t *testing.T) {
	d := choose(t)
	all, err := devices(d.Path)
	require.NoError(t, err)
	if len(all) < 2 {
		t.Skip("one device only")
	}
	a := startOn(t, d, alloc.Options{})
	b := startWith(t, d, 1, Options{}, alloc.Options{})

	x, y := buffer[uint32](t, a.s, 1000), buffer[uint32](t, b.s, 1000)
	require.NoError(t, x.Fill(a.s, 42))
	require.NoError(t, CopyPeer[uint32](b.s, y, a.s, x))
	require.NoError(t, x.Fill(a.s, 0), "after the copy")
	x.Free()
	got := make([]uint32, 1000)
	require.NoError(t, y.CopyTo(b.s, got))
	assert.EqualValues(t, 42, got[999])
	assert.ErrorIs(t, CopyPeer[uint32](b.s, y.View(0, 10), a.s, buffer[uint32](t, a.s, 3)), alloc.ErrSize)

	// A kernel of one device on the other's stream is refused; reaching its memory is allowed after
	// EnablePeer.
	k := a.kernel(t, testPTX, "axpy")
	assert.ErrorIs(t, k.Launch(b.s, Dim{X: 1}, Dim{X: 1}, 0, y.Arg(), y.Arg(), alloc.Scalar(float32(1)),
		alloc.Scalar(uint32(0))), alloc.ErrForeign)
	can, err := a.dev.CanAccessPeer(b.dev)
	require.NoError(t, err)
	if err := a.dev.EnablePeer(b.dev); !can {
		assert.ErrorIs(t, err, ErrUnavailable)
		t.Log(err)
	} else {
		require.NoError(t, err)
		require.NoError(t, a.dev.EnablePeer(b.dev), "again")
		mine := buffer[uint32](t, b.s, 1<<22) // a segment mapped afterwards
		require.NoError(t, mine.Fill(b.s, 0))
		p := mine.Ptr(b.s)
		require.NoError(t, b.s.Sync())
		w := a.kernel(t, testPTX, "write")
		require.NoError(t,
			w.Launch(a.s, Dim{X: 1}, Dim{X: 1}, 0, alloc.Scalar(uint64(p)), alloc.Scalar(uint32(77))))
		require.NoError(t, a.s.Sync())
		require.NoError(t, mine.CopyTo(b.s, got))
		assert.EqualValues(t, 77, got[0])
		mine.Free()
	}
	y.Free()
	require.NoError(t, b.pool.Close())
	if d.StandIn != nil {
		assert.Zero(t, d.StandIn.Books().BadAccess)
	}
}

// Where devices do not reach each other EnablePeer says so, and CopyPeer works all the same.
func TestNoPeers(t *testing.T) {
	a := startStandIn(t, alloc.Options{}, "peers", 0)
	b := startWith(t, a.Driver, 1, Options{}, alloc.Options{})
	can, err := a.dev.CanAccessPeer(b.dev)
	require.NoError(t, err)
	assert.False(t, can)
	can, err = a.dev.CanAccessPeer(a.dev)
	require.NoError(t, err)
	assert.True(t, can)
	err = a.dev.EnablePeer(b.dev)
	require.ErrorIs(t, err, ErrUnavailable)
	require.EqualError(t, err,
		"cuda: enable peer: device 0 cannot reach device 1: use CopyPeer: cuda is not available")
	require.NoError(t, a.dev.EnablePeer(a.dev))
	x, y := buffer[uint32](t, a.s, 10), buffer[uint32](t, b.s, 10)
	require.NoError(t, x.Fill(a.s, 42))
	require.NoError(t, CopyPeer[uint32](b.s, y, a.s, x))
	x.Free()
	got := make([]uint32, 10)
	require.NoError(t, y.CopyTo(b.s, got))
	assert.EqualValues(t, 42, got[9])
	y.Free()
	a.StandIn.Fail(t, "cuDeviceCanAccessPeer", 0, 2, 1)
	_, err = a.dev.CanAccessPeer(b.dev)
	require.Error(t, err)
	require.Error(t, a.dev.EnablePeer(b.dev))
}
