package proof

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestQuiet looks through the sources of the packages that are taken to end no panic for exported functions
// that call recover.
func TestQuiet(t *testing.T) {
	for _, path := range quiet {
		p, err := build.Import(path, "", build.FindOnly)
		require.NoError(t, err)
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.IsExported() && fn.Body != nil {
					require.False(t, callsRecover(fn.Body), "%s: %s", name, fn.Name.Name)
				}
			}
		}
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p; func F() { recover() }", parser.SkipObjectResolution)
	require.NoError(t, err)
	require.True(t, callsRecover(f.Decls[0].(*ast.FuncDecl).Body))
}

// callsRecover reports whether a body calls recover, but for literals in it.
func callsRecover(body *ast.BlockStmt) (yes bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			id, _ := c.Fun.(*ast.Ident)
			yes = yes || id != nil && id.Name == "recover"
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
	return yes
}
