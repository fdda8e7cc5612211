package lastuse_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// measured is a figure that somebody measured: a number, or a span of numbers, with a unit of time or speed,
// or as a share.
var measured = regexp.MustCompile(`[0-9][0-9.,]*(?:(?:–| to )[0-9][0-9.,]*)? (?:ns|µs|ms|[GMK]B/s|TFLOP/s|%)(?:[^\w/]|$)`)

// written are the pages that a program writes from raw files, which have tests of their own.
var written = map[string]string{
	"docs/benchmarks.md": "TestPublished of bench/report writes it again",
	"docs/cases.md":      "TestCasesTable of escape writes it again",
}

// medians are the figures of the README, which are of one set: TestPublished of bench/report looks them up.
var medians = regexp.MustCompile(`(?s)<!-- benchmarks: .*?<!-- benchmarks end -->`)

// TestFigures demands of each figure on a page that it stands, with its unit, in one of the results that the
// page links to.
func TestFigures(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]*bench/results/[^)#\s]+)`)
	code := regexp.MustCompile("(?s)```.*?```|`[^`]*`")
	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	var astray []string
	figures := 0
	for _, page := range append(pages, "README.md", "CHANGELOG.md") {
		page = filepath.ToSlash(page)
		if written[page] != "" {
			continue
		}
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		prose := code.ReplaceAllString(strings.ReplaceAll(medians.ReplaceAllString(string(text), ""), "\n", " "), "")
		var results strings.Builder
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			result, err := os.ReadFile(filepath.Join(filepath.Dir(page), m[1]))
			require.NoError(t, err, page)
			results.WriteString(strings.Join(strings.Fields(string(result)), " ") + "\n")
		}
		for _, m := range measured.FindAllString(prose, -1) {
			figures++
			if figure := strings.TrimRight(m, " ,.;:)|-*"); !strings.Contains(results.String(), figure) {
				astray = append(astray, fmt.Sprintf("%s: %s", page, figure))
			}
		}
	}
	require.NotZero(t, figures)
	require.Empty(t, astray, "figures that are in no result which their page links to")
}
