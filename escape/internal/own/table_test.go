package own

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTable demands that what is not in the table moves, and that an operand that may be
// several things is moved where these differ.
func TestTable(t *testing.T) {
	for _, rel := range []Relation{Whole, View, Holder, Maybe} {
		require.Equal(t, entry{do: Move}, does(Keep, rel))
		require.Equal(t, entry{do: Move}, does(Leave, rel))
		require.Equal(t, entry{do: Use}, does(Read, rel))
		if rel != Whole {
			require.Equal(t, Move, does(Free, rel).do, "a free of what is %s", rel)
			require.Equal(t, Move, does(Later, rel).do, "a free of what is %s", rel)
		}
	}
	for _, tt := range []struct {
		op   Op
		rel  Relation
		want entry
	}{
		{Free, Whole, entry{do: End}},
		{Free, Whole | View, entry{do: Move}},
		{Later, Whole, entry{do: Pend}},
		{Copy, Whole | Maybe, entry{Derive, Whole | Maybe}},
		{Part, Whole, entry{Derive, View}},
		{Part, Holder | View, entry{Derive, View | Maybe}},
		{Wrap, Whole | View, entry{Derive, Holder | View}},
		{Unwrap, Holder, entry{Derive, Maybe}},
		{Await, Whole | Holder, entry{do: Use}},
	} {
		require.Equal(t, tt.want, does(tt.op, tt.rel), "%d of what is %s", tt.op, tt.rel)
	}
}

// TestJoin demands that a join covers both, that names are those of both where both own,
// and that it says when nothing grew.
func TestJoin(t *testing.T) {
	g := &Group{Sites: []*Site{{}}, Values: nil}
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
