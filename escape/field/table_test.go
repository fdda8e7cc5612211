package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTable: the rows can be read, no two are the same, each half has enough of them, and nothing is said of
// what leaks in those that are set aside.
func TestTable(t *testing.T) {
	got, err := parse(table)
	require.NoError(t, err)
	seen := map[string]bool{}
	defects, right := map[bool]int{}, map[bool]int{}
	for _, r := range got.rows {
		require.False(t, seen[r.String()], "%s stands twice", r)
		seen[r.String()] = true
		if r.without == "" {
			right[r.aside()]++
		} else {
			defects[r.aside()]++
		}
		require.False(t, r.aside() && r.note != "", "%s is set aside, and has a note", r)
		require.Regexp(t, `^[0-8]$`, r.shape, "%s", r)
	}
	for _, aside := range []bool{false, true} {
		require.GreaterOrEqual(t, defects[aside], 30)
		require.GreaterOrEqual(t, right[aside], 25)
	}
}

func TestParse(t *testing.T) {
	for _, bad := range []string{"row\n", "\tp\tf.go\tF\t1\t\n", "module\n", "module m\ndefects v1\n"} {
		_, err := parse(bad)
		require.Error(t, err, "%q", bad)
	}
	got, err := parse("# head\nmodule\tm/v2\nspec\ta.spec\tx\ty\ndefects\tv2.0.0\tm/v3@v3.1.0\n\tp\tf.go\tT.F\t1\ttext\tnote\n")
	require.NoError(t, err)
	require.Equal(t, []row{{"m/v2@v2.0.0", "m/v3@v3.1.0", "p", "f.go", "T.F", "1", "text", "note"}}, got.rows)
	require.Equal(t, map[string][]source{"m/v2": {{"a.spec", "x", "y"}}}, got.specs)
}

// TestExtent: a function is found by its name, with its receiver's.
func TestExtent(t *testing.T) {
	const src = "package p\n\nfunc F() {\n}\n\nfunc (t *T[K]) M() {\n\tprintln()\n}\n"
	for fn, want := range map[string][2]int{"F": {3, 4}, "T.M": {6, 8}, "M": {}} {
		first, last := extent([]byte(src), fn)
		require.Equal(t, want, [2]int{first, last}, fn)
	}
}
