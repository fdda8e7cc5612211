// Package gclplugin makes lastuse a linter of golangci-lint, as a module plugin:
// "golangci-lint custom" builds a golangci-lint that has it, from these lines in
// .custom-gcl.yml:
//
//	version: v2.15.0
//	plugins:
//	  - module: github.com/lastuse/lastuse
//	    import: github.com/lastuse/lastuse/escape/gclplugin
//	    version: latest
//
// The custom binary runs it if .golangci.yml says so:
//
//	linters:
//	  enable: [lastuse]
//	  settings:
//	    custom:
//	      lastuse:
//	        type: module
//	        settings:
//	          spec: [ci/gpu.spec]   # files with effects of functions
//	          skip: [late]          # categories that are not reported
//
// golangci-lint applies each fix by itself: what the command promises of -fix
// (functions as a whole, type-checked before they are written) holds for the
// command alone.
//
// The package is apart from the analyzer, so that nothing of golangci-lint is
// linked into programs that use the analyzer without it.
package gclplugin

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/lastuse/lastuse/escape"
)

func init() { register.Plugin("lastuse", New) }

// Settings are what .golangci.yml may say under settings of the linter.
type Settings struct {
	// Spec names files with effects of functions, relative to the folder that
	// golangci-lint runs in. lastuse.spec beside go.mod is read in any case.
	Spec []string `json:"spec"`
	// Skip names categories that are not reported.
	Skip []string `json:"skip"`
}

// New makes the plugin from the settings, which are nil or what the YAML file
// decodes to. A name of a setting or category that does not exist is an error.
func New(settings any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[Settings](settings)
	if err != nil {
		return nil, fmt.Errorf("lastuse: settings: %w", err)
	}
	for _, name := range s.Skip {
		if !slices.Contains(escape.Categories, name) {
			return nil, fmt.Errorf("lastuse: settings: skip: %s: want some of %s", name, strings.Join(escape.Categories, ", "))
		}
	}
	return &plugin{s}, nil
}

type plugin struct{ settings Settings }

// GetLoadMode asks for types: the analyzer needs them, and facts of imports.
func (*plugin) GetLoadMode() string { return register.LoadModeTypesInfo }

// BuildAnalyzers returns one analyzer with flags of its own.
func (p *plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	a := escape.New()
	for _, name := range p.settings.Spec {
		abs, err := filepath.Abs(name) // golangci-lint may change its folder
		if err != nil {
			return nil, fmt.Errorf("lastuse: settings: spec: %w", err)
		}
		if err := a.Flags.Set("spec", abs); err != nil {
			return nil, fmt.Errorf("lastuse: settings: spec: %w", err)
		}
	}
	p.adapt(a)
	return []*analysis.Analyzer{a}, nil
}

// adapt words findings for golangci-lint, which shows no category, and takes each
// related position for a finding of its own, one that a fix does not end. So the
// message says both. Categories that are skipped are not reported; their facts
// stay: other packages need them.
func (p *plugin) adapt(a *analysis.Analyzer) {
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		mine := *pass
		mine.Report = func(d analysis.Diagnostic) {
			if slices.Contains(p.settings.Skip, d.Category) {
				return
			}
			d.Message = d.Category + ": " + d.Message
			for _, r := range d.Related {
				at := pass.Fset.Position(r.Pos)
				d.Message += fmt.Sprintf("; %s:%d: %s", filepath.Base(at.Filename), at.Line, r.Message)
			}
			d.Related = nil
			pass.Report(d)
		}
		return run(&mine)
	}
}
