package own

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// TestJoin demands that a join covers both, that names are those of both where both own,
// and that it says when nothing grew.
func TestJoin(t *testing.T) {
	g := &Group{Group: &pointsto.Group{Sites: []*pointsto.Site{{}}}}
	g.Values = append(g.Values, nil, nil)
	with := func(st Status, names ...int) *combo {
		c := g.newCombo()
		c.st[0] = st
		for _, n := range names {
			c.must[0].Add(n)
		}
		return c
	}
	for _, tt := range []struct {
		a, b  *combo
		st    Status
		names []int
		grown bool
	}{
		{with(Owned, 0, 1), with(Owned, 1), Owned, []int{1}, true},
		{with(Owned, 1), with(Owned, 0, 1), Owned, []int{1}, false},
		{with(Absent), with(Owned, 0), Absent | Owned, []int{0}, true},
		{with(Owned, 0), with(Passed), Owned | Passed, []int{0}, true},
		{with(Owned|Passed, 0), with(Passed), Owned | Passed, []int{0}, false},
		{with(Owned, 0), with(Owned, 1), Owned, nil, true},
	} {
		require.Equal(t, tt.grown, tt.a.join(tt.b))
		require.Equal(t, tt.st, tt.a.st[0])
		for n := range 2 {
			want := false
			for _, w := range tt.names {
				want = want || w == n
			}
			require.Equal(t, want, tt.a.must[0].Has(n))
		}
		require.False(t, tt.a.join(tt.b), "once more")
	}
}
