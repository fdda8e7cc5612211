package alloc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
)

// Copies of page-locked memory do not wait; their memory may be freed at once and is not given away before
// they have run.
func TestTransfer(t *testing.T) {
	p := newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	const n = 1000
	b, h, back := mustMake[int32](t, s, n+5), mustPin[int32](t, p, n), mustPin[int32](t, p, n)
	for i := range h.Slice() {
		h.Slice()[i] = int32(i)
	}
	g := block(t, s)
	require.NoError(t, alloc.Upload(s, b.View(5, n+5), h))
	require.NoError(t, alloc.Download(s, back, b.View(5, n+5)))
	h.Free()
	b.Free()
	again := mustPin[int32](t, p, n)
	again.Slice()[0] = -1 // is not h's memory yet
	g.open()
	require.NoError(t, s.Sync())
	for i, x := range back.Slice() {
		require.EqualValues(t, i, x)
	}
	back.Free()
	again.Free()
}

func TestTransferBadInput(t *testing.T) {
	p, q := newPool(t, host.Options{}, alloc.Options{}), newPool(t, host.Options{}, alloc.Options{})
	s := newStream(t, p)
	b, h := mustMake[int32](t, s, 3), mustPin[int32](t, p, 4)
	defer b.Free()
	require.ErrorIs(t, alloc.Upload(s, b, h), alloc.ErrSize)
	require.ErrorIs(t, alloc.Download(s, h, b), alloc.ErrSize)
	small := mustPin[int32](t, q, 2)
	require.ErrorIs(t, alloc.Upload(s, b, small), alloc.ErrForeign)
	require.ErrorIs(t, alloc.Upload(q.DefaultStream(), b, small), alloc.ErrForeign)
	small.Free()
	h.Free()
	require.ErrorIs(t, alloc.Upload(s, mustMake[int32](t, s, 4), h), alloc.ErrFreed)
	require.NoError(t, alloc.Upload(s, b, alloc.Pinned[int32]{}))
	require.NoError(t, alloc.Download(s, alloc.Pinned[int32]{}, alloc.Buffer[int32]{}))
	x := mustPin[int32](t, p, 3)
	defer x.Free()
	dead := mustMake[int32](t, s, 3)
	dead.Free()
	require.ErrorIs(t, alloc.Download(s, x, dead), alloc.ErrFreed)
	assert.Zero(t, sound(t, p).Pending)
}

// A device that cannot copy without waiting is asked to wait.
func TestTransferThatWaits(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	p, err := alloc.NewPool(alloctest.NewLate(dev, 1), alloc.Options{})
	require.NoError(t, err)
	s := p.DefaultStream()
	b, h, back := mustMake[int32](t, s, 3), mustPin[int32](t, p, 3), mustPin[int32](t, p, 3)
	copy(h.Slice(), []int32{1, 2, 3})
	require.NoError(t, alloc.Upload(s, b, h))
	require.NoError(t, alloc.Download(s, back, b))
	require.NoError(t, s.Sync())
	assert.Equal(t, []int32{1, 2, 3}, back.Slice())
	b.Free()
	h.Free()
	back.Free()
	require.NoError(t, p.Close())
}
