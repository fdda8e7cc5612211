package trace

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a C++ program with libstdc++ has drawn: the most that is live, and a hash of the sizes in their order.
func TestRandom(t *testing.T) {
	for _, c := range []struct {
		n, most    int
		peak, hash uint64
	}{
		{1000, 1, 323760572, 12387271034339586058},
		{1000, 64, 16777102043, 17303112829061252296},
		{1000, 256, 16776470325, 12777071063670701348},
		{1000, 1024, 16775773201, 8654917465950858784},
		{10000, 1, 3254545443, 15794202560823422428},
		{10000, 64, 16777214948, 5911687199237894564},
		{10000, 256, 16777171549, 5590519797050472570},
		{10000, 1024, 16777185961, 1481742104227614758},
	} {
		r := Random(c.n, int64(c.most))
		require.Len(t, r.All, 2*c.n)
		require.EqualValues(t, c.peak, r.Peak())
		sizes := make([]uint64, r.Places)
		var hash uint64
		for _, s := range r.All {
			if s.Size >= 0 {
				sizes[s.Place] = uint64(s.Size)
				hash = hash*1099511628211 + uint64(s.Size)
			} else {
				hash = hash*1099511628211 + 3*sizes[s.Place]
			}
		}
		require.Equal(t, c.hash, hash, "n=%d most=%d", c.n, c.most)
	}
}
