package escape_test

import (
	"bufio"
	"bytes"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"

	"github.com/lastuse/lastuse/escape"
)

// This file runs the analyzer over the corpus that cases_corpus_test.go reads,
// and compares: findings, edited sources, kept buffers, skipped functions.
//
// testdata/cases/known-failures.txt lists the rows that do not pass yet, one a
// line with the reason. It can only shrink: a listed row that passes fails the
// test.

const (
	knownFailuresFile = "testdata/cases/known-failures.txt"
	tableFile         = "../docs/cases.md"
	maxDeclined       = 15
)

// An observation is what the analyzer made of one row under one tag set.
type observation struct {
	tags    string
	found   []place           // the findings, in source order
	edited  map[string]string // the sources that the edits change, changed
	kept    []place           // text is the reason
	skipped []place
	bugs    []place
	errs    []string
	alone   []string // suggested fixes that do not stand alone
	fixes   int
	broken  []string // errors of the type checker
}

// A place is something said about a line of a row's source.
type place struct {
	file     string // relative to the row
	line     int
	category string // of a finding
	text     string
}

func (p place) String() string {
	if p.category == "" {
		return fmt.Sprintf("%s:%d %s", p.file, p.line, p.text)
	}
	return fmt.Sprintf("%s:%d %s: %s", p.file, p.line, p.category, p.text)
}

// observe writes rows as a module below dir and analyzes it once per tag set. It
// returns what was observed of the sources and of the goldens, by row.
func observe(dir string, rows []*row) (sources, goldens map[string][]*observation, err error) {
	tr, err := writeTree(dir, rows)
	if err != nil {
		return nil, nil, err
	}
	analyzer := escape.New()
	if err := analyzer.Flags.Set("spec", tr.spec); err != nil {
		return nil, nil, err
	}
	byName := map[string]*row{}
	for _, r := range rows {
		byName[r.name] = r
	}
	sources, goldens = map[string][]*observation{}, map[string][]*observation{}
	for tags, rows := range byTags(rows) {
		pkgs, err := tr.load(rows, tags)
		if err != nil {
			return nil, nil, err
		}
		graph, err := checker.Analyze([]*analysis.Analyzer{analyzer}, pkgs, nil)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range rows {
			sources[r.name] = append(sources[r.name], newObservation(tags))
			goldens[r.name] = append(goldens[r.name], newObservation(tags))
		}
		for _, act := range graph.Roots {
			name, golden := rowOf(act.Package)
			if golden {
				o := goldens[name][len(goldens[name])-1]
				o.add(byName[name], filepath.Join(dir, goldenDir, name), true, act)
			} else {
				o := sources[name][len(sources[name])-1]
				o.add(byName[name], filepath.Join(dir, name), false, act)
			}
		}
	}
	for _, all := range []map[string][]*observation{sources, goldens} {
		for _, list := range all {
			for _, o := range list {
				o.sort()
			}
		}
	}
	return sources, goldens, nil
}

func newObservation(tags string) *observation {
	return &observation{tags: tags, edited: map[string]string{}}
}

// add takes over what the analyzer said about one package.
func (o *observation) add(r *row, root string, golden bool, act *checker.Action) {
	for _, err := range act.Package.Errors {
		o.broken = append(o.broken, fmt.Sprintf("%s: %v", act.Package.ID, err))
	}
	if act.Err != nil {
		o.errs = append(o.errs, fmt.Sprintf("%s: %v", act.Package.ID, act.Err))
		return
	}
	fset := act.Package.Fset
	at := func(pos token.Pos) place {
		p := fset.Position(pos)
		rel, err := filepath.Rel(root, p.Filename)
		if err != nil {
			rel = p.Filename
		}
		return place{file: rel, line: p.Line}
	}
	for _, d := range act.Diagnostics {
		p := at(d.Pos)
		p.category, p.text = d.Category, d.Message
		o.found = append(o.found, p)
		for _, fix := range d.SuggestedFixes {
			o.fixes++
			if err := alone(act.Package, fix.TextEdits); err != nil {
				o.alone = append(o.alone, fmt.Sprintf("%v: %q: %v", p, fix.Message, err))
			}
		}
	}
	res, ok := act.Result.(*escape.Result)
	if !ok {
		o.errs = append(o.errs, fmt.Sprintf("%s: result is %T", act.Package.ID, act.Result))
		return
	}
	for _, s := range res.Skipped {
		p := at(s.Pos)
		p.text = s.Reason
		o.skipped = append(o.skipped, p)
	}
	for _, b := range res.Bugs {
		p := at(b.Pos)
		p.text = b.Text
		o.bugs = append(o.bugs, p)
	}
	edits := map[string][]analysis.TextEdit{}
	for _, f := range res.Funcs {
		for _, b := range f.Buffers {
			if b.Verdict == escape.Kept {
				p := at(b.Site)
				p.text = b.Reason
				o.kept = append(o.kept, p)
			}
		}
		for _, e := range f.Edits {
			name := fset.File(e.Pos).Name()
			edits[name] = append(edits[name], e)
		}
	}
	for name, list := range edits {
		rel, err := filepath.Rel(root, name)
		src, ok := r.sources[rel]
		if g, isGolden := r.golden[rel]; isGolden && golden {
			src = inGolden(g)
		} else if golden {
			src = inGolden(src)
		}
		if err != nil || !ok {
			o.errs = append(o.errs, fmt.Sprintf("edits for %s, which is not a source", name))
			continue
		}
		text, err := applyEdits(fset, src, list)
		if err != nil {
			o.errs = append(o.errs, fmt.Sprintf("%s: %v", rel, err))
		}
		o.edited[rel] = text
	}
}

func (o *observation) sort() {
	less := func(a, b place) int {
		if c := strings.Compare(a.file, b.file); c != 0 {
			return c
		}
		return a.line - b.line
	}
	slices.SortStableFunc(o.found, less)
	slices.SortStableFunc(o.kept, less)
	slices.SortStableFunc(o.skipped, less)
}

// applyEdits applies edits to the file they are positions in.
func applyEdits(fset *token.FileSet, src string, edits []analysis.TextEdit) (string, error) {
	slices.SortStableFunc(edits, func(a, b analysis.TextEdit) int { return int(a.Pos - b.Pos) })
	var out bytes.Buffer
	done := 0
	for _, e := range edits {
		end := e.End
		if !end.IsValid() {
			end = e.Pos
		}
		i, j := fset.PositionFor(e.Pos, false).Offset, fset.PositionFor(end, false).Offset
		if i < done || j < i || j > len(src) {
			return src, fmt.Errorf("edit %q at offsets %d to %d overlaps or is out of the file", e.NewText, i, j)
		}
		out.WriteString(src[done:i])
		out.Write(e.NewText)
		done = j
	}
	out.WriteString(src[done:])
	return out.String(), nil
}

// A run is the corpus with what the analyzer made of it.
type corpusRun struct {
	rows  []*row
	known map[string]string // known failures, by row
	seen  map[string][]*observation
	again map[string][]*observation // of the goldens
}

// runCorpus analyzes the corpus, sources and goldens, once for all tests.
var runCorpus = sync.OnceValues(func() (*corpusRun, error) {
	rows, err := readCorpus()
	if err != nil {
		return nil, err
	}
	known, err := readKnownFailures()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lastuse-cases-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	c := &corpusRun{rows: rows, known: known}
	c.seen, c.again, err = observe(dir, rows)
	return c, err
})

func readKnownFailures() (map[string]string, error) {
	f, err := os.Open(knownFailuresFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	known := map[string]string{}
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(line, " ")
		if reason = strings.TrimSpace(reason); reason == "" || known[name] != "" {
			return nil, fmt.Errorf("%s: %s: no reason, or listed twice", knownFailuresFile, name)
		}
		known[name] = reason
	}
	return known, sc.Err()
}

// problems returns what is wrong with a row, over all its tag sets. A declined row
// must see no edit and no report at all.
func (c *corpusRun) problems(r *row) []string {
	var problems []string
	for _, o := range c.seen[r.name] {
		list := r.compare(o)
		if r.fields["declined"] != "" {
			list = slices.Clone(o.errs)
			for name, text := range o.edited {
				list = append(list, fmt.Sprintf("declined, but edited:\n%s", diff.Diff(name, []byte(r.sources[name]), "got", []byte(text))))
			}
			for _, p := range o.found {
				if !slices.ContainsFunc(r.want, func(w string) bool { return matchFindings([]string{w}, []place{p}) }) {
					list = append(list, fmt.Sprintf("declined, but wrongly reported: %v", p))
				}
			}
		}
		for _, p := range list {
			if o.tags != "" {
				p = "with -tags " + o.tags + ": " + p
			}
			problems = append(problems, p)
		}
	}
	return problems
}

func TestCases(t *testing.T) {
	c, err := runCorpus()
	require.NoError(t, err)
	declined := 0
	listed := map[string]bool{}
	for _, r := range c.rows {
		if r.fields["declined"] != "" {
			declined++
		}
		t.Run(r.name, func(t *testing.T) {
			problems := c.problems(r)
			reason, isKnown := c.known[r.name]
			listed[r.name] = isKnown
			switch {
			case isKnown && len(problems) == 0:
				t.Errorf("passes, so take it off %s: %s", knownFailuresFile, reason)
			case isKnown:
				t.Skipf("known failure: %s\n%s", reason, strings.Join(problems, "\n"))
			case len(problems) > 0:
				t.Errorf("%s\ncase: %s\nverdict: %s\nnote: %s\n\n%s\n\n%s", r.path, r.fields["case"], r.verdict(), r.fields["note"],
					r.prose, strings.Join(problems, "\n"))
			}
		})
	}
	for name := range c.known {
		if len(listed) < len(c.rows) {
			break // only some were run
		}
		assert.Contains(t, listed, name, "%s lists a row that is not there", knownFailuresFile)
	}
	assert.LessOrEqual(t, declined, maxDeclined, "rows declined on purpose")
}

// TestCasesFixedPoint analyzes every golden again: no edit may be left to make.
func TestCasesFixedPoint(t *testing.T) {
	c, err := runCorpus()
	require.NoError(t, err)
	for _, r := range c.rows {
		if _, isKnown := c.known[r.name]; isKnown || len(r.golden) == 0 || r.fields["declined"] != "" {
			continue
		}
		for _, o := range c.again[r.name] {
			for name, text := range o.edited {
				src := r.sources[name]
				if g, ok := r.golden[name]; ok {
					src = g
				}
				t.Errorf("%s: a second run edits %s:\n%s", r.name, name, diff.Diff("golden", []byte(inGolden(src)), "got", []byte(text)))
			}
			for _, e := range o.errs {
				t.Errorf("%s: %s", r.name, e)
			}
		}
	}
}
