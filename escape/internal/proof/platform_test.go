//go:build long

package proof

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// TestPlatform compares the constants of the standard library, and the sizes of its types where words are as
// long, on six machines with what the proof knows of them.
func TestPlatform(t *testing.T) {
	numbers := map[string]string{} // of the first
	byName := map[string]types.Object{}
	others := map[string]bool{}
	for _, env := range []string{"GOOS=linux GOARCH=amd64", "GOOS=windows GOARCH=386", "GOOS=plan9 GOARCH=arm",
		"GOOS=darwin GOARCH=arm64", "GOOS=linux GOARCH=mips", "GOOS=windows GOARCH=amd64"} {
		pkgs, err := packages.Load(&packages.Config{
			Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps |
				packages.NeedSyntax | packages.NeedTypesSizes,
			Env: append(os.Environ(), append(strings.Fields(env), "CGO_ENABLED=0")...),
			ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
				f, err := parser.ParseFile(fset, name, src, 0)
				for _, d := range f.Decls {
					if d, ok := d.(*ast.FuncDecl); ok {
						d.Body = nil
					}
				}
				return f, err
			},
		}, "std")
		require.NoError(t, err)
		for _, p := range pkgs {
			for _, name := range p.Types.Scope().Names() {
				o := p.Types.Scope().Lookup(name)
				if !o.Exported() || strings.Contains(p.PkgPath, "internal/") || strings.HasPrefix(p.PkgPath, "vendor/") {
					continue
				}
				of, is := p.PkgPath+"."+name, ""
				switch o := o.(type) {
				case *types.Const:
					is = o.Val().ExactString()
				case *types.TypeName:
					if n, ok := o.Type().(*types.Named); !ok || n.TypeParams().Len() > 0 {
						continue
					}
					word := p.TypesSizes.Sizeof(types.Typ[types.Uintptr])
					of, is = fmt.Sprint(of, " ", word), fmt.Sprint(p.TypesSizes.Sizeof(o.Type()))
				default:
					continue
				}
				if byName[of] == nil {
					byName[of], numbers[of] = o, is
				}
				others[of] = others[of] || numbers[of] != is
			}
		}
	}
	var unknown, needless []string
	for of, o := range byName {
		switch knows := ofMachine(o); {
		case others[of] && !knows:
			unknown = append(unknown, of)
		case knows && !others[of] && platform[o.Pkg().Path()] != nil:
			needless = append(needless, of)
		}
	}
	slices.Sort(unknown)
	assert.Empty(t, unknown)
	assert.Empty(t, needless)
	assert.Greater(t, len(byName), 5000)
}
