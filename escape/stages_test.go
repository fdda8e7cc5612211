package escape

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/lastuse/lastuse/escape/internal/rewrite"
	"github.com/lastuse/lastuse/escape/internal/stdtest"
	"github.com/lastuse/lastuse/escape/spec"
)

var update = flag.Bool("update", false, "write what the stages print into testdata/stages")

// checked type-checks one file that imports nothing but the standard library.
func checked(t testing.TB, name, src string) (*pkg, []*fn) {
	t.Helper()
	p, fns := unsummarized(t, name, src)
	p.summarizeAll(fns)
	return p, fns
}

// unsummarized does the same, but leaves its functions as they are.
func unsummarized(t testing.TB, name, src string) (*pkg, []*fn) {
	t.Helper()
	fset, std := stdtest.Types()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
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
	p := newPkg(fset, []*ast.File{f}, info, tp, fork, noFacts{})
	return p, p.functions()
}

// reports decides functions and finishes the texts.
func (p *pkg) reports(fns []*fn, res *Result, read func(string) ([]byte, error)) {
	p.decideAll(fns, res, read)
	p.say(res)
}

// TestStages runs source through each stage and compares the text of each: flow,
// summary, plan, edit. A failure shows at the first stage that is wrong.
func TestStages(t *testing.T) {
	paths, err := filepath.Glob("testdata/stages/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			require.NoError(t, err)
			require.Equal(t, "p.go", ar.Files[0].Name)
			src := string(ar.Files[0].Data)
			p, fns := checked(t, "p.go", src)
			res := &Result{}
			p.reports(fns, res, func(string) ([]byte, error) { return []byte(src), nil })
			got := []txtar.File{ar.Files[0]}
			var flow, sums, plan strings.Builder
			for _, f := range fns {
				fmt.Fprintf(&flow, "%s\n", f)
				if f.obj != nil {
					fmt.Fprintf(&sums, "%s: %s\n", f.name, p.summaryOf(f.obj))
				}
			}
			edited := src
			for i := len(res.Funcs) - 1; i >= 0; i-- {
				f := res.Funcs[i]
				s := &rewrite.Source{File: p.fset.File(f.Pos), Text: []byte(edited), Tree: p.files[0]}
				text, ok := s.Apply(f.Edits)
				require.True(t, ok)
				edited = text
			}
			for _, f := range res.Funcs {
				for _, b := range f.Buffers {
					fmt.Fprintf(&plan, "%s %s: %s %s\n", p.line(b.Site), b.Name, b.Verdict, b.Reason)
					for _, fr := range b.Frees {
						fmt.Fprintf(&plan, "\t%s %s: %s\n", p.line(fr.Pos), strings.ReplaceAll(fr.Text, "\n", " "), fr.Why)
					}
				}
				for _, fd := range f.Findings {
					fmt.Fprintf(&plan, "%s %s: %s\n", p.line(fd.Pos), fd.Category, fd.Message)
				}
			}
			require.Empty(t, res.Bugs)
			got = append(got, txtar.File{Name: "flow", Data: []byte(flow.String())}, txtar.File{Name: "summary", Data: []byte(sums.String())},
				txtar.File{Name: "plan", Data: []byte(plan.String())}, txtar.File{Name: "edit", Data: []byte(edited)})
			if *update {
				ar.Files = got
				require.NoError(t, os.WriteFile(path, txtar.Format(ar), 0o666))
				return
			}
			require.Len(t, ar.Files, len(got))
			for i, f := range got {
				require.Equal(t, string(ar.Files[i].Data), string(f.Data), "stage %s", f.Name)
			}
		})
	}
}
