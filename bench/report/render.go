package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
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

// A shown is what a document shows of one machine.
type shown struct {
	place    string // the folder in the set, empty for the set's own machine
	files    map[string]*rawFile
	pictures map[string]string // their names, by part
}

// loadAll reads what is in the set: its own files, then those of each place.
func (b *bench) loadAll() (all []shown, err error) {
	set := filepath.Join(b.root, "bench", "results", b.set)
	places := []string{""}
	entries, err := os.ReadDir(set)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() {
			places = append(places, e.Name())
		}
	}
	var errs []error
	for _, place := range places {
		files := map[string]*rawFile{}
		for _, p := range parts {
			f, err := load(filepath.Join(set, place, p.name+".txt"))
			if err != nil {
				errs = append(errs, err)
			} else if f != nil && len(f.results) > 0 {
				files[p.name] = f
			}
		}
		if place == "" || len(files) > 0 {
			all = append(all, shown{place: place, files: files})
		}
	}
	if len(all) == 1 && len(all[0].files) == 0 {
		errs = append(errs, fmt.Errorf("there are no results in %s", set))
	}
	return all, errors.Join(errs...)
}

// render makes tables and plots of what is in the set.
func (b *bench) render() error {
	all, err := b.loadAll()
	if len(all) == 0 || len(all) == 1 && len(all[0].files) == 0 {
		return err
	}
	errs := []error{err}
	for i := range all {
		suffix := ""
		if all[i].place != "" {
			suffix = "-" + all[i].place
		}
		all[i].pictures, err = b.pictures(all[i].files, suffix)
		errs = append(errs, err)
	}
	errs = append(errs, os.WriteFile(filepath.Join(b.documents(), "benchmarks.md"), b.document(all), 0o666))
	if b.published() {
		errs = append(errs, b.readme(all[0].files))
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

// document returns docs/benchmarks.md.
func (b *bench) document(all []shown) []byte {
	var w bytes.Buffer
	w.WriteString("# Benchmarks\n\n<!-- written by go run ./bench/report: do not edit -->\n\n")
	w.WriteString("Medians of several runs, with the spread of their middle half. A difference smaller than the spread is none. " +
		"Ratios within one table are the claim, absolute times are of the machine that is named.\n\n")
	var machines []string
	on := map[string][]string{} // parts by machine
	for _, s := range all {
		for _, p := range parts {
			if f := s.files[p.name]; f != nil {
				m := machine(f)
				if !slices.Contains(machines, m) {
					machines = append(machines, m)
				}
				on[m] = append(on[m], filepath.Join(s.place, p.name))
			}
		}
	}
	for _, m := range machines {
		fmt.Fprintf(&w, "- %s: %s\n", strings.Join(on[m], ", "), m)
	}
	if !b.published() {
		fmt.Fprintf(&w, "\n%s\n", quickRule)
	}
	fmt.Fprintf(&w, "\nAgain: `go run ./bench/report -quick`, or without `-quick` for all of it. Raw files: [bench/results/%s](%s).\n\n", b.set, b.toRaw())
	// What somebody wrote about this set.
	if notes, err := os.ReadFile(filepath.Join(b.root, "bench", "results", b.set, notesFile)); err == nil {
		w.Write(append(bytes.TrimSpace(notes), "\n\n"...))
	}
	for _, p := range parts {
		fmt.Fprintf(&w, "## %s\n\n%s\n\n", strings.ToUpper(p.title[:1])+p.title[1:], p.about)
		any := false
		for _, s := range all {
			if f := s.files[p.name]; f != nil {
				any = true
				b.section(&w, p, s, f)
			}
		}
		if !any {
			w.WriteString("No results in this set.\n\n")
		}
	}
	return append(bytes.TrimRight(w.Bytes(), "\n"), '\n')
}

// section writes what one machine found in a part.
func (b *bench) section(w *bytes.Buffer, p part, s shown, f *rawFile) {
	if s.place != "" {
		fmt.Fprintf(w, "On another machine than the set's: %s.\n\n", machine(f))
	}
	p.tables(f, func(title string, t *table) { t.write(w, title) })
	if name := s.pictures[p.name]; name != "" {
		fmt.Fprintf(w, "![%s](plots/%s.svg)\n\n", name, name)
	}
	if note := f.config["note"]; note != "" {
		fmt.Fprintf(w, "Note: %s.\n\n", note)
	}
	for _, m := range f.missing {
		fmt.Fprintf(w, "Missing: %s\n\n", m)
	}
	for _, u := range f.unusable {
		fmt.Fprintf(w, "Left out: %s\n\n", u)
	}
	if !f.complete {
		w.WriteString("This part did not run to its end.\n\n")
	}
	name := path.Join(s.place, p.name) + ".txt"
	fmt.Fprintf(w, "From [%s](%s/%s), %s of each, at a load of %s before it began.\n\n", name, b.toRaw(), name, f.runs(), f.config["load"])
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
