package alloc_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// TestOddLimits: a limit or a capacity is in bytes, and most of it must be of use,
// whatever the device's granule is.
func TestOddLimits(t *testing.T) {
	for _, limit := range []int64{100_000, 1 << 20, 3 << 20, 5_000_000, 63 << 20, 100_000_000} {
		for name, open := range map[string]func() (host.Options, alloc.Options){
			"limit": func() (host.Options, alloc.Options) {
				return host.Options{},
					alloc.Options{Limit: limit}
			},
			"capacity": func() (host.Options, alloc.Options) {
				return host.Options{Capacity: limit},
					alloc.Options{}
			},
		} {
			ho, po := open()
			dev, err := host.Open(ho)
			require.NoError(t, err)
			p, err := alloc.NewPool(ordered(t, dev), po)
			require.NoError(t, err)
			s := p.DefaultStream()

			small, err := alloc.Make[byte](s, 100)
			require.NoError(t, err, "%s %d", name, limit)
			small.Free()
			p.Trim(0)
			big, err := alloc.Make[byte](s, int(limit*15/16)&^4095)
			require.NoError(t, err, "%s %d", name, limit)
			_, err = alloc.Make[byte](s, int(limit/8))
			require.True(t, errors.Is(err, alloc.ErrOutOfMemory), "%s %d: %v", name, limit, err)
			require.LessOrEqual(t, p.Stats().Reserved, limit)
			big.Free()
			require.NoError(t, p.Close())
		}
	}
}

func TestLaunchWithoutAFunction(t *testing.T) {
	dev, err := host.Open(host.Options{})
	require.NoError(t, err)
	p, err := alloc.NewPool(ordered(t, dev), alloc.Options{})
	require.NoError(t, err)
	require.EqualError(t, host.Launch(p.DefaultStream(), nil), "host: launch: no function")
	require.NoError(t, p.Close())
}

func TestLimitIsHard(t *testing.T) {
	for _, mapping := range []bool{true, false} {
		p := newPool(t, host.Options{NoMapping: !mapping, Granularity: 64 << 10},
			alloc.Options{Limit: 1 << 20})
		s := newStream(t, p)
		var all []alloc.Buffer[byte]
		for range 16 {
			all = append(all, mustMake[byte](t, s, 64<<10))
		}
		_, err := alloc.Make[byte](s, 1)
		require.ErrorIs(t, err, alloc.ErrOutOfMemory)
		var me *alloc.MemoryError
		require.ErrorAs(t, err, &me)
		assert.EqualValues(t, 1<<20, me.Stats.Live)
		assert.EqualValues(t, 1, p.Stats().Failed)
		t.Log(err)
		for i, b := range all {
			if i%2 == 0 {
				b.Free()
			}
		}
		require.NoError(t, s.Sync())
		st := sound(t, p)
		assert.EqualValues(t, 1<<20, st.Reserved)
		c, err := alloc.Make[byte](s, 512<<10)
		if mapping {
			require.NoError(t, err, "enough whole granules are idle")
			assert.EqualValues(t, 1<<20, sound(t, p).Reserved)
			c.Free()
		} else {
			require.ErrorIs(t, err, alloc.ErrOutOfMemory, "nothing can put eight holes together")
		}
		for _, b := range all {
			b.Free()
		}
		sound(t, p)
		require.NoError(t, p.Close())
	}
}
