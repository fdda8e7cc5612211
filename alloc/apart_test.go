package alloc_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/alloctest"
	"github.com/lastuse/lastuse/alloc/host"
)

// Each buffer is an allocation of the device's: it comes with the Make, and goes when its work has run.
func TestApart(t *testing.T) {
	dev, err := host.Open(host.Options{Capacity: 1 << 20, Granularity: 4 << 10})
	require.NoError(t, err)
	p, err := alloc.NewPool(alloctest.Ordered(t, dev), alloc.Options{Apart: true, Limit: 64 << 10})
	require.NoError(t, err)
	s, err := p.NewStream()
	require.NoError(t, err)
	a, err := alloc.Make[byte](s, 1)
	require.NoError(t, err)
	b, err := alloc.Make[float32](s, 1000)
	require.NoError(t, err)
	assert.EqualValues(t, 512+4096, dev.Used())
	assert.EqualValues(t, dev.Used(), p.Stats().Live)
	require.NoError(t, b.Fill(s, 2))
	got := make([]float32, 1000)
	require.NoError(t, b.CopyTo(s, got))
	assert.EqualValues(t, 2, got[999])
	require.NoError(t, p.Check())

	a.Free()
	b.Free()
	require.ErrorIs(t, b.Fill(s, 1), alloc.ErrFreed)
	require.NoError(t, s.Sync())
	c, err := alloc.Make[byte](s, 64<<10) // the whole limit: what was freed has gone
	require.NoError(t, err)
	assert.EqualValues(t, 64<<10, dev.Used())
	_, err = alloc.Make[byte](s, 1)
	require.ErrorIs(t, err, alloc.ErrOutOfMemory)
	require.ErrorContains(t, err, "reserved 64 KiB of 64 KiB")
	require.NoError(t, c.Fill(s, 1))
	c.Free()
	d, err := alloc.Make[byte](s, 64<<10) // waits for it
	require.NoError(t, err)
	require.NoError(t, p.Check())
	d.Free()
	_, err = alloc.Make[*int](s, 1)
	require.ErrorIs(t, err, alloc.ErrType)
	require.NoError(t, p.Close())
	assert.Zero(t, dev.Used())
	_, err = alloc.Make[byte](s, 1)
	require.ErrorIs(t, err, alloc.ErrClosed)
}

// What is dropped goes back too: a buffer by the pool, a pool by its cleanup. A call of the device that fails
// leaves the books as they were.
func TestApartDropped(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	faulty := alloctest.NewFaulty(dev)
	func() {
		p, err := alloc.NewPool(faulty, alloc.Options{Apart: true})
		require.NoError(t, err)
		s := p.DefaultStream()
		_, err = alloc.Make[byte](s, 100)
		require.NoError(t, err)
		for p.Stats().Live != 0 {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
		faulty.Only("Alloc")
		faulty.FailNth(1)
		_, err = alloc.Make[byte](s, 100)
		require.ErrorContains(t, err, "alloc: make 100 B: ")
		require.NoError(t, p.Check())
		faulty.Heal()
		_, err = alloc.Make[byte](s, 100)
		require.NoError(t, err)
	}()
	for dev.Used() != 0 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}
