package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// seriesFile has the foreign heap over time, beside the part's raw file.
const seriesFile = "early-series.txt"

// runNumber tells the runs of one form of a program apart; here they are runs of one benchmark.
var runNumber = regexp.MustCompile(`(?m)^(Benchmark(?:Early|ByHand)/\S+)/run=[0-9]+`)

// runEarly runs the programs in their four forms.
func runEarly(r *raw) error {
	series := filepath.Join(r.dir(), seriesFile)
	if err := os.RemoveAll(series); err != nil {
		return err
	}
	rounds, smaller := 21, 1
	if r.quick {
		rounds, smaller = r.count(), quickSmaller
	}
	out, _, err := r.command(20*time.Minute, nil, filepath.Join(r.bin, "early.test"), "-test.run=^$", "-test.bench=^BenchmarkEarly$", "-test.benchtime=1x",
		"-early.series="+series, fmt.Sprint("-early.rounds=", rounds), fmt.Sprint("-early.smaller=", smaller))
	r.lines(runNumber.ReplaceAll(out, []byte("$1")), "")
	return err
}

// forms are the forms of the programs of bench/early, as tables name them.
var forms = map[string]string{"collector": "no frees", "defer": "deferred", "lastuse": "rewritten by lastuse", "hand": "by hand"}

// earlyTables makes the table of what early release is worth.
func earlyTables(f *rawFile, add addTable) {
	t := &table{head: []string{"program", "frees", "peak", "mean", "wall", "of the time by hand", "collections", "late frees", "batch"}}
	for _, r := range f.only("Early") {
		hand := f.only("Early", "program="+r.vars["program"], "frees=hand")
		ratio := ""
		if len(hand) > 0 {
			ratio = r.over(hand[0], "wall-ns").cell("ratio", digits)
		}
		count := func(unit string) string {
			m, _ := r.of(unit)
			return fmt.Sprintf("%.0f", m.value)
		}
		t.rows = append(t.rows, []string{r.vars["program"], forms[r.vars["frees"]], r.exactly("peak-B", size), r.exactly("mean-B", size),
			r.cell("wall-ns", duration), ratio, count("cycles"), count("late"), count("batch")})
	}
	add("", t)
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
		t.write(w, "")
	}
	fmt.Fprintf(w, "On %s, from [early.txt](bench/results/%s/early.txt).", machine(f), set)
}

// earlyPlots draws the foreign heap of each program in all forms, call by call, if there are samples.
func earlyPlots(raw *rawFile) ([][]*plot.Plot, error) {
	f, err := os.Open(filepath.Join(raw.dir, seriesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errEmpty
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	type key struct{ program, form string }
	series := map[key]plotter.XYs{}
	var programs, names []string
	s := bufio.NewScanner(f)
	for s.Scan() {
		fields := strings.Fields(s.Text())
		if len(fields) != 4 {
			return nil, fmt.Errorf("%s: %q", seriesFile, s.Text())
		}
		k := key{fields[0], fields[1]}
		// By calls and not by time: streams run behind the program, and all forms make the same calls.
		series[k] = append(series[k], plotter.XY{X: float64(len(series[k])), Y: plain(fields[3])})
		if !slices.Contains(programs, k.program) {
			programs = append(programs, k.program)
		}
		if !slices.Contains(names, k.form) {
			names = append(names, k.form)
		}
	}
	var grid [][]*plot.Plot
	for i, program := range programs {
		var all []line
		for _, form := range names {
			all = append(all, line{name: forms[form], points: series[key{program, form}], steps: true, dashed: form == names[len(names)-1]})
		}
		p, err := lines(program, axis{label: "calls, in their order", show: whole}, axis{label: "foreign heap", show: size, binary: true}, all)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			p.Legend = plot.NewLegend()
		}
		if i%2 == 0 {
			grid = append(grid, make([]*plot.Plot, 2))
		}
		grid[i/2][i%2] = p
	}
	if err := s.Err(); err != nil || len(grid) > 0 {
		return grid, err
	}
	return nil, errEmpty
}
