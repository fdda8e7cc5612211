package spec

import (
	"go/build"
	"go/importer"
	"go/token"
	"go/types"
	"testing"

	"github.com/stretchr/testify/require"
)

func embeddedFile(t testing.TB, name string) *File {
	t.Helper()
	src, err := sources.ReadFile(name)
	require.NoError(t, err)
	f, err := Parse(name, src)
	require.NoError(t, err)
	return f
}

// TestStd checks the embedded lines against the library of the toolchain that
// runs the test: each names a function, and operands that it has. A glob must
// have at least one function, and each of its clauses must fit one of them.
func TestStd(t *testing.T) {
	f := embeddedFile(t, "std.spec")
	build.Default.CgoEnabled = false // package net without a C compiler
	imp := importer.ForCompiler(token.NewFileSet(), "source", nil)
	load := func(path string) *types.Package {
		pkg, err := imp.Import(path)
		require.NoError(t, err, path)
		return pkg
	}
	require.NoError(t, Check(f, load))

	for _, l := range f.Lines {
		if !l.IsGlob() || l.PackagePath() == "" {
			continue
		}
		set := new(Set)
		set.AddLine(l, Embedded)
		for _, c := range l.Clauses {
			fits := false
			for fn := range Declared(load(l.PackagePath())) {
				if _, ok := set.Lookup(FullName(fn)); ok && len(checkClause(c, fn.Signature())) == 0 {
					fits = true
					break
				}
			}
			require.True(t, fits, "%s:%d: no function fits %q", l.Pos.Filename, l.Pos.Line, c)
		}
	}
}

// TestStdFreesNothing: no type of the standard library is foreign memory, so no
// embedded line may make it a resource.
func TestStdFreesNothing(t *testing.T) {
	f := embeddedFile(t, "std.spec")
	for _, l := range f.Lines {
		for _, c := range l.Clauses {
			require.Contains(t, []Effect{Borrowed, Views, Escapes}, c.Effect, "line %d: %s", l.Pos.Line, l)
		}
	}
}
