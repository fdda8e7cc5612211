package lastuse_test

import (
	"go/ast"
	"go/doc"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// imported are the packages that programs import.
var imported = []string{
	"alloc", "alloc/alloctest", "alloc/cuda", "alloc/half", "alloc/host",
	"escape", "finalize", "tracker", "tracker/otel", "tracker/prom",
}

// withoutExample are the public types that have no example, with the reason.
var withoutExample = map[string]string{
	"escape.Bug": "what the analyzer does wrong: nothing is known that would show one",
}

// notRun are the packages whose examples are compiled alone. All others print something that is compared.
var notRun = map[string]string{
	"alloc/cuda": "they need a GPU",
}

// TestExamples demands an example that runs for each public type: ExampleT, or one of its methods.
func TestExamples(t *testing.T) {
	var types, missing, silent []string
	examples := map[string]bool{} // FOLDER.Type
	tests := map[string][]*ast.File{}
	walkGo(t, func(path string, f *ast.File, _ []byte) {
		dir := filepath.ToSlash(filepath.Dir(path))
		switch {
		case !slices.Contains(imported, dir) || ignored(f):
		case strings.HasSuffix(path, "_test.go"):
			tests[dir] = append(tests[dir], f)
		default:
			for _, d := range f.Decls {
				if g, ok := d.(*ast.GenDecl); ok {
					for _, s := range g.Specs {
						if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() {
							types = append(types, dir+"."+s.Name.Name)
						}
					}
				}
			}
		}
	})
	for dir, files := range tests {
		for _, e := range doc.Examples(files...) {
			name, _, _ := strings.Cut(e.Name, "_")
			examples[dir+"."+name] = true
			if e.Output == "" && !e.EmptyOutput && notRun[dir] == "" {
				silent = append(silent, dir+".Example"+e.Name)
			}
		}
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(types))) {
		if examples[name] == (withoutExample[name] != "") {
			missing = append(missing, name)
		}
	}
	require.Subset(t, types, slices.Collect(maps.Keys(withoutExample)), "these are no types")
	require.Empty(t, missing, "public types without an example, or with one although they are excepted")
	require.Empty(t, silent, "examples that print nothing that is compared")
}
