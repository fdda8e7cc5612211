package vars

import (
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the goldens anew")

func read(t *testing.T, fset *token.FileSet, name string, src any) (*Index, *ast.File) {
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	require.NoError(t, err)
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Implicits: map[ast.Node]types.Object{},
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{}}
	conf := types.Config{Importer: importer.Default(), GoVersion: "go1.26", Error: func(error) {}}
	_, _ = conf.Check("p", fset, []*ast.File{f}, info)
	return New(info, []*ast.File{f}), f
}

// TestGoldens prints of each function its variables, their uses, and what its literals read.
func TestGoldens(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			fset := token.NewFileSet()
			x, f := read(t, fset, path, nil)
			var out strings.Builder
			for _, d := range f.Decls {
				p := printer{x: x, fset: fset, fn: d, seen: map[*types.Var]bool{}}
				p.print(&out)
			}
			golden := strings.TrimSuffix(path, ".go") + ".txt"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(out.String()), 0o666))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), out.String())
		})
	}
}

type printer struct {
	x    *Index
	fset *token.FileSet
	fn   ast.Node
	seen map[*types.Var]bool
}

func (p *printer) line(pos token.Pos) int { return p.fset.Position(pos).Line }

func (p *printer) print(out *strings.Builder) {
	if d, ok := p.fn.(*ast.FuncDecl); ok {
		fmt.Fprintf(out, "# %s\n", d.Name.Name)
	}
	for _, u := range p.x.In(p.fn) {
		if p.seen[u.Var] {
			continue
		}
		p.seen[u.Var] = true
		shared := ""
		if p.x.Shared(u.Var) {
			shared = " shared"
		}
		fmt.Fprintf(out, "%s%s\n", u.Var.Name(), shared)
		for _, i := range p.x.usesOf(u.Var, p.fn) {
			fmt.Fprintf(out, "\t%s\n", p.use(&p.x.uses[i]))
		}
	}
	ast.Inspect(p.fn, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok {
			fmt.Fprintf(out, "literal at %d:", p.line(lit.Pos()))
			if l := p.x.Around(lit.Pos()-1, lit.Pos()); l != nil {
				fmt.Fprintf(out, " in that at %d", p.line(l.Node.Pos()))
			}
			for _, v := range p.x.ReadIn(lit) {
				fmt.Fprintf(out, " reads %s", v.Name())
			}
			fmt.Fprintln(out)
		}
		return true
	})
}

func (p *printer) use(u *Use) string {
	s := fmt.Sprintf("%d %s", p.line(u.ID.Pos()), u.Op)
	if u.Op == Assign || u.Op == Define {
		s += " " + u.Tok.String()
	}
	if u.Part {
		s += ", part"
	}
	if u.Deep {
		s += ", deep"
	}
	if u.reads() {
		s += ", reads"
	}
	if u.Lit != nil {
		s += fmt.Sprintf(", in the literal at %d", p.line(u.Lit.Node.Pos()))
	}
	return s
}

// TestBroken holds that what does not compile is read all the same.
func TestBroken(t *testing.T) {
	src := "package p\n\nfunc f() { x.y[2].z, q := nosuch; for q := range q { func() { q.f(&q) }() }; x = *&q }"
	x, f := read(t, token.NewFileSet(), "p.go", src)
	for _, u := range x.In(f) {
		require.NotNil(t, u.ID)
	}
}
