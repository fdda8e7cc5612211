package calls

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
	"golang.org/x/tools/txtar"

	"github.com/lastuse/lastuse/escape/internal/stdtest"
)

var update = flag.Bool("update", false, "write the goldens anew")

// TestTargets shows for each call that names no function what it may run. Files other than
// p.go are elsewhere.
func TestTargets(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			require.NoError(t, err)
			fset, std := stdtest.Types()
			away := &Elsewhere{}
			var file *ast.File
			golden := slices.IndexFunc(ar.Files, func(f txtar.File) bool { return f.Name == "targets" })
			for k, a := range ar.Files {
				if k == golden {
					continue
				}
				f, err := parser.ParseFile(fset, a.Name, a.Data, parser.ParseComments|parser.SkipObjectResolution)
				require.NoError(t, err)
				if a.Name == "p.go" {
					file = f
					away.Built(f)
				} else {
					away.Left(File{a.Name, f, strings.HasSuffix(a.Name, "_test.go")})
				}
			}
			conf := &types.Config{Importer: std}
			p, _, err := ssautil.BuildPackage(conf, fset, types.NewPackage("p", "p"), []*ast.File{file}, 0)
			require.NoError(t, err)
			got := targets(NewWorld(p, away), fset)
			if *update {
				ar.Files[golden].Data = []byte(got)
				require.NoError(t, os.WriteFile(path, txtar.Format(ar), 0o666))
				return
			}
			require.Equal(t, string(ar.Files[golden].Data), got)
		})
	}
}

// targets writes what calls may run, by function.
func targets(w *World, fset *token.FileSet) string {
	var out strings.Builder
	for _, f := range Functions(w.pkg) {
		for _, b := range f.Blocks {
			for _, i := range b.Instrs {
				c, ok := i.(ssa.CallInstruction)
				if !ok || Called(c.Common()) != nil && !c.Common().IsInvoke() || Literal(c.Common()) != nil {
					continue
				}
				if _, ok := c.Common().Value.(*ssa.Builtin); ok {
					continue
				}
				fmt.Fprintf(&out, "%s:%d:", f.Name(), fset.Position(c.Pos()).Line)
				ts := w.Targets(c.Common())
				if ts == nil {
					out.WriteString(" unknown")
				}
				for _, t := range ts {
					switch {
					case t.Body != nil:
						out.WriteString(" " + t.Body.Name())
					case t.Bound:
						fmt.Fprintf(&out, " value of %s", t.Func.FullName())
					default:
						out.WriteString(" " + t.Func.FullName())
					}
				}
				out.WriteString("\n")
			}
		}
	}
	return out.String()
}
