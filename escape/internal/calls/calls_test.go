package calls

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/spec"
)

const source = `package p

type Buf struct{}

func (b *Buf) Free()

func top()  { even(4); func() { leaf(nil) }() }
func even(n int) { if n > 0 { odd(n - 1) } }
func odd(n int)  { if n > 0 { even(n - 1) } }
func self(n int) { self(n - 1) }
func leaf(b *Buf) { b.Free() }
func values(f func(*Buf), b *Buf) { f(b) }
var drop, other, unsaid = leaf, leaf, leaf
func variable(b *Buf) { drop(b) }
func either(b *Buf, some bool) { f := drop; if some { f = other }; f(b) }
func perhaps(b *Buf, some bool) { f := drop; if some { f = unsaid }; f(b) }
func literal(b *Buf, some bool) { f := drop; if some { f = func(*Buf) {} }; f(b) }
`

func build(t *testing.T) *ssa.Package {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", source, parser.SkipObjectResolution)
	require.NoError(t, err)
	p, _, err := ssautil.BuildPackage(&types.Config{}, fset, types.NewPackage("p", "p"), []*ast.File{f}, 0)
	require.NoError(t, err)
	return p
}

// TestOrder demands that functions stand behind those that they call, those that call one
// another together, and literals with the function they stand in.
func TestOrder(t *testing.T) {
	p := build(t)
	var fns []*ssa.Function
	for _, name := range []string{"top", "even", "odd", "self", "leaf"} {
		f := p.Func(name)
		fns = append(append(fns, f), f.AnonFuncs...)
	}
	var got []string
	for _, r := range Order(fns, NewTable(&spec.Set{}, nil, NewWorld(p, &Elsewhere{}), nil).Callees) {
		text := ""
		for _, f := range r.Funcs {
			text += f.Name() + " "
		}
		if r.Circle {
			text += "circle"
		}
		got = append(got, strings.TrimSpace(text))
	}
	require.Equal(t, []string{"odd even circle", "leaf", "top top$1", "self circle"}, got)
}

// TestTable demands that a spec decides, that else what is inferred counts and only gets
// worse, and that the call of what is never called is unknown.
func TestTable(t *testing.T) {
	p := build(t)
	f, err := spec.Parse("x.spec", []byte("(*p.Buf).Free recv freed\n"))
	require.NoError(t, err)
	var set spec.Set
	set.Add(f, spec.Module)
	table := NewTable(&set, nil, NewWorld(p, &Elsewhere{}), nil)
	call := func(name string) *ssa.CallCommon {
		for _, b := range p.Func(name).Blocks {
			for _, i := range b.Instrs {
				if c, ok := i.(*ssa.Call); ok {
					return &c.Call
				}
			}
		}
		return nil
	}
	require.Equal(t, "recv freed", table.Of(call("leaf")).String())
	require.Equal(t, "unknown", table.Of(call("values")).String())
	require.Equal(t, "unknown", table.Of(call("self")).String(), "nothing is inferred yet")
	leaf := p.Func("leaf")
	fn := leaf.Object().(*types.Func)
	table.Begin(leaf)
	require.Equal(t, "borrows", table.Func(fn).String())
	freed, err := effect.Parse("arg 0 freed", fn.Signature())
	require.NoError(t, err)
	require.True(t, table.Infer(leaf, freed, true))
	require.Equal(t, "arg 0 freed", table.Func(fn).String())
	require.True(t, table.Infer(leaf, effect.Blank(fn.Signature()), false))
	require.Equal(t, "arg 0 freed maybe", table.Func(fn).String())
	require.False(t, table.Infer(leaf, freed, false), "it is as bad already")
}

// TestVariables demands that a line of a spec says what is in a variable of the package, and that nothing
// else does.
func TestVariables(t *testing.T) {
	p := build(t)
	f, err := spec.Parse("x.spec", []byte("p.drop arg 0 freed\np.other arg 0 freed repeatable\n"))
	require.NoError(t, err)
	var set spec.Set
	set.Add(f, spec.Module)
	table := NewTable(&set, nil, NewWorld(p, &Elsewhere{}), nil)
	for name, want := range map[string]string{"variable": "arg 0 freed", "either": "arg 0 freed", "perhaps": "unknown",
		"literal": "unknown"} {
		for _, b := range p.Func(name).Blocks {
			for _, i := range b.Instrs {
				if c, ok := i.(*ssa.Call); ok {
					require.Equal(t, want, table.Of(&c.Call).String(), name)
				}
			}
		}
	}
}

// TestOtherBuilds demands that a function that other builds have too does what any of its
// bodies may do: each line is what is inferred here, the other body, and what calls see.
func TestOtherBuilds(t *testing.T) {
	for _, tt := range []struct{ here, body, want string }{
		{"borrows", "{ return nil }", "borrows"},
		{"borrows", "{ keep(b); return nil }", "arg 0 escapes"},
		{"arg 0 freed repeatable", "{ b.Free(); return nil }", "arg 0 freed"},
		{"arg 0 freed maybe", "{ b.Free(); return nil }", "arg 0 escapes"},
		{"result 0 owned", "{ return nil }", "result 0 owned or nil"},
		{"result 0 owned", "{ return &Buf{} }", "borrows"},
		{"result 0 owned", "{ return shared }", "borrows"},
		{"result 0 owned", "", "arg 0 escapes"},
		{"result 0 is arg 0", "{ return b }", "arg 0 escapes, result 0 is arg 0 maybe"},
	} {
		fset, away := token.NewFileSet(), &Elsewhere{}
		const head = "package p\n\ntype Buf struct{}\n\n"
		src, err := parser.ParseFile(fset, "p.go", head+"func same(b *Buf) *Buf { return b }\n", 0)
		require.NoError(t, err)
		other, err := parser.ParseFile(fset, "p_windows.go", "package p\n\nfunc same(b *Buf) *Buf "+tt.body, 0)
		require.NoError(t, err)
		away.Left(File{"p_windows.go", other, false})
		p, _, err := ssautil.BuildPackage(&types.Config{}, fset, types.NewPackage("p", "p"), []*ast.File{src}, 0)
		require.NoError(t, err)
		table := NewTable(&spec.Set{}, nil, NewWorld(p, away), nil)
		f := p.Func("same")
		s, err := effect.Parse(tt.here, f.Signature)
		require.NoError(t, err)
		table.Begin(f)
		table.Infer(f, s, true)
		require.Equal(t, tt.want, table.Func(f.Object().(*types.Func)).String(), "%s, elsewhere %s", tt.here, tt.body)
	}
}
