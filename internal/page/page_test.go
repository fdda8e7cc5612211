package page

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t *testing.T, name string) string {
	b, err := fs.ReadFile(Files(), name)
	require.NoError(t, err)
	return string(b)
}

// TestClosed holds the files to the policy of the pages: nothing inline, nothing from elsewhere, no markup
// made of text, and nobody named but beside it.
func TestClosed(t *testing.T) {
	names, err := fs.Glob(Files(), "*.*s")
	require.NoError(t, err)
	require.Len(t, names, 6)
	for _, name := range names {
		text := read(t, name)
		for _, bad := range []string{"http:", "https:", "innerHTML", "outerHTML", "insertAdjacent", "document.write",
			"eval(", "style=", "onclick=", "<style", "javascript:", "@import", "url(", `from "/`} {
			require.NotContains(t, text, bad, name)
		}
	}
	require.Contains(t, read(t, "uplot/LICENSE"), "MIT License")
}

// TestFits holds them to what a small screen and a change of theme take: tables scroll by themselves, and
// what is drawn with the colours of the page is drawn anew.
func TestFits(t *testing.T) {
	require.Contains(t, read(t, "base.css"), ".scroll { overflow-x: auto; }")
	_, after, ok := strings.Cut(read(t, "chart.js"), `matchMedia("(prefers-color-scheme: dark)").addEventListener("change", `)
	require.True(t, ok)
	require.Regexp(t, `^\(\) => this\.again\(\)\)`, after, "its labels have the ink of the theme before")
}
