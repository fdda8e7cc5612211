package escape_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
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

var updateTable = flag.Bool("update-cases", false, "write docs/cases.md")

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

// compare returns what differs between what r wants and what was observed.
func (r *row) compare(o *observation) []string {
	problems := slices.Clone(o.errs)
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for _, b := range o.bugs {
		say("the analyzer disagrees with itself: %v", b)
	}
	for name, src := range r.sources {
		want, got := src, src
		if g, ok := r.golden[name]; ok {
			want = g
		}
		if g, ok := o.edited[name]; ok {
			got = g
		}
		if got == want {
			continue
		}
		switch {
		case want == src:
			say("%s must stay as it is:\n%s", name, diff.Diff(name, []byte(src), "got", []byte(got)))
		case got == src:
			say("%s is not edited, wanted:\n%s", name, diff.Diff(name, []byte(src), "want", []byte(want)))
		case sameButNames(src, got, want):
			say("%s differs in names of temporaries only:\n%s", name, diff.Diff("want", []byte(want), "got", []byte(got)))
		default:
			say("%s is edited in another way:\n%s", name, diff.Diff("want", []byte(want), "got", []byte(got)))
		}
	}
	if !matchFindings(r.want, o.found) {
		say("findings differ:\nwant:\n%s\ngot:\n%s", indent(r.want), indent(o.found))
	}
	for _, k := range r.kept {
		if !slices.ContainsFunc(o.kept, func(p place) bool { return matchPlace(k, p) }) {
			say("not kept for that reason: %s\nkept:\n%s", k, indent(o.kept))
		}
	}
	for _, s := range r.skipped {
		if !slices.ContainsFunc(o.skipped, func(p place) bool { return matchPlace(s, p) }) {
			say("not skipped for that reason: %s\nskipped:\n%s", s, indent(o.skipped))
		}
	}
	if len(r.skipped) == 0 && len(o.skipped) > 0 {
		say("skipped:\n%s", indent(o.skipped))
	}
	return problems
}

var wantLine = regexp.MustCompile(`^(\S+:\d+) (\??)([a-z|-]+):(.*)$`)

// matchFindings compares the lines of a want file with the findings. The order
// within a line of the source is free.
func matchFindings(want []string, got []place) bool {
	rest := slices.Clone(got)
	for _, w := range want {
		m := wantLine.FindStringSubmatch(w)
		if m == nil {
			return false
		}
		re := regexp.MustCompile(strings.TrimSpace(m[4]))
		i := slices.IndexFunc(rest, func(p place) bool {
			return fmt.Sprintf("%s:%d", p.file, p.line) == m[1] &&
				slices.Contains(strings.Split(m[3], "|"), p.category) && re.MatchString(p.text)
		})
		if i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		} else if m[2] == "" {
			return false
		}
	}
	return len(rest) == 0
}

// matchPlace reports whether p is what a line FILE:LINE REGEXP wants.
func matchPlace(line string, p place) bool {
	where, re, _ := strings.Cut(line, " ")
	return fmt.Sprintf("%s:%d", p.file, p.line) == where && regexp.MustCompile(strings.TrimSpace(re)).MatchString(p.text)
}

func indent[T any](list []T) string {
	var b strings.Builder
	for _, x := range list {
		fmt.Fprintf(&b, "\t%v\n", x)
	}
	if len(list) == 0 {
		b.WriteString("\t(none)\n")
	}
	return b.String()
}

// sameButNames reports whether a and b differ only in identifiers that src does
// not have: the names of temporaries that the edits invent.
func sameButNames(src, a, b string) bool {
	known := map[string]bool{}
	for _, t := range tokens(src) {
		known[t] = true
	}
	ta, tb := tokens(a), tokens(b)
	if len(ta) != len(tb) {
		return false
	}
	there, back := map[string]string{}, map[string]string{}
	for i := range ta {
		x, y := ta[i], tb[i]
		if x == y && known[x] {
			continue
		}
		if !token.IsIdentifier(x) || !token.IsIdentifier(y) || known[x] && known[y] {
			return x == y
		}
		if v, ok := there[x]; ok && v != y {
			return false
		}
		if v, ok := back[y]; ok && v != x {
			return false
		}
		there[x], back[y] = y, x
	}
	return true
}

func tokens(src string) []string {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(src)), []byte(src), nil, scanner.ScanComments)
	var list []string
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return list
		}
		if lit == "" || tok == token.SEMICOLON {
			lit = tok.String()
		}
		list = append(list, lit)
	}
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

// got words what the analyzer did with a row, in the terms of a verdict.
func (c *corpusRun) got(r *row) string {
	categories := map[string]bool{}
	edited, kept, skipped := false, false, false
	for _, o := range c.seen[r.name] {
		for _, p := range o.found {
			categories[p.category] = true
		}
		edited = edited || len(o.edited) > 0
		kept = kept || len(o.kept) > 0
		skipped = skipped || len(o.skipped) > 0
	}
	var words []string
	for _, category := range escape.Categories {
		if categories[category] {
			words = append(words, category)
		}
	}
	if edited {
		words = append(words, "edit")
	}
	if len(words) == 0 {
		words = append(words, "nothing")
	}
	if kept {
		words = append(words, "kept")
	}
	if skipped {
		words = append(words, "skipped")
	}
	return strings.Join(words, ", ")
}

// table writes docs/cases.md.
func (c *corpusRun) table() string {
	var b, body strings.Builder
	asWanted, declined, total := 0, 0, 0
	section := ""
	for _, r := range c.rows {
		group := strings.TrimRight(r.name, "0123456789")
		if group != section {
			section = group
			fmt.Fprintf(&body, "\n## %s\n\n| row | case | verdict wanted | got | note |\n|---|---|---|---|---|\n", sections[group])
		}
		note := r.fields["note"]
		state := "as wanted: " + c.got(r)
		switch reason, isKnown := c.known[r.name]; {
		case r.fields["declined"] != "":
			state, note = "declined: "+c.got(r), r.fields["declined"]
		case isKnown:
			state, note = "differs: "+c.got(r), reason
		case len(c.problems(r)) > 0:
			state = "differs: " + c.got(r)
		}
		if group != "R" && group != "N" {
			total++
			if strings.HasPrefix(state, "as wanted") {
				asWanted++
			}
			if strings.HasPrefix(state, "declined") {
				declined++
			}
		}
		fmt.Fprintf(&body, "| %s | %s | %s | %s | %s |\n", r.name, cell(r.fields["case"]), r.verdict(), cell(state), cell(note))
	}
	b.WriteString(tableHead)
	fmt.Fprintf(&b, "%d of %d rows as wanted, %d declined.\n", asWanted, total, declined)
	b.WriteString(body.String())
	return b.String()
}

var sections = map[string]string{
	"E": "Error tuples, branches, exits",
	"D": "Defer",
	"L": "Loops, phis, reassignment",
	"A": "Aliases, views, returns",
	"F": "Containers and fields",
	"C": "Closures, goroutines, channels",
	"I": "Interprocedural, generics, dispatch",
	"G": "Device-specific",
	"X": "Rewriting mechanics",
	"R": "The scenarios of Rust's dynamic-drop test",
	"N": "Found since",
}

const tableHead = `# Hard cases

<!-- Generated by: go test ./escape -run TestCasesTable -update-cases -->

Small programs that a last-use analyzer for Go must decide, each a file of
[escape/testdata/cases](../escape/testdata/cases),
[escape/testdata/dynamicdrop](../escape/testdata/dynamicdrop) or
[escape/testdata/found](../escape/testdata/found) with its source, the source after
the fix, the findings and the reason; the count below is of the first. Most are
written twice: with alloc.Buffer, a value whose Free may be repeated, and with a
pointer type that only a spec describes and whose second free is an error.

Verdicts: INS, frees are inserted; GUARD, under a nil check; LEAVE, no edit and no
report; DIAG, a report of what the program itself does wrong; NOEDIT, a report
without a fix. A row with several verdicts has several functions. What was got is
told by the categories of the findings, whether the source was edited, and whether
a buffer was kept or a function skipped with a reason.

This table is written by running them:

    go test ./escape -run TestCasesTable -update-cases

`

// cell makes text fit for a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(text)
}

func TestCasesTable(t *testing.T) {
	c, err := runCorpus()
	require.NoError(t, err)
	want := c.table()
	if *updateTable {
		require.NoError(t, os.WriteFile(tableFile, []byte(want), 0o666))
	}
	got, err := os.ReadFile(tableFile)
	require.NoError(t, err)
	if string(got) != want {
		t.Errorf("%s is out of date, run go test ./escape -run TestCasesTable -update-cases:\n%s",
			tableFile, diff.Diff("there", got, "now", []byte(want)))
	}
}
