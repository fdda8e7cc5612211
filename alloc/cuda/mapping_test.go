//go:build cgo && linux

package cuda

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/internal/cudadrv/drvtest"
)

// mapEach maps extents side by side from p on.
func mapEach(t *testing.T, dev *Device, p alloc.Ptr, sizes ...int64) {
	t.Helper()
	for _, n := range sizes {
		require.NoError(t, dev.Map(p, n))
		p += alloc.Ptr(n)
	}
}

// One Map is one handle, whatever its size: as many calls of the driver for 1 GiB as for a granule, and no Go
// memory.
func TestMapIsOneHandle(t *testing.T) {
	e := startStandIn(t, alloc.Options{}, "memory", 8<<30)
	g := e.dev.Granularity()
	p, err := e.dev.Reserve(1 << 30)
	require.NoError(t, err)
	for _, n := range []int64{g, 1 << 30} {
		require.NoError(t, e.dev.Map(p, n))
		require.NoError(t, e.dev.Unmap(p, n))
		before := e.StandIn.Books()
		require.NoError(t, e.dev.Map(p, n))
		after := e.StandIn.Books()
		assert.Equal(t, before.Handles+1, after.Handles)
		assert.LessOrEqual(t, after.Calls-before.Calls, int64(5),
			"create, map, access, and the mode of captures around one")
		require.NoError(t, e.dev.Unmap(p, n))
	}
	noGoMemory(t, 20, func() {
		if e.dev.Map(p, g) != nil || e.dev.Move(p+alloc.Ptr(g), p, g) != nil ||
			e.dev.Unmap(p+alloc.Ptr(g), g) != nil {
			t.Error("failed")
		}
	})
	require.NoError(t, e.dev.Unreserve(p, 1<<30))
}

// A mapping that fails half way leaves nothing behind, whichever call fails.
func TestMapRollsBack(t *testing.T) {
	for _, f := range []string{"cuMemCreate", "cuMemMap", "cuMemSetAccess"} {
		t.Run(f, func(t *testing.T) {
			d := drvtest.OpenStandIn(t, drvtest.Options{})
			dev, err := open(d.Path, 0, Options{})
			require.NoError(t, err)
			defer dev.Close()
			g := dev.Granularity()
			p, err := dev.Reserve(8 * g)
			require.NoError(t, err)
			require.NoError(t, dev.Map(p, g))
			d.StandIn.Fail(t, f, 0, 1, 2)
			err = dev.Map(p+alloc.Ptr(g), 2*g)
			require.ErrorIs(t, err, alloc.ErrOutOfMemory)
			b := d.StandIn.Books()
			assert.Equal(t, g, b.Handle[0])
			assert.Equal(t, g, b.Mapped)
			mapEach(t, dev, p+alloc.Ptr(g), g, 2*g, g) // the range is as before

			if f != "cuMemCreate" {
				d.StandIn.Fail(t, f, map[bool]int{true: 1}[f == "cuMemMap"], 1, 2) // the second extent
				require.ErrorIs(t, dev.Move(p+alloc.Ptr(5*g), p+alloc.Ptr(g), 3*g), alloc.ErrOutOfMemory)
				assert.Equal(t, 5*g, d.StandIn.Books().Mapped)
			}
			require.NoError(t, dev.Move(p+alloc.Ptr(5*g), p+alloc.Ptr(g), 3*g))
			assert.Error(t, dev.Unmap(p, 5*g), "there is a hole")
			assert.Error(t, dev.Map(p, g), "mapped already")
			assert.Error(t, dev.Map(p+alloc.Ptr(7*g), 2*g), "beyond the range")
			assert.Error(t, dev.Unmap(p+alloc.Ptr(6*g), g), "part of an extent")
			assert.Error(t, dev.Move(p+alloc.Ptr(g), p+alloc.Ptr(7*g), g), "part of an extent")
			assert.Error(t, dev.Map(p+1, g), "not a granule")
			require.NoError(t, dev.Unmap(p, g))
			require.NoError(t, dev.Unmap(p+alloc.Ptr(4*g), g))
			assert.Error(t, dev.Unreserve(p, 8*g), "part of it is mapped")
			require.NoError(t, dev.Unmap(p+alloc.Ptr(5*g), 3*g))
			require.NoError(t, dev.Unreserve(p, 8*g))
			b = d.StandIn.Books()
			assert.Zero(t, b.Handle[0])
			assert.Zero(t, b.Mapped)
			assert.Zero(t, b.Reserved)
		})
	}
}

// A Move whose undoing fails too says that the memory is gone, and it is: nothing is mapped, nothing is held,
// and the addresses can be used again.
func TestMoveFailsTwice(t *testing.T) {
	for _, f := range []string{"cuMemMap", "cuMemSetAccess"} {
		t.Run(f, func(t *testing.T) {
			d := drvtest.OpenStandIn(t, drvtest.Options{})
			dev, err := open(d.Path, 0, Options{})
			require.NoError(t, err)
			defer dev.Close()
			g := dev.Granularity()
			p, err := dev.Reserve(8 * g)
			require.NoError(t, err)
			mapEach(t, dev, p, g, g, g)
			d.StandIn.Fail(t, f, 0, 2, 2)
			err = dev.Move(p+alloc.Ptr(4*g), p+alloc.Ptr(g), 2*g)
			require.ErrorIs(t, err, alloc.ErrUnmapped)
			require.ErrorIs(t, err, alloc.ErrOutOfMemory, "the cause")
			b := d.StandIn.Books()
			assert.Equal(t, g, b.Handle[0])
			assert.Equal(t, g, b.Mapped)
			assert.Error(t, dev.Unmap(p+alloc.Ptr(g), 2*g), "not mapped")
			assert.Error(t, dev.Unmap(p+alloc.Ptr(4*g), 2*g), "not mapped")
			require.NoError(t, dev.Map(p+alloc.Ptr(g), 2*g))
			require.NoError(t, dev.Move(p+alloc.Ptr(4*g), p+alloc.Ptr(g), 2*g))
			require.NoError(t, dev.Unmap(p+alloc.Ptr(4*g), 2*g))
			require.NoError(t, dev.Unmap(p, g))
			require.NoError(t, dev.Unreserve(p, 8*g))
		})
	}
}

// Addresses that the driver does not unmap when a mapping is undone are unmapped before they are used again.
func TestUndoingFails(t *testing.T) {
	d := drvtest.OpenStandIn(t, drvtest.Options{})
	dev, err := open(d.Path, 0, Options{})
	require.NoError(t, err)
	defer dev.Close()
	g := dev.Granularity()
	p, err := dev.Reserve(8 * g)
	require.NoError(t, err)
	fail := func(f string, skip, times int) { d.StandIn.Fail(t, f, skip, times, 2) }

	fail("cuMemSetAccess", 0, 1)
	fail("cuMemUnmap", 0, 2)
	require.Error(t, dev.Map(p, 2*g))
	assert.Equal(t, 2*g, d.StandIn.Books().Mapped, "the driver keeps it")
	require.ErrorIs(t, dev.Map(p+alloc.Ptr(g), g), alloc.ErrOutOfMemory, "and still does")
	require.NoError(t, dev.Map(p+alloc.Ptr(g), g))
	assert.Equal(t, g, d.StandIn.Books().Mapped)

	fail("cuMemSetAccess", 0, 1)
	fail("cuMemUnmap", 1, 1)
	err = dev.Move(p+alloc.Ptr(4*g), p+alloc.Ptr(g), g)
	require.ErrorIs(t, err, alloc.ErrOutOfMemory)
	require.NotErrorIs(t, err, alloc.ErrUnmapped, "it is back where it was")
	require.NoError(t, dev.Move(p+alloc.Ptr(5*g), p+alloc.Ptr(g), g))
	require.NoError(t, dev.Unmap(p+alloc.Ptr(5*g), g))
	require.NoError(t, dev.Unreserve(p, 8*g))
	b := d.StandIn.Books()
	assert.Zero(t, b.Mapped)
	assert.Zero(t, b.Handle[0])
	assert.Zero(t, b.Reserved)
}

// A stream that needs little gets it from what another stream mapped and has not used, although that stream's
// own work has not run: nothing is mapped for it.
func TestColdStreamsBorrow(t *testing.T) {
	e := startStandIn(t, alloc.Options{})
	k := e.kernel(t, testPTX, "empty")
	e.StandIn.Hold(true)
	defer e.StandIn.Hold(false)
	var mapped int64
	for i := range 4 {
		s, err := e.pool.NewStream()
		require.NoError(t, err)
		b := buffer[byte](t, s, 8)
		require.NoError(t, k.Launch(s, Dim{X: 1}, Dim{X: 1}, 0))
		b.Free()
		if i == 0 {
			mapped = e.StandIn.Calls(t, "cuMemMap")
			require.Positive(t, mapped)
		}
	}
	assert.Equal(t, mapped, e.StandIn.Calls(t, "cuMemMap"))
	assert.Zero(t, e.StandIn.Calls(t, "cuMemUnmap"), "moved")
}

// Large blocks that lie idle side by side serve a larger one: nothing is mapped. At the end of what is mapped
// only the difference is.
func TestGrowsInPlace(t *testing.T) {
	e := startStandIn(t, alloc.Options{}, "memory", 8<<30)
	g := int(e.dev.Granularity())
	a := buffer[byte](t, e.s, 30*g)
	b := buffer[byte](t, e.s, 30*g)
	a.Free()
	b.Free()
	require.NoError(t, e.s.Sync())
	before := e.StandIn.Calls(t, "cuMemMap")
	c := buffer[byte](t, e.s, 55*g)
	assert.Equal(t, before, e.StandIn.Calls(t, "cuMemMap"))
	c.Free()
	reserved := e.pool.Stats().Reserved
	d := buffer[byte](t, e.s, 90*g)
	assert.LessOrEqual(t, e.pool.Stats().Reserved-reserved, int64(30*g+5*g),
		"a little to spare is mapped too")
	d.Free()
	require.NoError(t, e.pool.Check())
}

// Large buffers of random sizes come and go on two streams under a limit, so that granules are moved, idle
// blocks grow in place and ranges fill up. The pool's books stay consistent, and both ends of every buffer
// keep what was written there.
func TestLargeComeAndGo(t *testing.T) {
	e := startStandIn(t, alloc.Options{}, "memory", 512<<20)
	g := e.dev.Granularity()
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 5))
		pool, err := alloc.NewPool(e.dev, alloc.Options{Limit: 40 * g})
		require.NoError(t, err)
		var streams [2]*alloc.Stream
		for i := range streams {
			streams[i], err = pool.NewStream()
			require.NoError(t, err)
		}
		type kept struct {
			alloc.Buffer[byte]
			s   *alloc.Stream
			tag byte
		}
		const ends = 512
		var all []kept
		drop := func(i int) {
			b := all[i]
			for _, v := range []alloc.View[byte]{b.View(0, ends), b.View(b.Len()-ends, b.Len())} {
				got := make([]byte, ends)
				require.NoError(t, v.CopyTo(b.s, got))
				require.Equal(t, bytes.Repeat([]byte{b.tag}, ends), got)
			}
			b.Free()
			all[i] = all[len(all)-1]
			all = all[:len(all)-1]
		}
		refused := 0
		for step := range 300 {
			if n := len(all); n > 0 && rng.IntN(5) < 2 {
				drop(rng.IntN(n))
			} else {
				s := streams[rng.IntN(2)]
				size := ends + rng.Int64N(12*g)
				if rng.IntN(3) == 0 {
					size = ends + rng.Int64N(g/4)
				}
				x, err := alloc.Make[byte](s, int(size))
				if err != nil {
					var me *alloc.MemoryError
					require.ErrorAs(t, err, &me)
					require.Greater(t, me.Stats.Live+me.Requested+2*g*int64(len(all)), 40*g,
						"a buffer spoils the granules at its ends, no more")
					refused++
					require.NotEmpty(t, all)
					drop(0)
					continue
				}
				b := kept{x, s, byte(step)}
				require.NoError(t, x.View(0, ends).Fill(s, b.tag))
				require.NoError(t, x.View(x.Len()-ends, x.Len()).Fill(s, b.tag))
				all = append(all, b)
			}
			if rng.IntN(40) == 0 {
				pool.Trim(rng.Int64N(20 * g))
			}
			require.NoError(t, pool.Check())
		}
		for len(all) > 0 {
			drop(0)
		}
		require.NoError(t, pool.Close())
		t.Logf("seed %d: %d refused", seed, refused)
	}
	assert.Positive(t, e.StandIn.Calls(t, "cuMemUnmap"), "something was moved")
	assert.Zero(t, e.StandIn.Books().BadAccess)
}
