package pointsto

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTable demands that what is not in the table moves, and that an operand that may be
// several things is moved where these differ.
func TestTable(t *testing.T) {
	for _, rel := range []Relation{Whole, View, Holder, Maybe} {
		require.Equal(t, Entry{Do: Move}, Does(Keep, rel))
		require.Equal(t, Entry{Do: Move}, Does(Leave, rel))
		require.Equal(t, Entry{Do: Use}, Does(Read, rel))
		if rel != Whole {
			require.Equal(t, Move, Does(Free, rel).Do, "a free of what is %s", rel)
			require.Equal(t, Move, Does(Later, rel).Do, "a free of what is %s", rel)
		}
	}
	for _, tt := range []struct {
		op   Op
		rel  Relation
		want Entry
	}{
		{Free, Whole, Entry{Do: End}},
		{Free, Whole | View, Entry{Do: Move}},
		{Later, Whole, Entry{Do: Pend}},
		{Copy, Whole | Maybe, Entry{Derive, Whole | Maybe}},
		{Part, Whole, Entry{Derive, View}},
		{Part, Holder | View, Entry{Derive, View | Maybe}},
		{Wrap, Whole | View, Entry{Derive, Holder | View}},
		{Unwrap, Holder, Entry{Derive, Maybe}},
		{Depend, Whole, Entry{Derive, Dependent}},
		{Free, Dependent, Entry{Do: Use}},
		{Free, Dependent | View, Entry{Do: Move}},
		{Later, Dependent, Entry{Derive, View}},
		{Part, Dependent, Entry{Derive, View}},
		{Leave, Dependent, Entry{Do: Move}},
		{Await, Whole | Holder, Entry{Derive, View | Holder}},
	} {
		require.Equal(t, tt.want, Does(tt.op, tt.rel), "%d of what is %s", tt.op, tt.rel)
	}
}
