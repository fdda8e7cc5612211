package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot"
)

// A section is a subject of docs/benchmarks.md: a sentence, a picture and a table.
type section struct {
	part, title, about string
	table              func(*rawFile) [][]string // its first row is the head
	picture            func(*rawFile) ([][]*plot.Plot, error)
}

var sections = []section{
	{"early", "What early release is worth", "The peak of the foreign heap in four programs, and the largest " +
		"batch that fits in 64 MiB: rewritten by lastuse they hold what an expert's frees hold, byte for byte.",
		earlyTable, earlyPicture},
	{"pair", "A Make with its Free", "Time of a pair on a warm pool of a GPU's memory, counters, sampled call " +
		"sites and safety net on, beside what C++ programs pay for the allocation alone.", pairTable, pairPicture},
	{"trace", "Programs replayed", "What recorded programs asked of PyTorch's allocator, and RMM's " +
		"random_allocations, replayed on fresh pools: reserved over asked for, and the time of an event, warm.",
		traceTable, tracePicture},
	{"memwatch", "Being watched", "What a watcher adds to each call of a driver that costs next to nothing, " +
		"in the program that is watched and in a bystander with the same driver.", watchedTable, watchedPicture},
	{"analyzer", "What the analysis costs", "Processor time of go vet with lastuse, and with nilness, which " +
		"builds an SSA form too, on this module: all of it in the table, more and more of it in the plot.",
		analyzerTable, analyzerPicture},
}

// loadAll reads what is in the set.
func (b *bench) loadAll() (map[string]*rawFile, error) {
	names, err := filepath.Glob(b.file("*"))
	files := map[string]*rawFile{}
	for _, name := range names {
		f, loadErr := load(name)
		if err = errors.Join(err, loadErr); loadErr == nil {
			files[strings.TrimSuffix(filepath.Base(name), ".txt")] = f
		}
	}
	if len(files) == 0 {
		err = errors.Join(err, fmt.Errorf("there are no results in %s", b.dir()))
	}
	return files, err
}

// published reports whether the set is for docs/ and the README: all are but a quick one.
func (b *bench) published() bool { return b.set != "quick" }

// documents returns the folder of benchmarks.md and the plots.
func (b *bench) documents() string {
	if b.published() {
		return filepath.Join(b.root, "docs")
	}
	return b.dir()
}

// render makes tables and plots of what is in the set.
func (b *bench) render() error {
	files, err := b.loadAll()
	if err != nil {
		return err
	}
	doc, err := b.document(files)
	if err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(b.documents(), "benchmarks.md"), doc, 0o666)
	if err != nil || !b.published() {
		return err
	}
	return b.readme(files)
}

// document returns benchmarks.md, and draws its pictures.
func (b *bench) document(files map[string]*rawFile) ([]byte, error) {
	raw := "."
	if b.published() {
		raw = "../bench/results/" + b.set
	}
	var w bytes.Buffer
	fmt.Fprintf(&w, `# Benchmarks

<!-- written by go run ./bench/report: do not edit -->

Peers are processes that are asked in turn, pinned to one processor. A figure is the median, behind ± the
interval that holds it with 95 %%. Ratios within a table are the claim, times are of the machine. All else is
in the [raw files](%s), which `+"`benchstat -col /pool`"+` reads. Again:
`+"`go run ./bench/report`, with `-quick` in a minute.\n", raw)
	for _, m := range machines(files) {
		fmt.Fprintf(&w, "\n%s", m)
	}
	w.WriteString("\n")
	var missing []string
	for _, s := range sections {
		f := files[s.part]
		if f == nil {
			continue
		}
		fmt.Fprintf(&w, "\n## %s\n\n%s\n\n", s.title, wrap(s.about))
		grid, err := s.picture(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.part, err)
		}
		if grid != nil {
			if err := b.save(s.part, grid); err != nil {
				return nil, err
			}
			fmt.Fprintf(&w, "![%s](plots/%s.svg)\n\n", s.title, s.part)
		}
		writeTable(&w, s.table(f))
		for _, m := range f.missing {
			missing = append(missing, s.part+": "+m)
		}
	}
	w.WriteString("\n## What is missed\n\n")
	all := goals(files)
	for _, line := range misses(all, raw) {
		fmt.Fprintln(&w, item(line))
	}
	for _, m := range missing {
		fmt.Fprintln(&w, item("Not measured: "+m))
	}
	all = slices.DeleteFunc(all, func(v verdict) bool { return !v.known() })
	fmt.Fprintf(&w, "\nThe others of %d goals are met; bench/report/goals.go has them.\n", len(all))
	return w.Bytes(), nil
}

// machines says which parts are of which machine and commit.
func machines(files map[string]*rawFile) (all []string) {
	var order []string
	on := map[string][]string{}
	for _, part := range slices.Sorted(maps.Keys(files)) {
		m := machine(files[part])
		if on[m] == nil {
			order = append(order, m)
		}
		on[m] = append(on[m], part)
	}
	for _, m := range order {
		all = append(all, item(strings.Join(on[m], ", ")+": "+m))
	}
	return all
}

// writeTable writes rows as Markdown, the first as the head, numbers to the right.
func writeTable(w *bytes.Buffer, rows [][]string) {
	for i, row := range rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(w, "|---|%s\n", strings.Repeat("---:|", len(row)-1))
		}
	}
}

// wrap breaks a paragraph where a line gets too long.
func wrap(text string) string {
	var lines []string
	for word := range strings.FieldsSeq(text) {
		if n := len(lines) - 1; n >= 0 && utf8.RuneCountInString(lines[n]+word) < 108 {
			lines[n] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return strings.Join(lines, "\n")
}

// item is a paragraph in a list.
func item(text string) string { return "- " + strings.ReplaceAll(wrap(text), "\n", "\n  ") }

// Where the README has its figures.
const (
	readmeFile  = "README.md"
	readmeBegin = "<!-- benchmarks: written by go run ./bench/report -->"
	readmeEnd   = "<!-- benchmarks end -->"
)

// readme writes the README's three numbers between their markers.
func (b *bench) readme(files map[string]*rawFile) error {
	name := filepath.Join(b.root, readmeFile)
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), readmeBegin)
	_, after, ok2 := strings.Cut(rest, readmeEnd)
	if !ok || !ok2 {
		return fmt.Errorf("%s: there is no %q with %q behind it", readmeFile, readmeBegin, readmeEnd)
	}
	var w bytes.Buffer
	for _, l := range readmeLines {
		f := files[l.part]
		if f == nil {
			continue
		}
		var figures []any
		for _, v := range l.values {
			i := slices.IndexFunc(f.results, func(r *found) bool { return strings.HasSuffix(r.name, v) })
			if i < 0 {
				return fmt.Errorf("%s: %s has no %s", readmeFile, b.file(l.part), v)
			}
			figures = append(figures, l.show(f.results[i].of(l.unit)))
		}
		link := fmt.Sprintf(" ([%s.txt](bench/results/%s/%s.txt)).", l.part, b.set, l.part)
		fmt.Fprintln(&w, item(fmt.Sprintf(l.text, figures...)+link))
	}
	return os.WriteFile(name, []byte(before+readmeBegin+"\n"+w.String()+readmeEnd+after), 0o666)
}

// readmeLines are the README's numbers.
var readmeLines = []struct {
	part, text, unit string
	show             func(float64) string
	values           []string // how the names of their benchmarks end
}{
	{"early", "**%s** is the peak of a blur pipeline rewritten by lastuse, and by an expert's hand %s; with " +
		"deferred frees it is %s, without frees %s", "peak-B", size, []string{"blur/frees=lastuse",
		"blur/frees=hand", "blur/frees=defer", "blur/frees=collector"}},
	{"pair", "**%s** is a Make with its Free of 1 MiB on a GPU; RMM's pool takes %s, PyTorch's allocator %s, " +
		"the driver's pool %s", "ns/op", duration, []string{"Free/size=1MiB/pool=lastuse-cuda",
		"Free/size=1MiB/pool=rmm-pool", "Free/size=1MiB/pool=torch-native", "Free/size=1MiB/pool=driver-async"}},
	{"trace", "**%s** of what a recorded training run asks for is reserved for it, in `Tight` %s; by PyTorch " +
		"with expandable segments %s, by default %s", "reserved/requested", thousandth, []string{
		"train/pool=lastuse-cuda", "train/pool=lastuse-cuda-tight", "train/pool=torch-expandable",
		"train/pool=torch-native"}},
}
