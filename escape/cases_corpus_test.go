package escape_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"
)

// This file reads the corpus: one txtar archive a case, in testdata/cases (the
// hard cases, by row), testdata/dynamicdrop (the Go reading of the scenarios of
// Rust's dynamic-drop test) and testdata/found (what was once decided wrongly). All of them together are one
// module, so that they are loaded, type-checked and analyzed once.
//
// The comment of an archive begins with fields, one a line, up to an empty line;
// what follows is prose:
//
//	case: the code in one line
//	verdict: INS, GUARD, LEAVE, DIAG, NOEDIT, joined by " + "
//	note: what to know about the verdict                (optional)
//	declined: why we leave this case alone on purpose   (optional)
//	tags: none; a; a,b    analyzed once per tag set      (optional)
//	deps: folder folder   analyzed, but not reported on  (optional)
//	crlf: file            lines of this file end in CRLF (optional)
//	unformatted: file     and this one is not gofmt-ed   (optional)
//
// Its files are Go sources; FILE.golden, the source as the edits must leave it;
// want, the findings in order, as FILE:LINE CATEGORY: REGEXP (where two categories
// fit equally, CATEGORY|CATEGORY; where a report is as good as none, ?CATEGORY);
// kept, buffers that must be kept, as FILE:LINE REGEXP of the reason; skipped,
// functions that must be declined, in the same form; and lastuse.spec.

// module is the path of the module that all cases together make.
const module = "row.test"

// A row is one case of the corpus.
type row struct {
	name   string // "E1"
	path   string // of the archive
	fields map[string]string
	prose  string

	sources map[string]string // by name
	golden  map[string]string // by the name of the source
	want    []string
	kept    []string
	skipped []string
	spec    string
}

var knownFields = []string{"case", "verdict", "note", "declined", "tags", "deps", "crlf", "unformatted"}

// readRow parses one archive.
func readRow(path string) (*row, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	ar := txtar.Parse(data)
	r := &row{
		name:    strings.TrimSuffix(filepath.Base(path), ".txtar"),
		path:    path,
		fields:  map[string]string{},
		sources: map[string]string{},
		golden:  map[string]string{},
	}
	head, prose, _ := strings.Cut(string(ar.Comment), "\n\n")
	r.prose = strings.TrimSpace(prose)
	for line := range strings.Lines(head) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || !slices.Contains(knownFields, key) {
			return nil, fmt.Errorf("%s: unknown field %q", path, strings.TrimSpace(line))
		}
		r.fields[key] = strings.TrimSpace(value)
	}
	for _, f := range ar.Files {
		text := string(f.Data)
		if f.Name == r.fields["crlf"] || f.Name == r.fields["crlf"]+".golden" {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		name, isGolden := strings.CutSuffix(f.Name, ".golden")
		switch {
		case isGolden:
			r.golden[name] = text
		case f.Name == "want":
			r.want = nonEmptyLines(text)
		case f.Name == "kept":
			r.kept = nonEmptyLines(text)
		case f.Name == "skipped":
			r.skipped = nonEmptyLines(text)
		case f.Name == "lastuse.spec":
			r.spec = text
		default:
			r.sources[f.Name] = text
		}
	}
	return r, r.check()
}

// check finds archives that would prove nothing.
func (r *row) check() error {
	var errs []error
	fail := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf(r.path+": "+format, args...))
	}
	if r.fields["case"] == "" || r.fields["verdict"] == "" || r.prose == "" {
		fail("needs the fields case and verdict, and prose")
	}
	if len(r.sources) == 0 {
		fail("has no source")
	}
	for name, text := range r.golden {
		if src, ok := r.sources[name]; !ok || src == text {
			fail("%s.golden has no source or changes nothing", name)
		}
	}
	edits := strings.Contains(r.verdict(), "INS") || strings.Contains(r.verdict(), "GUARD")
	if edits != (len(r.golden) > 0) {
		fail("verdict %s does not go with %d goldens", r.verdict(), len(r.golden))
	}
	if edits && len(r.want) == 0 {
		fail("wants edits but no finding that carries them")
	}
	if r.verdict() == "LEAVE" && len(r.want) > 0 {
		fail("verdict LEAVE does not go with findings")
	}
	return errors.Join(errs...)
}

func (r *row) verdict() string { return r.fields["verdict"] }

// patterns lists the import paths of the packages to report on, in both trees.
func (r *row) patterns() []string {
	var list []string
	deps := strings.Fields(r.fields["deps"])
	for name := range r.sources {
		dir := filepath.Dir(name)
		p := module + "/" + r.name + "/" + dir
		if !strings.HasSuffix(name, ".go") || slices.Contains(deps, dir) || slices.Contains(list, p) {
			continue
		}
		list = append(list, p)
		if len(r.golden) > 0 {
			list = append(list, inGolden(p))
		}
	}
	slices.Sort(list)
	return list
}

// tagSets lists the -tags values to analyze the row with.
func (r *row) tagSets() []string {
	if r.fields["tags"] == "" {
		return []string{""}
	}
	var sets []string
	for set := range strings.SplitSeq(r.fields["tags"], ";") {
		if set = strings.TrimSpace(set); set == "none" {
			set = ""
		}
		sets = append(sets, set)
	}
	return sets
}

func nonEmptyLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// readCorpus parses every archive of testdata/cases, testdata/dynamicdrop and
// testdata/found, in the order of the rows.
func readCorpus() ([]*row, error) {
	var rows []*row
	var errs []error
	for _, dir := range []string{"cases", "dynamicdrop", "found"} {
		paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			r, err := readRow(path)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b *row) int { return slices.Compare(sortKey(a.name), sortKey(b.name)) })
	return rows, errors.Join(errs...)
}

// groups is the order of the groups of rows; the last two are dynamicdrop's and
// found's.
const groups = "EDLAFCIGXRN"

// sortKey orders names as the corpus is numbered: E2 before E10, E before D.
func sortKey(name string) []int {
	group := strings.TrimRight(name, "0123456789")
	var n int
	fmt.Sscan(name[len(group):], &n)
	return []int{strings.Index(groups, group[:1]), n}
}

// A tree is the corpus on disk.
type tree struct {
	dir  string
	spec string // every row's spec in one file
}

// The sources of row E1 lie in row.test/E1; what the edits must make of them, in
// row.test/golden/E1. Both in one module, so that what they import is analyzed once.
const goldenDir = "golden"

// inGolden rewrites the import paths and names in a file of the golden tree.
func inGolden(text string) string {
	return strings.ReplaceAll(text, module+"/", module+"/"+goldenDir+"/")
}

// writeTree writes rows as one module below dir.
func writeTree(dir string, rows []*row) (*tree, error) {
	fake, err := filepath.Abs(filepath.Join("testdata", "fake"))
	if err != nil {
		return nil, err
	}
	var mod, spec bytes.Buffer
	fmt.Fprintf(&mod, "module %s\n\ngo 1.26.0\n\n", module)
	for _, m := range [][2]string{
		{"github.com/lastuse/lastuse", "lastuse"},
		{"gpu.test/buf", "buf"},
		{"golang.org/x/sync", "sync"},
	} {
		fmt.Fprintf(&mod, "require %s v0.0.0\nreplace %[1]s => %s\n", m[0], filepath.Join(fake, m[1]))
	}
	shared, err := os.ReadFile(filepath.Join(fake, "buf", "lastuse.spec"))
	if err != nil {
		return nil, err
	}
	spec.Write(shared)

	t := &tree{dir: dir, spec: filepath.Join(dir, "all.spec")}
	files := map[string][]byte{filepath.Join(dir, "go.mod"): mod.Bytes()}
	for _, r := range rows {
		for name, text := range r.sources {
			files[filepath.Join(dir, r.name, name)] = []byte(text)
			if len(r.golden) == 0 {
				continue
			}
			if g, ok := r.golden[name]; ok {
				text = g
			}
			files[filepath.Join(dir, goldenDir, r.name, name)] = []byte(inGolden(text))
		}
		fmt.Fprintf(&spec, "\n# %s\n%s\n%s", r.name, r.spec, inGolden(r.spec))
	}
	files[t.spec] = spec.Bytes()
	for name, data := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, data, 0o666); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// load type-checks the packages of rows, which must lie in t, under a tag set.
// Where a package has tests it returns the variant with them, as vet does.
func (t *tree) load(rows []*row, tags string) ([]*packages.Package, error) {
	cfg := &packages.Config{
		Mode:  packages.LoadAllSyntax | packages.NeedModule,
		Dir:   t.dir,
		Tests: true,
		Env:   append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off"),
	}
	if tags != "" {
		cfg.BuildFlags = []string{"-tags=" + tags}
	}
	var patterns []string
	for _, r := range rows {
		patterns = append(patterns, r.patterns()...)
	}
	pkgs, err := packages.Load(cfg, patterns...)
	if err != nil {
		return nil, err
	}
	augmented := map[string]bool{}
	for _, p := range pkgs {
		if p.ID != p.PkgPath {
			augmented[p.PkgPath] = true
		}
	}
	return slices.DeleteFunc(pkgs, func(p *packages.Package) bool {
		return strings.HasSuffix(p.ID, ".test") || p.ID == p.PkgPath && augmented[p.PkgPath]
	}), nil
}

// rowOf returns the name of the row that a package belongs to, and whether it is of
// the golden tree.
func rowOf(p *packages.Package) (name string, golden bool) {
	path, golden := strings.CutPrefix(strings.TrimPrefix(p.PkgPath, module+"/"), goldenDir+"/")
	name, _, _ = strings.Cut(path, "/")
	return name, golden
}

// TestCasesCompile demands that every source and every golden of the corpus
// type-checks and is formatted, so that a case never fails for a reason of its own.
func TestCasesCompile(t *testing.T) {
	c, err := runCorpus()
	require.NoError(t, err)
	for _, r := range c.rows {
		for _, o := range slices.Concat(c.seen[r.name], c.again[r.name]) {
			assert.Empty(t, o.broken, r.path)
		}
		for _, files := range []map[string]string{r.sources, r.golden} {
			for name, text := range files {
				if name == r.fields["unformatted"] || name == r.fields["crlf"] || !strings.HasSuffix(name, ".go") {
					continue
				}
				formatted, err := format.Source([]byte(text))
				if assert.NoError(t, err, "%s: %s", r.path, name) {
					assert.Equal(t, string(formatted), text, "%s: %s is not gofmt-ed", r.path, name)
				}
			}
		}
	}
}

// byTags groups rows by the tag sets they are analyzed with.
func byTags(rows []*row) map[string][]*row {
	m := map[string][]*row{}
	for _, r := range rows {
		for _, set := range r.tagSets() {
			m[set] = append(m[set], r)
		}
	}
	return m
}
