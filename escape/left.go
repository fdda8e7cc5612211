package escape

// Files of the package that are not decided with it.

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/lastuse/lastuse/escape/internal/calls"
)

// left parses the files of the package that are not decided here.
func (p *subject) left() []calls.File {
	return append(p.parsed(p.ignored, false), p.parsed(p.testFiles(), true)...)
}

// parsed parses files. One that cannot be parsed is part of no build.
func (p *subject) parsed(names []string, tests bool) []calls.File {
	var out []calls.File
	for _, name := range names {
		if filepath.Ext(name) != ".go" {
			continue
		}
		text, err := p.read(name)
		if err != nil {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err == nil && f.Name.Name == p.types.Name() {
			out = append(out, calls.File{Name: filepath.Base(name), Tree: f, Test: tests})
		}
	}
	return out
}

// testFiles lists the tests beside the package's files that are not decided with it.
func (p *subject) testFiles() []string {
	if p.dir == "" {
		return nil
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return nil
	}
	here := map[string]bool{}
	for _, f := range p.files {
		here[filepath.Base(p.fset.PositionFor(f.Package, false).Filename)] = true
	}
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "_test.go") && !here[e.Name()] {
			out = append(out, filepath.Join(p.dir, e.Name()))
		}
	}
	return out
}
