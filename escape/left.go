package escape

// Files of the package that are not decided with it.

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/escape/internal/calls"
)

// left parses the files of the package that are not decided here. One that cannot be parsed is part of no
// build.
func (p *subject) left() []calls.File {
	var out []calls.File
	tests := p.testFiles()
	for k, name := range slices.Concat(p.ignored, tests) {
		if filepath.Ext(name) != ".go" {
			continue
		}
		text, err := p.read(name)
		if err != nil {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err == nil && f.Name.Name == p.types.Name() {
			out = append(out, calls.File{Name: filepath.Base(name), Tree: f, Test: k >= len(p.ignored)})
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
