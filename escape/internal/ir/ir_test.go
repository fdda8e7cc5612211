package ir

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
)

var update = flag.Bool("update", false, "write the goldens anew")

// resource reports whether t, or what it points to, has a method that frees it.
func resource(t types.Type) bool {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	for _, name := range []string{"Free", "Release"} {
		if o, _, _ := types.LookupFieldOrMethod(t, true, nil, name); o != nil {
			_, ok := o.(*types.Func)
			return ok
		}
	}
	return false
}

func anything(types.Type) bool { return true }

func load(t *testing.T, path string) *Input {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Implicits: map[ast.Node]types.Object{},
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Scopes: map[ast.Node]*types.Scope{},
		Instances: map[*ast.Ident]types.Instance{}, FileVersions: map[*ast.File]string{}}
	conf := types.Config{Importer: importer.Default(), GoVersion: "go1.26"}
	pkg, err := conf.Check("p", fset, []*ast.File{f}, info)
	require.NoError(t, err)
	return &Input{Fset: fset, Files: []*ast.File{f}, Types: pkg, Info: info, Follow: resource}
}

// corpus is the thirteen functions, and two packages of this module.
func corpus(t *testing.T) map[string]*Input {
	out := map[string]*Input{}
	paths, err := filepath.Glob("testdata/*.go")
	require.NoError(t, err)
	require.Len(t, paths, 13)
	for _, p := range paths {
		out[strings.TrimSuffix(filepath.Base(p), ".go")] = load(t, p)
	}
	cfg := &packages.Config{Mode: packages.LoadSyntax}
	pkgs, err := packages.Load(cfg, "../../../alloc", "../../../alloc/host")
	require.NoError(t, err)
	for _, p := range pkgs {
		require.Empty(t, p.Errors)
		out[p.PkgPath] = &Input{Fset: p.Fset, Files: p.Syntax, Types: p.Types, Info: p.TypesInfo,
			Follow: resource}
	}
	return out
}

// TestGolden shows the form of thirteen functions that are hard; what each is there for
// stands in its first line.
func TestGolden(t *testing.T) {
	for name, in := range corpus(t) {
		if strings.Contains(name, "/") {
			continue
		}
		p := Build(in)
		require.NoError(t, p.Verify(), name)
		var got bytes.Buffer
		for _, f := range p.Funcs {
			if d, ok := p.Syntax(f).(*ast.FuncDecl); !ok || len(d.Body.List) > 1 {
				p.Print(&got, f)
			}
		}
		path := filepath.Join("testdata", name+".txt")
		if *update {
			require.NoError(t, os.WriteFile(path, got.Bytes(), 0o666))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), got.String(), name)
	}
}

// TestMarksAreEnough marks all variables at all places, and demands that what each holds
// is what Value finds with the marks that are made otherwise.
func TestMarksAreEnough(t *testing.T) {
	for name, in := range corpus(t) {
		in.All, in.Follow = true, anything
		p := Build(in)
		require.NoError(t, p.Verify(), name)
		n := 0
		for _, pl := range p.Places {
			for _, m := range pl.Marks {
				if pl.Block == nil {
					continue
				}
				want, cell := m.Held()
				got, gotCell := p.Value(pl, m.Var)
				require.Equal(t, cell, gotCell)
				require.True(t, same(want, got), "%s: %s: %s holds %v, its marks say %v",
					name, in.Fset.Position(pl.Pos), m.Var.Name(), want, got)
				n++
			}
		}
		require.NotZero(t, n)
	}
}

// same reports whether two operands are one value; each zero is a constant of its own.
func same(a, b ssa.Value) bool {
	x, ok := a.(*ssa.Const)
	y, ok2 := b.(*ssa.Const)
	return a == b || ok && ok2 && x.String() == y.String()
}

// TestNothingElse builds with and without marks, and demands that they are all that
// differs, that no variable became a cell, and that the pass's syntax and Info stay. Of what cgo makes of a
// file, the form is that of the text.
func TestNothingElse(t *testing.T) {
	for name, in := range corpus(t) {
		for _, all := range []bool{false, true} {
			in.All, in.Follow, in.mode = all, anything, ssa.NaiveForm
			before := dump(in)
			naive := Build(in)
			in.mode = 0
			lifted := Build(in)
			require.True(t, before == dump(in), name)
			if name == "cgo" {
				text := unmarked(load(t, "testdata/cgo/text.go"), ssa.NaiveForm)
				for _, f := range naive.Funcs {
					if f.Signature.Recv() == nil {
						require.Equal(t, normal(nil, text.Func(f.Name())), normal(naive, f), "%s: %s", name, f)
					}
				}
				continue
			}
			plain, bare := unmarked(in, ssa.NaiveForm), unmarked(in, 0)
			for k, f := range naive.Funcs {
				o := other(plain, naive, f)
				require.Equal(t, normal(nil, o), normal(naive, f), "%s: %s", name, f)
				l := lifted.Funcs[k]
				require.Equal(t, cells(other(bare, lifted, l)), cells(l), "%s: %s", name, f)
			}
		}
	}
}

func dump(in *Input) string {
	var b bytes.Buffer
	for _, f := range in.Files {
		_ = ast.Fprint(&b, nil, f, func(name string, _ reflect.Value) bool {
			return name != "Obj" && name != "Scope"
		})
	}
	i := in.Info
	fmt.Fprintln(&b, len(i.Types), len(i.Uses), len(i.Implicits), len(i.Selections),
		len(i.FileVersions), len(i.Defs), len(i.Instances))
	return b.String()
}

func unmarked(in *Input, mode ssa.BuilderMode) *ssa.Package {
	prog := ssa.NewProgram(in.Fset, mode)
	for _, q := range in.Types.Imports() {
		prog.CreatePackage(q, nil, nil, true)
	}
	p := prog.CreatePackage(in.Types, in.Files, in.Info, false)
	p.Build()
	return p
}

// other finds the function of plain that f is in p.
func other(plain *ssa.Package, p *Package, f *ssa.Function) *ssa.Function {
	if o := f.Parent(); o != nil {
		for k, a := range o.AnonFuncs {
			if a == f {
				return other(plain, p, o).AnonFuncs[k]
			}
		}
	}
	return plain.Prog.FuncValue(f.Object().(*types.Func))
}

// cells lists the variables of f that are in memory, and those it captures.
func cells(f *ssa.Function) map[string]int {
	out := map[string]int{}
	for _, b := range f.Blocks {
		for _, i := range b.Instrs {
			if a, ok := i.(*ssa.Alloc); ok {
				out[fmt.Sprintf("%s %s %d %v", a.Comment, a.Type(), a.Pos(), a.Heap)]++
			}
		}
	}
	for _, v := range f.FreeVars {
		out["captured "+v.Name()+v.Type().String()]++
	}
	return out
}
