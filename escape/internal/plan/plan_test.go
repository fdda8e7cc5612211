package plan

import (
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/lastuse/lastuse/escape/internal/stdtest"
	"github.com/lastuse/lastuse/escape/spec"
)

var (
	update = flag.Bool("update", false, "write the goldens anew")
	form   = flag.Bool("form", false, "print the form of the functions")
)

// check type-checks one file with its directives.
func check(t testing.TB, src string) *Input {
	fset, std := stdtest.Types()
	return checkAs(t, fset, "p", src, std)
}

// checkAs type-checks one file as the package with a path.
func checkAs(t testing.TB, fset *token.FileSet, path, src string, from types.Importer) *Input {
	f, err := parser.ParseFile(fset, path+".go", src, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Implicits: map[ast.Node]types.Object{},
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Scopes: map[ast.Node]*types.Scope{},
		Instances: map[*ast.Ident]types.Instance{}, FileVersions: map[*ast.File]string{}}
	conf := types.Config{Importer: from, GoVersion: "go1.26"}
	pkg, err := conf.Check(path, fset, []*ast.File{f}, info)
	require.NoError(t, err)
	set, err := spec.Load(nil, "")
	require.NoError(t, err)
	set = set.Fork()
	lines, err := spec.Directives(fset, f, info)
	require.NoError(t, err)
	for _, l := range lines {
		set.AddLine(l, spec.Directive)
	}
	return &Input{Fset: fset, Files: []*ast.File{f}, Types: pkg, Info: info, Set: set,
		Text: func(string) []byte { return []byte(src) }}
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

// headed returns a file with its header, which takes an import from its first line.
func headed(text string) (head, src string) {
	head = header
	if strings.HasPrefix(text, "import") {
		head = strings.Replace(header, "\n", "\n\n"+text[:strings.IndexByte(text, '\n')]+"\n", 1)
		text = "// " + text
	}
	return head, head + text
}

// TestGolden shows what each room says of functions, one subject a file: the state, the
// summary, the text with its edits, and what the proof does not accept of them.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			require.NoError(t, err)
			header, src := headed(string(ar.Files[0].Data))
			in := check(t, src)
			r := Run(in)
			require.NoError(t, r.IR.Verify())
			var holds, state, sum strings.Builder
			for _, f := range r.Funcs {
				if *form {
					r.IR.Print(os.Stdout, f.SSA)
				}
				printHolds(&holds, f.Own.Func)
				f.Own.Print(&state)
				if f.Summary != nil {
					fmt.Fprintf(&sum, "%s: %s\n", f.SSA.Name(), f.Summary)
				}
				for _, v := range f.Verdicts {
					fmt.Fprintf(&sum, "\t#%d %s: due %v, missed %d, withheld %v\n", v.Site.N, v.Site.Value.Name(),
						v.Due, v.Missed, v.Held)
				}
				for _, fr := range f.Frees {
					where := "in front of the return"
					if fr.At.Place != nil {
						where = fr.At.Place.Kind.String()
					}
					line := in.Fset.Position(fr.At.Pos()).Line - strings.Count(header, "\n")
					fmt.Fprintf(&sum, "\t%s in line %d, %s\n", fr, line, where)
				}
				if f.Refused != "" {
					fmt.Fprintf(&sum, "\trefused: %s\n", f.Refused)
				}
			}
			edited := r.Text(in.Files[0])
			formatted, err := format.Source([]byte(edited))
			require.NoError(t, err)
			require.Equal(t, string(formatted), edited, "not formatted")
			for _, v := range r.Prove(&Asker{GoVersion: "go1.26", Sizes: types.SizesFor("gc", "amd64")}).Withheld() {
				fmt.Fprintf(&sum, "the proof withholds in %s, %s: %s\n", v.Func, v.Text, v.Why.Words)
			}
			got := []txtar.File{ar.Files[0],
				{Name: "edited", Data: []byte(strings.TrimPrefix(edited, header))},
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
