package cudadrv

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWithoutCgo compares the exported functions of the two builds.
func TestWithoutCgo(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("not run from the source tree")
	}
	with, without := map[string]string{}, map[string]string{}
	for _, file := range files {
		if matched, _ := filepath.Match("*_test.go", file); matched {
			continue
		}
		set := with
		if file == "nocgo.go" {
			set = without
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() {
				continue
			}
			name := fn.Name.Name
			if fn.Recv != nil {
				name = types.ExprString(fn.Recv.List[0].Type) + "." + name
			}
			if file == "error.go" {
				continue
			}
			set[name] = types.ExprString(fn.Type)
		}
	}
	assert.Equal(t, with, without)
	assert.Greater(t, len(with), 40)
}
