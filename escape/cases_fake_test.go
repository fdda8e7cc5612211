package escape_test

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// The cases import a stand-in for alloc, testdata/fake/lastuse: its exported shape
// and its directives without a device behind it. This test keeps the two in step.

// exported describes every exported function and method of a package: signature,
// then its effect directives.
func exported(t *testing.T, dir, path string) map[string]string {
	t.Helper()
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Dir: dir}, path)
	require.NoError(t, err)
	require.Len(t, pkgs, 1)
	p := pkgs[0]
	for _, err := range p.Errors {
		t.Fatalf("%s: %v", p.ID, err)
	}
	byName := func(p *types.Package) string { return p.Name() }
	funcs := map[string]string{}
	for _, file := range p.Syntax {
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() {
				continue
			}
			obj := p.TypesInfo.Defs[fn.Name].(*types.Func)
			text := types.TypeString(obj.Type(), byName)
			if fn.Doc != nil {
				for _, c := range fn.Doc.List {
					if effect, ok := strings.CutPrefix(c.Text, "//lastuse:effect"); ok {
						text += "\n" + strings.Join(strings.Fields(effect), " ")
					}
				}
			}
			funcs[strings.ReplaceAll(obj.FullName(), path+".", "")] = text
		}
	}
	return funcs
}

func TestFakeMatchesAlloc(t *testing.T) {
	for _, path := range []string{"github.com/lastuse/lastuse/alloc", "github.com/lastuse/lastuse/alloc/host"} {
		real := exported(t, "..", path)
		fake := exported(t, filepath.Join("testdata", "fake", "lastuse"), path)
		require.NotEmpty(t, fake)
		for name, want := range fake {
			assert.Equal(t, real[name], want, "%s: %s", path, name)
		}
	}
}
