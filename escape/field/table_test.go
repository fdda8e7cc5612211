package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/spec"
)

// TestTable: the rows can be read, no two are the same, each half has enough of them, and nothing is said of
// what leaks in those that are set aside.
func TestTable(t *testing.T) {
	got, err := open("all")
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

// TestFresh: the fresh rows are of enough modules, not too many of one, and none stands in the other table.
func TestFresh(t *testing.T) {
	old, err := open("all")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, r := range old.rows {
		seen[r.name()] = true
	}
	got, err := open("fresh")
	require.NoError(t, err)
	defects, right := map[string]int{}, 0
	twice := map[string]bool{}
	for _, r := range got.rows {
		require.False(t, seen[r.name()], "%s stands in defects.txt", r)
		require.False(t, twice[r.String()], "%s stands twice", r)
		twice[r.String()] = true
		require.Empty(t, r.note, "%s", r)
		require.Regexp(t, `^[0-8]$`, r.shape, "%s", r)
		if r.without == "" {
			right++
		} else {
			defects[path(r.has)]++
		}
	}
	all := 0
	for module, n := range defects {
		require.LessOrEqual(t, n, 6, "%s", module)
		all += n
	}
	require.GreaterOrEqual(t, len(defects), 8)
	require.GreaterOrEqual(t, all, 24)
	require.GreaterOrEqual(t, right, all)

	_, err = open("other")
	require.EqualError(t, err, `there is no set "other"`)
}

// TestSpecs: every file of specs that a table names can be read.
func TestSpecs(t *testing.T) {
	for _, set := range []string{"all", "fresh"} {
		got, err := open(set)
		require.NoError(t, err)
		for module, sources := range got.specs {
			for _, s := range sources {
				text, err := os.ReadFile(filepath.Join("..", s.file))
				require.NoError(t, err)
				_, err = spec.Parse(s.file, bytes.ReplaceAll(text, []byte(s.from), []byte(s.to)))
				require.NoError(t, err, "%s", module)
			}
		}
	}
}

func TestParse(t *testing.T) {
	for _, bad := range []string{"row\n", "\tp\tf.go\tF\t1\t\n", "module\n", "module m\ndefects v1\n"} {
		_, err := parse("x.txt", bad)
		require.Error(t, err, "%q", bad)
	}
	got, err := parse("x.txt", "# head\nmodule\tm/v2\ninclude\tc\nspec\ta.spec\tx\ty\ndefects\tv2.0.0\tm/v3@v3.1.0\n\tp\tf.go\tT.F\t1\ttext\tnote\n")
	require.NoError(t, err)
	require.Equal(t, []row{{"m/v2@v2.0.0", "m/v3@v3.1.0", "p", "f.go", "T.F", "1", "text", "note"}}, got.rows)
	require.Equal(t, map[string][]source{"m/v2": {{"a.spec", "x", "y"}}}, got.specs)
	require.Equal(t, map[string]string{"m/v2": "c"}, got.include)
}

// TestExtent: a function is found by its name, with its receiver's.
func TestExtent(t *testing.T) {
	const src = "package p\n\nfunc F() {\n}\n\nfunc (t *T[K]) M() {\n\tprintln()\n}\n"
	for fn, want := range map[string][2]int{"F": {3, 4}, "T.M": {6, 8}, "M": {}} {
		first, last := extent([]byte(src), fn)
		require.Equal(t, want, [2]int{first, last}, fn)
	}
}

// TestCopy: a copy can be changed, has a go.mod, and is left as it is the next time.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	from, to, mod := filepath.Join(dir, "from"), filepath.Join(dir, "to"), filepath.Join(dir, "a.mod")
	require.NoError(t, os.Mkdir(from, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "a.go"), []byte("package a\n"), 0o444))
	require.NoError(t, os.WriteFile(mod, []byte("module m\n"), 0o644))
	require.NoError(t, copyModule(to, from, mod))
	require.NoError(t, os.WriteFile(filepath.Join(to, "a.go"), []byte("package b\n"), 0o644))
	require.NoError(t, copyModule(to, from, mod))
	for name, want := range map[string]string{"a.go": "package b\n", "go.mod": "module m\n"} {
		got, err := os.ReadFile(filepath.Join(to, name))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
}

// TestAbout: of a package that is not analyzed nothing is known, and of others what is said of the function.
func TestAbout(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f.go"), []byte("package p\n\nfunc F() {\n\ta()\n}\n"), 0o644))
	a := &analyzed{dir: dir, found: []finding{{"f.go", 4, "leak", "x"}, {"f.go", 9, "leak", "x"}}}
	r := row{has: "m@v1", without: "m/v2@v2.0.0", pkg: ".", file: "f.go", fn: "F"}
	said, why := a.about(r)
	require.Equal(t, []string{"f.go:4: leak: x"}, said)
	require.Empty(t, why)
	for _, pkg := range []string{"m", "m/v2"} {
		a.left = "lastuse: " + pkg + " is not analyzed: it does not type-check\n"
		_, why = a.about(r)
		require.Equal(t, pkg+" is not analyzed: it does not type-check", why)
	}
	a.left = "lastuse: m/p is not analyzed: it does not type-check\n"
	_, why = a.about(r)
	require.Empty(t, why)
}
