package escape

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape/internal/plan"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
	"github.com/lastuse/lastuse/escape/internal/stdtest"
	"github.com/lastuse/lastuse/escape/spec"
)

// bufType begins many files: a type whose free must not be repeated.
const bufType = `package p

type Buf struct{ p uintptr }

//lastuse:effect result 0 owned
func Make(n int) (*Buf, error)

//lastuse:effect result 0 owned
func Must(n int) *Buf

//lastuse:effect recv freed
func (b *Buf) Free()

//lastuse:effect recv borrowed, arg 0 borrowed
func (b *Buf) Put(c *Buf)

`

// A trial is one file that tests decide without a driver. It imports nothing but the standard library.
type trial struct {
	*subject
	src   string
	limit int // see plan.Input; 0 for the usual one
}

// tried type-checks a file, and reads its directives.
func tried(t testing.TB, src string) *trial {
	t.Helper()
	fset, std := stdtest.Types()
	f, err := parser.ParseFile(fset, "p.go", src, parser.ParseComments)
	require.NoError(t, err)
	info := newInfo()
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

func newInfo() *types.Info {
	return &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Implicits: map[ast.Node]types.Object{}, Scopes: map[ast.Node]*types.Scope{},
		Instances: map[*ast.Ident]types.Instance{}, FileVersions: map[*ast.File]string{},
	}
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
	c.tell(plan.Run(in), res)
	return res
}

// proven decides the file as drivers do.
func (c *trial) proven() *Result {
	res := &Result{}
	c.decide(alonePass(), res)
	return res
}

// lineOf is the line of a position.
func (c *trial) lineOf(pos token.Pos) int { return c.fset.Position(pos).Line }

// edited returns the text with all edits of a result, which must be sound otherwise.
func (c *trial) edited(t testing.TB, res *Result) string {
	require.Empty(t, res.Bugs)
	for _, s := range res.Skipped {
		require.NotContains(t, s.Reason, plan.InternalError, "%s", s.Name)
	}
	var edits []analysis.TextEdit
	for _, f := range res.Funcs {
		edits = append(edits, f.Edits...)
	}
	rewrite.Sort(edits)
	s := &rewrite.Source{File: c.fset.File(c.files[0].FileStart), Text: []byte(c.src), Tree: c.files[0]}
	text, ok := s.Apply(edits)
	require.True(t, ok, "edits overlap")
	return text
}
