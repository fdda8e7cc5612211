//go:build cgo && linux

package cuda

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

func TestDevices(t *testing.T) {
	d := choose(t)
	all, err := devices(d.Path)
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for i, info := range all {
		t.Logf("%+v", info)
		assert.Equal(t, i, info.Ordinal)
		assert.NotEmpty(t, info.Name)
		assert.Positive(t, info.Memory)
		assert.Equal(t, 32, info.Limits.Warp)
		assert.Positive(t, info.Limits.Multiprocessors)
		assert.GreaterOrEqual(t, info.Limits.BlockDim.X, 512)
	}
	dev, err := open(d.Path, 0, Options{})
	require.NoError(t, err)
	defer dev.Close()
	assert.Contains(t, dev.Name(), "cuda:0 "+all[0].Name)
	free, total, err := dev.MemInfo()
	require.NoError(t, err)
	assert.LessOrEqual(t, free, total)
	assert.Positive(t, free)
	assert.Positive(t, dev.Granularity())

	_, err = open(d.Path, len(all), Options{})
	assert.ErrorIs(t, err, ErrUnavailable)
	assert.ErrorContains(t, err, fmt.Sprintf("cuda: open: device %d of %d", len(all), len(all)))
	_, err = open(d.Path, 0, Options{Granule: 3 << 20})
	assert.ErrorIs(t, err, alloc.ErrSize)
}

func TestOpenErrors(t *testing.T) {
	none := drvtest.OpenStandIn(t, drvtest.Options{}, "devices", 0)
	old := drvtest.OpenStandIn(t, drvtest.Options{}, "version", 11040)
	good := drvtest.OpenStandIn(t, drvtest.Options{})
	for _, tt := range []struct {
		name, path string
		ordinal    int
		want       string
	}{
		{"no driver", t.TempDir() + "/libcuda.so.1", 0, "cannot open shared object file"},
		{"no device", none.Path, 0, "CUDA_ERROR_NO_DEVICE (100)"},
		{"too old", old.Path, 0, "driver 11.4 is older than 12.0"},
		{"ordinal", good.Path, 2, "cuda: open: device 2 of 2"},
		{"negative", good.Path, -1, "cuda: open: device -1 of 2"},
	} {
		_, err := open(tt.path, tt.ordinal, Options{})
		require.ErrorIs(t, err, ErrUnavailable, tt.name)
		assert.ErrorContains(t, err, tt.want, tt.name)
	}
}

// Everything a device was asked for is given back.
func TestCloseGivesBack(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	b := buffer[byte](t, e.s, 10<<20)
	require.NoError(t, b.CopyFrom(e.s, make([]byte, 10<<20)))
	b.Free()
	err := e.dev.Close()
	require.ErrorIs(t, err, alloc.ErrLive)
	require.ErrorContains(t, err, "cuda: close: a pool has streams or memory of "+e.dev.Name()+": Close it before: ")
	require.NoError(t, e.pool.Close())
	require.NoError(t, e.dev.Close())
	require.NoError(t, e.dev.Close(), "again")
	for _, err := range []error{e.dev.Do(func() error { return nil }), second(alloc.NewPool(e.dev, alloc.Options{}))} {
		require.ErrorIs(t, err, alloc.ErrClosed)
		require.ErrorContains(t, err, "cuda: device 0 closed: use it before its Close, or Open it anew")
	}
	k := e.StandIn.Books()
	assert.Zero(t, k.Device[0])
	assert.Zero(t, k.Handle[0])
	assert.Zero(t, k.Mapped)
	assert.Zero(t, k.Reserved)
	assert.Zero(t, k.Pinned)
	assert.Zero(t, k.Streams)
	assert.Zero(t, k.Events)
	assert.Zero(t, k.Retains)
	assert.Zero(t, k.BadAccess)
	assert.Zero(t, k.Pageable)
}

func mustPin[T any](tb testing.TB, p *alloc.Pool, n int) alloc.Pinned[T] {
	h, err := alloc.MakePinned[T](p, n)
	require.NoError(tb, err)
	tb.Cleanup(h.Free)
	return h
}

// Make and Free on a warm pool call no driver.
func TestWarmCallsNoDriver(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	k := e.kernel(t, testPTX, "empty")
	b := buffer[byte](t, e.s, 1<<20)
	require.NoError(t, k.Launch(e.s, Dim{X: 1}, Dim{X: 1}, 0))
	b.Free()
	before := e.StandIn.Books().Calls
	for range 100 {
		b := buffer[byte](t, e.s, 1<<20)
		b.Free()
	}
	assert.Equal(t, before, e.StandIn.Books().Calls)
}

// The plain face of the device gets its segments from the driver's ordinary allocator.
func TestPlain(t *testing.T) {
	d := drvtest.OpenStandIn(t, drvtest.Options{})
	dev, err := open(d.Path, 0, Options{})
	require.NoError(t, err)
	defer dev.Close()
	_, mapper := alloc.Device(dev.Plain()).(alloc.Mapper)
	assert.False(t, mapper)
	pool, err := alloc.NewPool(dev.Plain(), alloc.Options{})
	require.NoError(t, err)
	s, err := pool.NewStream()
	require.NoError(t, err)
	b := buffer[byte](t, s, 1<<20)
	assert.Positive(t, d.StandIn.Books().Device[0])
	assert.Zero(t, d.StandIn.Books().Handle[0])
	m, err := LoadModule(pool, []byte(testPTX))
	require.NoError(t, err)
	require.NoError(t, m.Unload())
	b.Free()
	require.NoError(t, pool.Close())
	assert.Zero(t, d.StandIn.Books().Device[0])
}

func second[T any](_ T, err error) error { return err }
