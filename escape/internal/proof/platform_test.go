//go:build long

package proof

import (
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

// TestPlatform compares the constants of the standard library on five machines with what the proof knows of
// them.
func TestPlatform(t *testing.T) {
	numbers := map[*types.Const]string{} // of the first
	byName := map[string]*types.Const{}
	others := map[*types.Const]bool{}
	for _, env := range []string{"GOOS=linux GOARCH=amd64", "GOOS=windows GOARCH=386", "GOOS=plan9 GOARCH=arm",
		"GOOS=darwin GOARCH=arm64", "GOOS=linux GOARCH=mips"} {
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
				k, ok := p.Types.Scope().Lookup(name).(*types.Const)
				if !ok || !k.Exported() || strings.Contains(p.PkgPath, "internal/") ||
					strings.HasPrefix(p.PkgPath, "vendor/") {
					continue
				}
				full := p.PkgPath + "." + name
				if first := byName[full]; first == nil {
					byName[full], numbers[k] = k, k.Val().ExactString()
				} else if numbers[first] != k.Val().ExactString() {
					others[first] = true
				}
			}
		}
	}
	c := newChecker(&Input{})
	var unknown, needless []string
	for full, k := range byName {
		switch knows := c.spreads(k); {
		case others[k] && !knows:
			unknown = append(unknown, full)
		case knows && !others[k] && platform[k.Pkg().Path()] != nil:
			needless = append(needless, full)
		}
	}
	slices.Sort(unknown)
	assert.Empty(t, unknown)
	assert.Empty(t, needless)
	assert.Greater(t, len(byName), 3000)
}
