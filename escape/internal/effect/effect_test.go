package effect

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lastuse/lastuse/escape/spec"
)

const source = `package p

type Mat struct{ p uintptr }

func (m *Mat) Close() error { return nil }
func (m *Mat) Row(o *Mat, keep bool) (*Mat, error) { return m, nil }
func Drop(m *Mat, now bool) {}
func Plain(x int) {}

type Box[T any] struct{ v T }

func (b Box[T]) Free() {}

type Tree []Tree

type Left map[int]Right
type Right []Left
`

func compile(t *testing.T) *types.Package {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", source, parser.SkipObjectResolution)
	require.NoError(t, err)
	conf := types.Config{Importer: importer.Default()}
	pkg, err := conf.Check("p", fset, []*ast.File{f}, nil)
	require.NoError(t, err)
	return pkg
}

func row(t *testing.T, pkg *types.Package) *types.Signature {
	o, _, _ := types.LookupFieldOrMethod(types.NewPointer(pkg.Scope().Lookup("Mat").Type()), true, pkg, "Row")
	return o.(*types.Func).Signature()
}

// texts are summaries of func (*Mat) Row(*Mat, bool) (*Mat, error), from good to bad.
var texts = []string{
	"borrows",
	"recv freed",
	"recv freed repeatable on success",
	"recv freed if arg 1 is true",
	"recv freed maybe",
	"arg 0 escapes on error",
	"recv escapes maybe, recv filled, arg 0 escapes",
	"recv escapes, recv turned, arg 0 escapes",
	"recv retained",
	"result 0 owned",
	"result 0 owned or nil",
	"result 0 owned if arg 1 is false",
	"result 0 owned, result 0 views arg 0",
	"result 0 views recv, result 0 tells recv, result 0 shows arg 0",
	"result 0 owned, result 0 needs recv",
	"result 0 is recv",
	"result 0 is recv maybe",
	"recv freed, arg 0 escapes maybe, result 0 is arg 0",
	"recv.a freed repeatable, recv.b[0].c escapes maybe",
	"recv.a freed, recv.a escapes on error, arg 0.b.c retained",
	"recv freed, recv.a freed, recv.ab borrowed",
	"result 0.a owned, result 0.b owned or nil",
	"recv freed, arg 0 called in turn",
	"arg 0 hands 0, arg 0 hands 2 or nil",
	"result 0 hands 1, result 0 hands 2 or nil",
	"recv.a escapes, recv.a grows, recv.a grows by arg 0, arg 0 escapes",
	"recv given 0 on success, recv given 2, recv.a escapes, arg 0 given 1 on error",
	"arg 0 called once, result 0 owned",
	"result 0 owned with holes",
	"result 0 owned whatever the error",
	"recv borrowed or nil, recv escapes, arg 0 freed or nil",
	"result 0.a owned with holes or nil, result 0.b is recv, result 0.c is arg 0 maybe",
	"unknown",
}

// TestText demands that what is printed is read back as it was.
func TestText(t *testing.T) {
	sig := row(t, compile(t))
	for _, text := range texts {
		s, err := Parse(text, sig)
		require.NoError(t, err, text)
		require.Equal(t, text, s.String())
	}
	for _, bad := range []string{"recv eaten", "arg 7 freed", "recv freed,arg 0"} {
		_, err := Parse(bad, sig)
		require.Error(t, err, bad)
	}
}

// TestJoin demands the laws of a join: the same with itself, in either order and grouped
// in either way, and never better than what went in.
func TestJoin(t *testing.T) {
	sig := row(t, compile(t))
	var all []*Summary
	for _, text := range texts {
		s, err := Parse(text, sig)
		require.NoError(t, err)
		all = append(all, s)
	}
	for _, a := range all {
		require.Equal(t, a.String(), Join(a, a).String())
		for _, b := range all {
			ab := Join(a, b)
			require.Equal(t, ab.String(), Join(b, a).String(), "%s and %s", a, b)
			require.Equal(t, ab.String(), Join(ab, a).String(), "%s and %s: not stable", a, b)
			for i := range ab.Params {
				if !a.Params[i].Borrows() {
					require.False(t, ab.Params[i].Borrows(), "%s and %s: %s", a, b, ab)
				}
			}
			for _, c := range all {
				require.Equal(t, Join(ab, c).String(), Join(a, Join(b, c)).String(), "%s, %s, %s", a, b, c)
			}
		}
	}
	for _, tt := range []struct{ a, b, want string }{
		{"recv freed", "borrows", "recv freed maybe"},
		{"recv freed on success", "recv freed on error", "recv freed maybe"},
		{"recv freed repeatable on success", "borrows", "recv freed repeatable maybe"},
		{"recv retained", "borrows", "recv escapes maybe"},
		{"result 0 owned", "borrows", "result 0 owned maybe"},
		{"result 0 is recv", "borrows", "result 0 is recv maybe"},
		{"unknown", "recv freed", "unknown"},
	} {
		a, err := Parse(tt.a, sig)
		require.NoError(t, err)
		b, err := Parse(tt.b, sig)
		require.NoError(t, err)
		require.Equal(t, tt.want, Join(a, b).String())
	}
}

func TestOfSpec(t *testing.T) {
	sig := row(t, compile(t))
	for _, tt := range []struct{ line, inferred, want string }{
		{"recv borrowed, args borrowed", "recv freed, arg 0 escapes", "borrows"},
		{"* recv borrowed, args borrowed", "recv freed", "recv freed"}, // a glob
		{"* recv borrowed, args borrowed", "recv escapes, result 0 owned",
			"result 0 owned, result 0 needs recv"},
		{"recv freed repeatable", "", "recv freed repeatable, arg 0 escapes, arg 1 escapes"},
		{"recv freed", "arg 0 freed, result 0 owned", "recv freed, arg 0 freed, result 0 owned"},
		{"recv freed", "recv borrowed or nil, recv escapes", "recv freed or nil"},
		{"args borrowed, result 0 owned on success", "", "recv escapes, result 0 owned"},
		{"result 0 views recv", "recv escapes, arg 0 escapes, result 0 owned",
			"arg 0 escapes, result 0 views recv"},
		{"args borrowed, recv borrowed, result 0 views recv, result 0 is arg o", "",
			"result 0 views recv, result 0 is arg 0"},
	} {
		text, glob := strings.CutPrefix(tt.line, "* ")
		cs, err := spec.ParseClauses(token.Position{}, text)
		require.NoError(t, err)
		var inferred *Summary
		if tt.inferred != "" {
			inferred, err = Parse(tt.inferred, sig)
			require.NoError(t, err)
		}
		line := &spec.Line{Clauses: cs}
		if glob {
			line.Name = "p.*"
		}
		require.Equal(t, tt.want, Of(line, sig, inferred).String(), tt.line)
	}
}

func TestFrees(t *testing.T) {
	pkg := compile(t)
	f, err := spec.Parse("x.spec", []byte("p.Drop arg m freed if arg now is true\n(*p.Mat).Close recv freed\n"+
		"(p.Box).Free recv freed repeatable\n"))
	require.NoError(t, err)
	var set spec.Set
	set.Add(f, spec.Module)
	frees := NewFrees(&set, pkg, nil)
	mat := pkg.Scope().Lookup("Mat").Type()
	require.Equal(t, "Close", frees.Of(types.NewPointer(mat)).Func.Name(), "Drop frees on some calls only")
	require.True(t, frees.Resource(mat))
	box := pkg.Scope().Lookup("Box").Type()
	inst, err := types.Instantiate(nil, box, []types.Type{types.Typ[types.Int]}, true)
	require.NoError(t, err)
	require.True(t, frees.Of(inst).Repeatable)
	require.Nil(t, frees.Of(types.Typ[types.Int]))
	mats := types.NewSlice(types.NewPointer(mat))
	require.Equal(t, "Close", frees.Of(mats).Each[0].Func.Name())
	require.True(t, frees.Collects(mats))
	require.True(t, frees.Collects(types.NewMap(types.Typ[types.Int], mat)))
	require.Nil(t, frees.Of(types.NewSlice(mats)), "of slices")
	require.Nil(t, frees.Of(types.NewArray(mat, 2)))
	for _, name := range []string{"Tree", "Left", "Right"} {
		require.Nil(t, frees.Of(pkg.Scope().Lookup(name).Type()), "%s has no end", name)
	}
}
