package alloc

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What runs in a stopped pool holds the locks of all heaps, so it makes no text and names no site: it copies
// what is needed, and the pool goes on.
func TestStoppedMakesNoText(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	fset, stops := token.NewFileSet(), 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !slices.Contains([]string{"stopped", "eachLive"}, selected(call.Fun)) {
				return true
			}
			stops++
			for _, arg := range call.Args {
				for _, use := range texts(arg) {
					assert.Fail(t, "a stopped pool makes text", "%s: %s", fset.Position(use.Pos()), use.Sel.Name)
				}
			}
			return true
		})
	}
	assert.GreaterOrEqual(t, stops, 3, "no function that stops the pool was found")
}

func selected(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return ""
}

// texts returns what n uses of packages that make text or name sites.
func texts(n ast.Node) (found []*ast.SelectorExpr) {
	ast.Inspect(n, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if p, ok := s.X.(*ast.Ident); ok && slices.Contains([]string{"fmt", "strings", "strconv", "runtime", "tracker"}, p.Name) {
			found = append(found, s)
		}
		return true
	})
	return found
}
