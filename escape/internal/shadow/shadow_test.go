package shadow

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
	"golang.org/x/tools/txtar"

	"github.com/lastuse/lastuse/escape/spec"
)

var update = flag.Bool("update", false, "write the goldens anew")

// check type-checks one file with its directives.
func check(t testing.TB, src string) *Input {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", src, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Implicits: map[ast.Node]types.Object{},
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Scopes: map[ast.Node]*types.Scope{},
		Instances: map[*ast.Ident]types.Instance{}, FileVersions: map[*ast.File]string{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil), GoVersion: "go1.26"}
	pkg, err := conf.Check("p", fset, []*ast.File{f}, info)
	require.NoError(t, err)
	set, err := spec.Load(nil, "")
	require.NoError(t, err)
	set = set.Fork()
	lines, err := spec.Directives(fset, f, info)
	require.NoError(t, err)
	for _, l := range lines {
		set.AddLine(l, spec.Directive)
	}
	return &Input{Fset: fset, Files: []*ast.File{f}, Types: pkg, Info: info, Set: set}
}

const header = `package p

type Buf struct{ p uintptr }

//lastuse:effect result 0 owned
func Make(n int) (*Buf, error)

//lastuse:effect result 0 owned
func Must(n int) *Buf

//lastuse:effect recv freed
func (b *Buf) Free()

//lastuse:effect recv borrowed
func (b *Buf) Use() int

//lastuse:effect args borrowed
func both(a, b *Buf)

func unknown(b *Buf)

`

// TestGolden shows what each room says of functions, one subject a file: the state, the
// summary, and the frees in the text.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			require.NoError(t, err)
			src := header + string(ar.Files[0].Data)
			in := check(t, src)
			r := Run(in)
			require.NoError(t, r.IR.Verify())
			var holds, state, sum strings.Builder
			for _, f := range r.Funcs {
				f.Own.Func.Print(&holds)
				f.Own.Print(&state)
				if f.Summary != nil {
					fmt.Fprintf(&sum, "%s: %s\n", f.SSA.Name(), f.Summary)
				}
				for _, v := range f.Verdicts {
					fmt.Fprintf(&sum, "\t#%d %s: due %v, missed %d, withheld %v\n", v.Site.N, v.Site.Value.Name(),
						v.Due, v.Missed, v.Held)
				}
				for _, fr := range f.Frees {
					where := "in front of the return in line %d\n"
					pos := token.NoPos
					if fr.At != nil {
						where, pos = "in line %d, %s\n", fr.At.Pos
					} else {
						pos = fr.Return.Pos()
					}
					args := []any{in.Fset.Position(pos).Line - strings.Count(header, "\n")}
					if fr.At != nil {
						args = append(args, fr.At.Kind)
					}
					text := strings.ReplaceAll(r.Statement(fr), "\n", " ")
					fmt.Fprintf(&sum, "\t%s "+where, append([]any{text}, args...)...)
				}
			}
			edited, _, err := r.Edit(in.Files[0], src)
			require.NoError(t, err)
			got := []txtar.File{ar.Files[0],
				{Name: "frees", Data: []byte(strings.TrimPrefix(edited, header))},
				{Name: "summary", Data: []byte(sum.String())},
				{Name: "holds", Data: []byte(holds.String())},
				{Name: "state", Data: []byte(state.String())}}
			if *update {
				ar.Files = got
				require.NoError(t, os.WriteFile(path, txtar.Format(ar), 0o666))
				return
			}
			require.Len(t, ar.Files, len(got))
			for i, f := range got {
				require.Equal(t, string(ar.Files[i].Data), string(f.Data), "%s", f.Name)
			}
		})
	}
}
