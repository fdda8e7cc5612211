package spec

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// compile type-checks one file as package path.
func compile(t *testing.T, path, src string) (*token.FileSet, *ast.File, *types.Package, *types.Info) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", src, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	pkg, err := conf.Check(path, fset, []*ast.File{file}, info)
	require.NoError(t, err)
	return fset, file, pkg, info
}

const library = `package cv

import "io"

type Mat struct{ p uintptr }
type Box[T any] struct{ v T }
type Alias = Mat
type Releaser interface{ io.Closer; Release(n int) }

func NewMat() (Mat, error) { return Mat{}, nil }
func (m *Mat) Close() error { return nil }
func (m Mat) Region(x, y int) Mat { return m }
func (m *Alias) Row(i int) *Mat { return m }
func (b *Box[T]) Free() {}
func (b Box[T]) Get() T { return b.v }
func Map[T any](b *Box[T], f func(T)) {}
func Drop(m *Mat, del bool) {}
var Hook = func(m *Mat) {}
var Count int
func Name(m Mat) string { return "" }
func _Cfunc_Mat_Free(p uintptr) {}
func _C2func_Mat_Free(p uintptr) (r int, err error) { return 0, nil }
func local(x interface{ M() }) { x.M() }
`

func TestFullName(t *testing.T) {
	_, _, pkg, info := compile(t, "gopkg.in/cv.v2", library)
	got := map[string]bool{}
	for f := range Declared(pkg) {
		got[FullName(f)] = true
	}
	for _, want := range []string{
		"gopkg.in/cv.v2.NewMat", "(*gopkg.in/cv.v2.Mat).Close", "(gopkg.in/cv.v2.Mat).Region",
		"(*gopkg.in/cv.v2.Mat).Row",         // through the alias
		"(*gopkg.in/cv.v2.Box).Free",        // no type parameters
		"(gopkg.in/cv.v2.Box).Get",          //
		"gopkg.in/cv.v2.Map",                //
		"(gopkg.in/cv.v2.Releaser).Release", // an interface's own method
		"gopkg.in/cv.v2._Cfunc_Mat_Free",
	} {
		require.True(t, got[want], "%s is not in %v", want, got)
	}
	require.False(t, got["gopkg.in/cv.v2._C2func_Mat_Free"], "the form with errno is the same function")

	// An instance has the name of what it was made from.
	box := pkg.Scope().Lookup("Box").Type().(*types.Named)
	inst, err := types.Instantiate(nil, box, []types.Type{types.Typ[types.Int]}, true)
	require.NoError(t, err)
	obj, _, _ := types.LookupFieldOrMethod(inst, true, pkg, "Free")
	require.Equal(t, "(*gopkg.in/cv.v2.Box).Free", FullName(obj.(*types.Func)))

	// A promoted method belongs to the interface that declares it.
	rel := pkg.Scope().Lookup("Releaser").Type()
	obj, _, _ = types.LookupFieldOrMethod(rel, false, pkg, "Close")
	require.Equal(t, "(io.Closer).Close", FullName(obj.(*types.Func)))

	for id, obj := range info.Uses {
		if f, ok := obj.(*types.Func); ok && id.Name == "M" {
			require.Equal(t, "(interface).M", FullName(f))
		}
	}
	require.Equal(t, "(error).Error", FullName(types.Universe.Lookup("error").Type().Underlying().(*types.Interface).Method(0)))
}

func TestFreers(t *testing.T) {
	_, _, pkg, _ := compile(t, "x/cv", library)
	var s Set
	require.Empty(t, s.Freers(pkg))
	s.Add(parse(t, `
x/other.F            args freed
x/cv.Drop            arg m freed if arg del is true
(*x/cv.Mat).Close    recv freed
(*x/cv.Box).Free     recv freed repeatable
x/cv._Cfunc_*        arg 0 freed
x/cv.Absent          arg 0 freed
x/cv.Name            arg 3 freed
`), Module)
	require.NotEmpty(t, s.Freers(pkg))
	var got []string
	for _, f := range s.Freers(pkg) {
		got = append(got, FullName(f.Func)+" "+f.Operand.String()+" "+f.Cond.String())
	}
	require.Equal(t, []string{
		"x/cv.Drop arg 0 if arg 1 is true",
		"(*x/cv.Mat).Close recv ",
		"(*x/cv.Box).Free recv ",
		"x/cv._Cfunc_Mat_Free arg 0 ",
		"x/cv._Cfunc_Mat_Free arg 0 ",
	}, got, "in the order of the spec; the two forms of a C function both count")

	freers := s.Freers(pkg)
	mat := pkg.Scope().Lookup("Mat").Type()
	box := pkg.Scope().Lookup("Box").Type().(*types.Named)
	inst, err := types.Instantiate(nil, box, []types.Type{types.Typ[types.Int]}, true)
	require.NoError(t, err)
	require.True(t, freers[1].Frees(mat))
	require.True(t, freers[1].Frees(types.NewPointer(mat)), "one pointer is ignored")
	require.False(t, freers[1].Frees(types.NewPointer(types.NewPointer(mat))))
	require.False(t, freers[1].Frees(inst))
	require.True(t, freers[2].Frees(inst), "an instance is freed by the generic method")
	require.True(t, freers[2].Repeatable)

	// A higher line takes the freeing away.
	s.Add(parse(t, "(*x/cv.Mat).Close recv borrowed\nx/cv.Drop args borrowed\n"), Flag)
	for _, f := range s.Freers(pkg) {
		require.False(t, f.Frees(mat), "%s", f.Line)
	}
}

func TestBind(t *testing.T) {
	_, _, pkg, _ := compile(t, "x/cv", library)
	bind := func(name, text string) string {
		clauses, err := ParseClauses(at(1), text)
		require.NoError(t, err)
		return formatClauses(Bind(clauses, pkg.Scope().Lookup(name).(*types.Func).Signature()))
	}
	require.Equal(t, "arg 0 freed if arg 1 is true", bind("Drop", "arg m freed if arg del is true"))
	require.Equal(t, "arg 0 borrowed, arg 1 borrowed", bind("Drop", "args borrowed"))
	require.Equal(t, "result 0 views arg 0", bind("Name", "result 0 views args"))
	require.Equal(t, "result 0 owned", bind("NewMat", "result 0 owned, result 1 owned"), "an error owns nothing")
	require.Equal(t, "arg 0 borrowed", bind("Name", "arg 0 borrowed, arg 1 freed, recv freed, result 1 owned, result 0 is arg q, arg 0 freed if arg x is true"),
		"what is absent says nothing")
}

// What a glob lends may come back in a result that it says nothing of; an exact
// line is by somebody who knows the function.
func TestImplied(t *testing.T) {
	_, _, pkg, _ := compile(t, "x/cv", `package cv

import "unsafe"

type T struct{ p *byte }

func (t *T) Bytes(n int, of []byte) []byte { return nil }
func (t *T) Sizes() (w, h int, err error)  { return 0, 0, nil }
func (t *T) Name() string                  { return "" }
func (t *T) Rect() [2]struct{ x, y float64 } { return [2]struct{ x, y float64 }{} }
func (t *T) Part() struct{ n int; of T }   { panic(1) }
func (t *T) Addr() unsafe.Pointer          { return nil }
func (t *T) Any() (any, bool)              { return nil, false }
`)
	obj := pkg.Scope().Lookup("T").Type()
	all := func(Operand, Operand) bool { return true }
	tests := []struct {
		line, method string
		back         func(result, of Operand) bool
		want         string
	}{
		{"(*x/cv.T).* recv borrowed, args borrowed", "Bytes", all,
			"result 0 views recv, result 0 views arg 1"},
		{"(*x/cv.T).* recv borrowed, args borrowed", "Bytes", func(_, of Operand) bool { return of.Kind == Recv },
			"result 0 views recv"},
		{"(*x/cv.T).* recv borrowed", "Bytes", all, "result 0 views recv"},
		{"(*x/cv.T).* recv borrowed, result 0 owned", "Part", all, ""},
		{"(*x/cv.T).* recv escapes", "Bytes", all, ""},
		{"(*x/cv.T).Bytes recv borrowed, args borrowed", "Bytes", all, ""},
		{"(*x/cv.T).* recv borrowed", "Sizes", all, ""},
		{"(*x/cv.T).* recv borrowed", "Name", all, "result 0 views recv"},
		{"(*x/cv.T).* recv borrowed", "Rect", all, ""},
		{"(*x/cv.T).* recv borrowed", "Part", all, "result 0 views recv"},
		{"(*x/cv.T).* recv borrowed", "Addr", all, "result 0 views recv"},
		{"(*x/cv.T).* recv borrowed", "Any", all, "result 0 views recv"},
	}
	for _, test := range tests {
		t.Run(test.method, func(t *testing.T) {
			fn, _, _ := types.LookupFieldOrMethod(types.NewPointer(obj), true, pkg, test.method)
			line := parse(t, test.line+"\n").Lines[0]
			require.Equal(t, test.want, formatClauses(line.Implied(fn.(*types.Func).Signature(), test.back)), test.line)
		})
	}
}

func TestCheck(t *testing.T) {
	_, _, pkg, _ := compile(t, "x/cv", library)
	packages := func(path string) *types.Package {
		if path == "x/cv" {
			return pkg
		}
		return nil
	}
	good := parse(t, `
x/cv.NewMat           result 0 owned on success
(*x/cv.Mat).Close     recv freed
(x/cv.Mat).Region     result 0 views recv
(*x/cv.Mat).Row       result 0 is recv
x/cv.Drop             arg m freed if arg del is true
x/cv._Cfunc_Mat_*     args freed
(*x/cv.Mat).*         recv borrowed
(x/cv.Releaser).Release  recv freed
x/cv.Hook             arg m freed
x/*                   args borrowed
(error).Error         recv borrowed
`)
	require.NoError(t, Check(good, packages))

	bad := parse(t, strings.TrimPrefix(`
x/gone.F              args borrowed
x/cv.Gone             args borrowed
(x/cv.Mat).Close      recv freed
x/cv.newmat           result 0 owned
x/cv._Cfunc_Gone_*    args borrowed
x/cv.NewMat           result 2 owned, recv freed, result 1 owned
x/cv.Drop             arg 5 freed, arg n freed, arg 0 freed if arg m is true, arg 1 freed on error
x/cv.Name             result 0 is arg 0, result 0 owned
x/cv.Map              arg b freed if arg n is true
x/cv.Hook             arg 1 freed
x/cv.Count            args borrowed
`, "\n"))
	require.EqualError(t, Check(bad, packages), strings.TrimSpace(`
x.spec:1: x/gone.F: no package x/gone
x.spec:2: x/cv.Gone: no such function
x.spec:3: (x/cv.Mat).Close: no such function; did you mean (*x/cv.Mat).Close?
x.spec:4: x/cv.newmat: no such function; did you mean x/cv.NewMat?
x.spec:5: x/cv._Cfunc_Gone_*: package x/cv has no function of that name
x.spec:6: x/cv.NewMat: result 2: the function has 2 results
x.spec:6: x/cv.NewMat: recv: the function has no receiver
x.spec:6: x/cv.NewMat: result 1 owned: an error owns nothing
x.spec:7: x/cv.Drop: arg 5: the function has 2 arguments
x.spec:7: x/cv.Drop: arg n: the function has no argument of that name
x.spec:7: x/cv.Drop: if arg m is true: the argument has type *x/cv.Mat, not bool
x.spec:7: x/cv.Drop: arg 1 freed: a bool owns nothing
x.spec:7: x/cv.Drop: on error: the last result is not an error
x.spec:8: x/cv.Name: result 0 is arg 0: the types are string and x/cv.Mat
x.spec:8: x/cv.Name: result 0 owned: a string owns nothing
x.spec:9: x/cv.Map: arg n: the function has no argument of that name
x.spec:10: x/cv.Hook: arg 1: the function has 1 argument
x.spec:11: x/cv.Count: no such function`))
}

func TestDirectives(t *testing.T) {
	fset, file, _, info := compile(t, "x/cv", `package cv

type Mat struct{}

// NewMat makes a Mat.
//
//lastuse:effect result 0 owned
func NewMat() (Mat, error) { return Mat{}, nil }

// Close frees.
//lastuse:effect recv freed repeatable
//lastuse:effect arg 0 borrowed # adds up
func (m *Mat) Close(x *int) {}

type Closer interface {
	//lastuse:effect recv freed
	Close()
	Other()
}

// lastuse:effect is prose here: a directive has no space.
func Plain() {
	m, _ := NewMat() //lastuse:keep the driver owns it
	_ = m
}
`)
	lines, err := Directives(fset, file, info)
	require.NoError(t, err)
	var got []string
	for _, l := range lines {
		require.Equal(t, Directive, l.Level)
		got = append(got, l.Pos.String()+" "+l.String())
	}
	require.Equal(t, []string{
		"x.go:7 x/cv.NewMat result 0 owned",
		"x.go:11 (*x/cv.Mat).Close recv freed repeatable, arg 0 borrowed",
		"x.go:16 (x/cv.Closer).Close recv freed",
	}, got)
	require.Equal(t, map[int]string{23: "the driver owns it"}, Keeps(fset, file))
}

func TestDirectiveErrors(t *testing.T) {
	fset, file, _, info := compile(t, "x/cv", `package cv

//lastuse:effect recv eaten
func A() {}

//lastuse:effect recv freed, arg 1 freed
func B(x *int) {}

//lastuse:effect args borrowed
type T struct{}

func C() {
	//lastuse:effect args borrowed
	x := 0 //lastuse:keep
	_ = x
}

//lastuse:frees recv
func D() {}

//lastuse:effect
func E() {}
`)
	_, err := Directives(fset, file, info)
	require.EqualError(t, err, strings.TrimSpace(`
x.go:3: unknown effect "eaten": want one of owned, freed, borrowed, views, is, retained, escapes
x.go:6: recv: the function has no receiver
x.go:6: arg 1: the function has 1 argument
x.go:21: no clause: say what the function does, as in "arg 0 borrowed"
x.go:9: //lastuse:effect belongs in the doc comment of a function
x.go:13: //lastuse:effect belongs in the doc comment of a function
x.go:14: //lastuse:keep wants a reason
x.go:18: unknown directive //lastuse:frees: want effect or keep`))
	require.Empty(t, Keeps(fset, file))
}
