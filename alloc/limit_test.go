package alloc_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/alloc"
	"github.com/lastuse/lastuse/alloc/host"
)

// TestOddLimits: a limit or a capacity is in bytes, and most of it must be of use,
// whatever the device's granule is.
func TestOddLimits(t *testing.T) {
	for _, limit := range []int64{100_000, 1 << 20, 3 << 20, 5_000_000, 63 << 20, 100_000_000} {
		for name, open := range map[string]func() (host.Options, alloc.Options){
			"limit":    func() (host.Options, alloc.Options) { return host.Options{}, alloc.Options{Limit: limit} },
			"capacity": func() (host.Options, alloc.Options) { return host.Options{Capacity: limit}, alloc.Options{} },
		} {
			ho, po := open()
			dev, err := host.Open(ho)
			require.NoError(t, err)
			p, err := alloc.NewPool(dev, po)
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
	p, err := alloc.NewPool(dev, alloc.Options{})
	require.NoError(t, err)
	require.EqualError(t, host.Launch(p.DefaultStream(), nil), "host: launch: no function")
	require.NoError(t, p.Close())
}
