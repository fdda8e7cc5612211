package gclplugin_test

import (
	"strings"
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/lastuse/lastuse/escape"
	"github.com/lastuse/lastuse/escape/gclplugin"
)

// The settings are as golangci-lint decodes them from YAML.
type settings = map[string]any

// build makes the analyzer in the way of golangci-lint: by the name under which
// the plugin registered itself.
func build(t *testing.T, conf any) *analysis.Analyzer {
	t.Helper()
	create, err := register.GetPlugin("lastuse")
	require.NoError(t, err)
	var p register.LinterPlugin
	p, err = create(conf)
	require.NoError(t, err)
	require.Equal(t, register.LoadModeTypesInfo, p.GetLoadMode())
	as, err := p.BuildAnalyzers()
	require.NoError(t, err)
	require.Len(t, as, 1)
	require.NoError(t, analysis.Validate(as))
	return as[0]
}

func TestPlugin(t *testing.T) {
	a := build(t, settings{"spec": []any{"testdata/buf.spec"}})
	results := analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), a, "bad")
	require.Len(t, results[0].Diagnostics, 2)
	for _, d := range results[0].Diagnostics {
		require.Empty(t, d.Related, "golangci-lint counts each as a finding")
	}
}

// Two linters of one process do not see each other's settings.
func TestPluginSettings(t *testing.T) {
	loud := build(t, settings{"spec": []any{"testdata/buf.spec"}})
	quiet := build(t, settings{"spec": []any{"testdata/buf.spec"}, "skip": []any{escape.CategoryUnfreed, escape.CategoryLeak}})
	blind := build(t, nil)
	for _, c := range []struct {
		why  string
		a    *analysis.Analyzer
		want int
	}{
		{"both findings", loud, 2},
		{"their categories are skipped", quiet, 0},
		{"without the spec nothing is known of buf", blind, 0},
	} {
		// Findings that the comments want and that are not reported fail nobody here.
		results := analysistest.Run(mute{}, analysistest.TestData(), c.a, "bad")
		require.Len(t, results, 1)
		require.NoError(t, results[0].Err)
		require.Len(t, results[0].Diagnostics, c.want, c.why)
	}
}

func TestPluginRefuses(t *testing.T) {
	create, err := register.GetPlugin("lastuse")
	require.NoError(t, err)
	for why, c := range map[string]struct {
		conf any
		msg  string
	}{
		"no such category": {settings{"skip": []any{"nonsense"}}, "skip: nonsense: want some of " + strings.Join(escape.Categories, ", ")},
		"no such setting":  {settings{"specs": []any{"x"}}, "specs"},
		"a wrong type":     {settings{"spec": 1}, "settings"},
	} {
		_, err := create(c.conf)
		require.ErrorContains(t, err, c.msg, why)
	}

	// A spec that is not there is an error of the first package, with its name.
	a := build(t, settings{"spec": []any{"testdata/absent.spec"}})
	results := analysistest.Run(mute{}, analysistest.TestData(), a, "buf")
	require.ErrorContains(t, results[0].Err, "absent.spec")
}

// The constructor has the type that golangci-lint demands.
var _ register.NewPlugin = gclplugin.New

// mute takes what analysistest complains about.
type mute struct{}

func (mute) Errorf(string, ...any) {}
