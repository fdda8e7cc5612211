package escape

import (
	"go/ast"
	"go/parser"
	"go/types"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape/internal/shadow"
	"github.com/lastuse/lastuse/escape/internal/stdtest"
	"github.com/lastuse/lastuse/escape/spec"
)

// A trial is one file that tests decide without a driver. It imports nothing but the standard library.
type trial struct {
	*subject
	src   string
	limit int // see shadow.Input; 0 for the usual one
}

// tried type-checks a file, and reads its directives.
func tried(t testing.TB, src string) *trial {
	t.Helper()
	fset, std := stdtest.Types()
	f, err := parser.ParseFile(fset, "p.go", src, parser.ParseComments)
	require.NoError(t, err)
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Implicits: map[ast.Node]types.Object{}, Scopes: map[ast.Node]*types.Scope{},
		Instances: map[*ast.Ident]types.Instance{}, FileVersions: map[*ast.File]string{},
	}
	conf := types.Config{GoVersion: "go1.26", Importer: std}
	tp, err := conf.Check("p", fset, []*ast.File{f}, info)
	require.NoError(t, err)
	set, err := spec.Load(nil, "")
	require.NoError(t, err)
	fork := set.Fork()
	lines, err := spec.Directives(fset, f, info)
	require.NoError(t, err)
	for _, l := range lines {
		fork.AddLine(l, spec.Directive)
	}
	p := newSubject(fset, []*ast.File{f}, info, tp, fork)
	p.read = func(string) ([]byte, error) { return []byte(src), nil }
	return &trial{subject: p, src: src}
}

// alonePass is a pass of a package without facts of others, whose own nobody asks for.
func alonePass() *analysis.Pass {
	return &analysis.Pass{TypesSizes: types.SizesFor("gc", "amd64"),
		ImportObjectFact:  func(types.Object, analysis.Fact) bool { return false },
		ImportPackageFact: func(*types.Package, analysis.Fact) bool { return false },
		ExportObjectFact:  func(types.Object, analysis.Fact) {},
		ExportPackageFact: func(analysis.Fact) {},
	}
}

// planned decides the file, whatever the proof says of that.
func (c *trial) planned() *Result {
	res := &Result{}
	in := c.input(alonePass())
	in.Limit = c.limit
	c.tell(shadow.Run(in), res)
	return res
}

// proven decides the file as drivers do.
func (c *trial) proven() *Result {
	res := &Result{}
	c.byRooms(alonePass(), res)
	return res
}
