package proof_test

import (
	"fmt"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"

	"github.com/lastuse/lastuse/escape/internal/proof"
	"github.com/lastuse/lastuse/escape/spec"
)

// A module is packages on disk, with what the proof needs to know of them.
type module struct {
	dir   string
	specs *spec.Set
	pkgs  map[string]*packages.Package
	facts map[*types.Func]*proof.Summary
}

// loadModule loads packages of a folder with all that they import, and summarizes
// these, imports first.
func loadModule(t testing.TB, dir string, specs []string, patterns ...string) *module {
	t.Helper()
	set, err := spec.Load(specs, "")
	require.NoError(t, err)
	cfg := &packages.Config{Mode: packages.LoadAllSyntax | packages.NeedModule, Dir: dir,
		Env: append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off")}
	roots, err := packages.Load(cfg, patterns...)
	require.NoError(t, err)
	m := &module{dir: dir, specs: set, pkgs: map[string]*packages.Package{},
		facts: map[*types.Func]*proof.Summary{}}
	packages.Visit(roots, nil, func(p *packages.Package) {
		m.pkgs[p.PkgPath] = p
		if p.Module == nil {
			return // the standard library: specs speak for it
		}
		for _, err := range p.Errors {
			t.Errorf("%s: %v", p.PkgPath, err)
		}
		own := m.directives(t, p)
		sums, err := proof.SummarizeSource(&proof.Source{Fset: p.Fset, Files: p.Syntax, Types: p.Types,
			Info: p.TypesInfo, Specs: own, Facts: m.fact})
		require.NoError(t, err)
		maps.Copy(m.facts, sums)
		// What its directives say, others take as said.
		for _, l := range own.Lines() {
			if l.Level == spec.Directive {
				m.specs.AddLine(l, spec.Dependency)
			}
		}
	})
	return m
}

func (m *module) fact(f *types.Func) *proof.Summary { return m.facts[f] }

// sums returns what is known of the functions of a package.
func (m *module) sums(path string) map[*types.Func]*proof.Summary {
	sums := map[*types.Func]*proof.Summary{}
	for f, s := range m.facts {
		if f.Pkg() == m.pkgs[path].Types {
			sums[f] = s
		}
	}
	return sums
}

func (m *module) directives(t testing.TB, p *packages.Package) *spec.Set {
	set := m.specs.Fork()
	for _, f := range p.Syntax {
		lines, err := spec.Directives(p.Fset, f, p.TypesInfo)
		require.NoError(t, err)
		for _, l := range lines {
			set.AddLine(l, spec.Directive)
		}
	}
	return set
}

// Import returns a package as the loaded ones import it.
func (m *module) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := m.pkgs[path]; p != nil {
		return p.Types, nil
	}
	return nil, fmt.Errorf("%s is not loaded", path)
}

// check proves the edits that make new of the files of a package; new is by base name.
func (m *module) check(t testing.TB, path string, new map[string]string,
	sums map[*types.Func]*proof.Summary) *proof.Report {
	t.Helper()
	p := m.pkgs[path]
	require.NotNil(t, p, path)
	in := &proof.Input{Path: path, Import: m, Specs: m.directives(t, p), Facts: m.fact, Sums: sums}
	for _, name := range p.CompiledGoFiles {
		old, err := os.ReadFile(name)
		require.NoError(t, err)
		f := proof.File{Name: name, Old: old}
		if text, ok := new[filepath.Base(name)]; ok {
			f.New = []byte(text)
		}
		in.Files = append(in.Files, f)
	}
	return proof.Check(in)
}

// TestCorpus proves what the analyzer's goldens say must be done.
func TestCorpus(t *testing.T) {
	dir := t.TempDir()
	root, err := filepath.Abs("../../testdata")
	require.NoError(t, err)
	var names []string
	for _, d := range []string{"cases", "dynamicdrop", "found"} {
		list, err := filepath.Glob(filepath.Join(root, d, "*.txtar"))
		require.NoError(t, err)
		names = append(names, list...)
	}
	mod := "module row.test\n\ngo 1.26.0\n\n"
	for _, r := range [][2]string{
		{"github.com/lastuse/lastuse", "lastuse"}, {"gpu.test/buf", "buf"}, {"golang.org/x/sync", "sync"}} {
		mod += fmt.Sprintf("require %s v0.0.0\nreplace %[1]s => %s\n", r[0], filepath.Join(root, "fake", r[1]))
	}
	write(t, filepath.Join(dir, "go.mod"), mod)
	specText, err := os.ReadFile(filepath.Join(root, "fake", "buf", "lastuse.spec"))
	require.NoError(t, err)
	text := string(specText)
	golden := map[string]map[string]string{} // package → file → text
	for _, name := range names {
		ar, err := txtar.ParseFile(name)
		require.NoError(t, err)
		row := strings.TrimSuffix(filepath.Base(name), ".txtar")
		if strings.Contains(string(ar.Comment), "\ntags:") {
			continue
		}
		for _, f := range ar.Files {
			if base, ok := strings.CutSuffix(f.Name, ".golden"); ok {
				pkg := "row.test/" + row + "/" + filepath.Dir(base)
				if golden[pkg] == nil {
					golden[pkg] = map[string]string{}
				}
				golden[pkg][filepath.Base(base)] = string(f.Data)
				continue
			}
			if f.Name == "lastuse.spec" {
				text += "\n" + string(f.Data)
			}
			if strings.HasSuffix(f.Name, ".go") {
				write(t, filepath.Join(dir, row, f.Name), string(f.Data))
			}
		}
	}
	write(t, filepath.Join(dir, "all.spec"), text)
	m := loadModule(t, dir, []string{filepath.Join(dir, "all.spec")}, "./...")
	accepted, all := 0, 0
	for _, pkg := range slices.Sorted(maps.Keys(golden)) {
		if m.pkgs[pkg] == nil {
			continue
		}
		report := m.check(t, pkg, golden[pkg], nil)
		assert.Equal(t, report, m.check(t, pkg, golden[pkg], m.sums(pkg)), "with what is known of the original")
		for _, v := range report.Edits {
			if all++; v.Accepted() {
				accepted++
				continue
			}
			t.Logf("%s:%d %s %q: %v", strings.TrimPrefix(pkg, "row.test/"), v.Pos.Line, v.Kind, v.Text, v.Why)
		}
	}
	t.Logf("accepted %d of %d", accepted, all)
	assert.GreaterOrEqual(t, accepted*100, all*92)
}

func write(t testing.TB, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
}
