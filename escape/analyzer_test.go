package escape_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/lastuse/lastuse/escape"
)

// TestAnalyzer runs two packages, so that summaries travel as facts.
func TestAnalyzer(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), escape.Analyzer, "mem", "use")
}

// TestNogo runs it as nogo does, the driver of Bazel's rules_go: without a function
// that reads files.
func TestNogo(t *testing.T) {
	a := escape.New()
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		bare := *pass
		bare.ReadFile, bare.Module = nil, nil
		return run(&bare)
	}
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), a, "mem", "use")
}

// TestManual keeps the help text the package comment.
func TestManual(t *testing.T) {
	require.True(t, strings.HasPrefix(escape.Analyzer.Doc, "finds foreign buffers"), escape.Analyzer.Doc[:80])
	require.NotContains(t, escape.Analyzer.Doc, "\n//")
	for _, c := range escape.Categories {
		require.Contains(t, escape.Analyzer.Doc, c)
	}
}
