package escape_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"
)

// Editors and go vet apply one suggested fix without the others: each must leave
// a package that type-checks.

// TestCasesFixesAlone applies every suggested fix of the corpus by itself.
func TestCasesFixesAlone(t *testing.T) {
	c, err := runCorpus()
	require.NoError(t, err)
	fixes := 0
	for _, r := range c.rows {
		for _, o := range c.seen[r.name] {
			fixes += o.fixes
			assert.Empty(t, o.alone, r.path)
		}
	}
	require.Greater(t, fixes, 100)
}

// alone applies the edits of one fix to the files of p and type-checks it.
func alone(p *packages.Package, edits []analysis.TextEdit) error {
	name := p.Fset.File(edits[0].Pos).Name()
	for _, e := range edits {
		if p.Fset.File(e.Pos).Name() != name {
			return errors.New("edits several files")
		}
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text, err := applyEdits(p.Fset, string(src), edits)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, f := range p.CompiledGoFiles {
		var with any
		if f == name {
			with = text
		}
		file, err := parser.ParseFile(fset, f, with, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("%w in\n%s", err, text)
		}
		files = append(files, file)
	}
	conf := types.Config{Importer: importsOf{p}}
	if _, err := conf.Check(p.PkgPath, fset, files, nil); err != nil {
		return fmt.Errorf("%w in\n%s", err, text)
	}
	return nil
}

// importsOf finds the packages that a package reaches, as they were loaded.
type importsOf struct{ p *packages.Package }

func (im importsOf) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if q := im.p.Imports[path]; q != nil {
		return q.Types, nil
	}
	var found *types.Package // an import that a fix adds
	packages.Visit([]*packages.Package{im.p}, func(q *packages.Package) bool {
		if q.PkgPath == path {
			found = q.Types
		}
		return found == nil
	}, nil)
	if found == nil {
		return nil, fmt.Errorf("package %s is not loaded", path)
	}
	return found, nil
}
