package lastuse_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a reader has in view at once: the lines of a function and of a room, the fields of a struct, and how
// many of these are yes or no.
const (
	mostLines  = 80
	mostRoom   = 2500
	mostFields = 12
	mostFlags  = 4
)

// lists are structs that list what may be so of something, each field by itself.
var lists = map[string]string{
	"proof.Param":  "what a function may do to an operand",
	"proof.Result": "where a result may come from",
}

// largeRooms are rooms that are larger than they should be.
var largeRooms = map[string]string{"escape/internal/proof": "what keeps it from being shorter is in bench/results/proof.md"}

// TestSizes keeps the rooms of the analyzer small enough to be read: their functions, their structs, and each
// as a whole, tests left out.
func TestSizes(t *testing.T) {
	var large []string
	rooms, seen := map[string]int{}, 0
	walkGo(t, func(path string, f *ast.File, src []byte) {
		dir := filepath.ToSlash(filepath.Dir(path))
		if dir != "escape" && !strings.HasPrefix(dir, "escape/internal/") || strings.HasSuffix(path, "_test.go") {
			return
		}
		rooms[dir] += bytes.Count(src, []byte("\n"))
		at := func(n ast.Node, name string, is int, what string, most int) {
			if is > most {
				large = append(large, fmt.Sprintf("%s:%d: %s has %d %s, %d are the most", path,
					fset.Position(n.Pos()).Line, name, is, what, most))
			}
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				seen++
				lines := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1
				at(fn, fn.Name.Name, lines, "lines", mostLines)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || lists[f.Name.Name+"."+spec.Name.Name] != "" {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				fields, flags := count(s)
				at(spec, spec.Name.Name, fields, "fields", mostFields)
				at(spec, spec.Name.Name, flags, "fields that are yes or no", mostFlags)
			}
			return true
		})
	})
	for dir, lines := range rooms {
		if lines > mostRoom && largeRooms[dir] == "" {
			large = append(large, fmt.Sprintf("%s has %d lines, %d are the most", dir, lines, mostRoom))
		}
	}
	require.Greater(t, seen, 1000)
	require.Empty(t, strings.Join(large, "\n"))
}

// count counts the fields of a struct, and how many are yes or no.
func count(s *ast.StructType) (fields, flags int) {
	for _, f := range s.Fields.List {
		n := max(len(f.Names), 1)
		fields += n
		if id, ok := f.Type.(*ast.Ident); ok && id.Name == "bool" {
			flags += n
		}
	}
	return fields, flags
}
