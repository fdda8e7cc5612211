package alloc_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

func TestAdopt(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	p, err := alloc.NewPool(dev, alloc.Options{Limit: 1 << 20})
	require.NoError(t, err)
	s, u := newStream(t, p), newStream(t, p)
	ptr, err := dev.Alloc(2 << 20)
	require.NoError(t, err)
	released := 0
	b, err := alloc.Adopt[uint16](s, ptr, 1<<20,
		func() { released++; require.NoError(t, dev.Free(ptr, 2<<20)) })
	require.NoError(t, err)
	st := sound(t, p)
	assert.EqualValues(t, 2<<20, st.Live)
	assert.EqualValues(t, 2<<20, st.Reserved)
	u.Wait(s)
	g := block(t, u)
	require.NoError(t, b.Fill(u, 7))
	assert.Equal(t, ptr, b.Ptr(s))
	b.Free()
	b.Free()
	assert.Zero(t, released)
	st = sound(t, p)
	assert.EqualValues(t, 2<<20, st.Pending)
	g.open()
	require.NoError(t, u.Sync())
	require.NoError(t, s.Sync())
	assert.Equal(t, 1, released)
	assert.Zero(t, sound(t, p).Reserved)
	for _, n := range []int{0, -1, math.MaxInt} {
		_, err = alloc.Adopt[uint16](s, ptr, n, nil)
		require.ErrorIs(t, err, alloc.ErrSize)
	}
	require.NoError(t, p.Close())
}
