package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files that the report writes, in the module.
const (
	readmeFile  = "README.md"
	readmeBegin = "<!-- benchmarks: written by go run ./bench/report -->"
	readmeEnd   = "<!-- benchmarks end -->"
	pairBegin   = "<!-- pair: written by go run ./bench/report -->"
	pairEnd     = "<!-- pair end -->"
	notesFile   = "notes.md" // in a set: what its figures show, and what it lacks
)

// render makes tables and plots of what is in the set.
func (b *bench) render() error {
	files := map[string]*rawFile{}
	var errs []error
	for _, p := range parts {
		f, err := load(filepath.Join(b.dir(), p.name+".txt"))
		if err != nil {
			errs = append(errs, err)
		} else if f != nil && len(f.results) > 0 {
			files[p.name] = f
		}
	}
	if len(files) == 0 {
		return errors.Join(append(errs, fmt.Errorf("there are no results in %s", b.dir()))...)
	}
	plots, err := b.plot(files)
	errs = append(errs, err)
	doc := b.document(files, plots)
	errs = append(errs, os.WriteFile(filepath.Join(b.documents(), "benchmarks.md"), doc, 0o666))
	if b.published() {
		errs = append(errs, b.readme(files))
	}
	return errors.Join(errs...)
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

// toRaw returns the way from the document to the raw files.
func (b *bench) toRaw() string {
	if b.published() {
		return "../bench/results/" + b.set
	}
	return "."
}

// document returns docs/benchmarks.md. plots are the names of plots, by part.
func (b *bench) document(files map[string]*rawFile, plots map[string][]string) []byte {
	var w bytes.Buffer
	w.WriteString("# Benchmarks\n\n<!-- written by go run ./bench/report: do not edit -->\n\n")
	w.WriteString("Medians of several runs, with the spread of their middle half. A difference smaller than the spread is none. " +
		"Ratios within one table are the claim, absolute times are of the machine that is named.\n\n")
	var machines []string
	on := map[string][]string{} // parts by machine
	for _, p := range parts {
		if f := files[p.name]; f != nil {
			m := machine(f)
			if !slices.Contains(machines, m) {
				machines = append(machines, m)
			}
			on[m] = append(on[m], p.name)
		}
	}
	for _, m := range machines {
		fmt.Fprintf(&w, "- %s: %s\n", strings.Join(on[m], ", "), m)
	}
	fmt.Fprintf(&w, "\nAgain: `go run ./bench/report -quick`, or without `-quick` for all of it. Raw files: [bench/results/%s](%s).\n\n", b.set, b.toRaw())
	// What somebody wrote about this set.
	if notes, err := os.ReadFile(filepath.Join(b.dir(), notesFile)); err == nil {
		w.Write(append(bytes.TrimSpace(notes), "\n\n"...))
	}
	for _, p := range parts {
		f := files[p.name]
		fmt.Fprintf(&w, "## %s\n\n%s\n\n", strings.ToUpper(p.title[:1])+p.title[1:], p.about)
		if f == nil {
			w.WriteString("No results in this set.\n\n")
			continue
		}
		all, titles := p.tables(f)
		for i, t := range all {
			if titles[i] != "" {
				fmt.Fprintf(&w, "%s:\n\n", titles[i])
			}
			t.write(&w)
		}
		for _, name := range plots[p.name] {
			fmt.Fprintf(&w, "![%s](plots/%s.svg)\n\n", name, name)
		}
		if note := f.config["note"]; note != "" {
			fmt.Fprintf(&w, "Note: %s.\n\n", note)
		}
		for _, m := range f.missing {
			fmt.Fprintf(&w, "Missing: %s\n\n", m)
		}
		for _, u := range f.unusable {
			fmt.Fprintf(&w, "Left out: %s\n\n", u)
		}
		if !f.complete {
			w.WriteString("This part did not run to its end.\n\n")
		}
		fmt.Fprintf(&w, "From [%s.txt](%s/%s.txt), at a load of %s before it began.\n\n", p.name, b.toRaw(), p.name, f.config["load"])
	}
	return append(bytes.TrimRight(w.Bytes(), "\n"), '\n')
}

// machine says which machine a file is from.
func machine(f *rawFile) string {
	c := f.config
	s := fmt.Sprintf("%s, %s cores, Linux %s, %s, commit %s, mode %s", c["cpu"], c["cores"], c["kernel"], c["go"], c["commit"], c["mode"])
	if c["gpu"] != "none" && c["gpu"] != "" {
		s += ", " + c["gpu"] + " with driver " + c["driver"]
	}
	return s
}

// readme writes the short tables between their markers, if the README has them.
func (b *bench) readme(files map[string]*rawFile) error {
	name := filepath.Join(b.root, readmeFile)
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text := string(old)
	var w bytes.Buffer
	if f := files["pair"]; f != nil {
		shortPair(&w, f, b.set)
		if text, err = between(text, pairBegin, pairEnd, w.String()); err != nil {
			return err
		}
		w.Reset()
	}
	if f := files["early"]; f != nil {
		shortEarly(&w, f, b.set)
	}
	w.WriteString(" More tables, peers and plots: [docs/benchmarks.md](docs/benchmarks.md).\n")
	if text, err = between(text, readmeBegin, readmeEnd, w.String()); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o666)
}

// between puts body between two markers of text, if it has the first.
func between(text, begin, end, body string) (string, error) {
	before, rest, ok := strings.Cut(text, begin)
	if !ok {
		return text, nil
	}
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("%s: %q without %q", readmeFile, begin, end)
	}
	return before + begin + "\n" + body + end + after, nil
}

// shortEarly writes the README's table of early release: peak and largest batch, a row for each program.
func shortEarly(w *bytes.Buffer, f *rawFile, set string) {
	for _, c := range []struct{ title, unit string }{{"peak of the foreign heap", "peak-B"}, {"largest batch that fits in 64 MiB", "batch"}} {
		show := size
		if c.unit == "batch" {
			show = whole
		}
		t := pivotCells(f.only("Early"), "program", "frees", func(r *result) string { return r.exactly(c.unit, show) })
		for i, form := range t.head {
			if name, ok := forms[form]; ok {
				t.head[i] = name
			}
		}
		t.head[0] = c.title
		t.write(w)
	}
	fmt.Fprintf(w, "On %s, from [early.txt](bench/results/%s/early.txt).", machine(f), set)
}
