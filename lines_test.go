package lastuse_test

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// columns is where the lines of comments and pages end. A tab counts as four.
const columns = 110

// unbroken are the lines that cannot be broken: comments that tools read, and addresses.
var unbroken = regexp.MustCompile(`//(go:|lastuse:|export |nolint| want )|#cgo |https?://\S{40}`)

// TestLineLength keeps comments, and the pages that people read, within the columns that they are read in.
// Tables and what is shown of programs are left alone.
func TestLineLength(t *testing.T) {
	var long []string
	at := func(path string, n int, line string) {
		width := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
		if width > columns && !unbroken.MatchString(line) {
			long = append(long, fmt.Sprintf("%s:%d: %d columns", path, n, width))
		}
	}
	walkGo(t, func(path string, f *ast.File, src []byte) {
		if ast.IsGenerated(f) {
			return
		}
		lines := strings.Split(string(src), "\n")
		file := fset.File(f.Pos())
		for _, group := range f.Comments {
			if group == preamble(f) {
				continue
			}
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//\t") {
					continue // code that is shown
				}
				n := file.Line(c.Pos())
				at(path, n, lines[n-1])
			}
		}
	})
	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	for _, page := range append(pages, "README.md", "CHANGELOG.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		shown := false
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "```") {
				shown = !shown
			}
			if !shown && !strings.HasPrefix(line, "|") {
				at(page, i+1, line)
			}
		}
	}
	require.Empty(t, strings.Join(long, "\n"))
}

// preamble returns the comment that is C, or nil if the file has none.
func preamble(f *ast.File) *ast.CommentGroup {
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			for _, s := range g.Specs {
				if i, ok := s.(*ast.ImportSpec); ok && i.Path.Value == `"C"` {
					return g.Doc
				}
			}
		}
	}
	return nil
}
