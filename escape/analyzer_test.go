package escape_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/lastuse/lastuse/escape"
)

// TestAnalyzer runs two packages, so that summaries travel as facts.
func TestAnalyzer(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), escape.Analyzer, "mem", "use")
}

// TestManual keeps the help text the package comment.
func TestManual(t *testing.T) {
	require.True(t, strings.HasPrefix(escape.Analyzer.Doc, "finds foreign buffers"), escape.Analyzer.Doc[:80])
	require.NotContains(t, escape.Analyzer.Doc, "\n//")
	for _, c := range escape.Categories {
		require.Contains(t, escape.Analyzer.Doc, c)
	}
}
