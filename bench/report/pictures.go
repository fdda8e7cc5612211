package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/lastuse/lastuse/bench/ask"
	"github.com/lastuse/lastuse/bench/early"
)

// formNames are the forms of the programs of bench/early, as tables name them.
var formNames = map[string]string{"collector": "no frees", "defer": "deferred",
	"lastuse": "rewritten by lastuse", "hand": "by hand"}

// earlyTable has the peak and the largest batch of each program.
func earlyTable(f *rawFile) [][]string {
	rows := [][]string{{"program: peak / largest batch", "no frees", "deferred", "rewritten = by hand"}}
	for _, program := range early.Programs {
		row := []string{program}
		cells := map[string]string{}
		for _, form := range early.Forms {
			r := f.one("Early", "program="+program, "frees="+form)
			cells[form] = fmt.Sprintf("%s / %.0f", size(r.of("peak-B")), r.of("batch"))
		}
		if cells["lastuse"] != cells["hand"] {
			cells["lastuse"] += ", by hand " + cells["hand"]
		}
		rows = append(rows, append(row, cells["collector"], cells["defer"], cells["lastuse"]))
	}
	return rows
}

// earlyPicture draws the foreign heap of each program in all forms, call by call: streams run behind the
// program, and all forms make the same calls.
func earlyPicture(f *rawFile) (grid [][]*plot.Plot, err error) {
	for i, program := range early.Programs {
		var all []line
		for _, form := range early.Forms {
			l := line{name: formNames[form], steps: true, dashed: form == "hand"}
			series := ask.Line{Values: map[string]string{"x": f.config["series-"+program+"-"+form]}}
			for at, y := range series.List("x") {
				l.points = append(l.points, plotter.XY{X: float64(at), Y: y / (1 << 20)})
			}
			all = append(all, l)
		}
		p, err := lines(program, axis{label: "calls, in their order", show: digits},
			axis{label: "foreign heap, MiB", show: digits}, all)
		if p == nil || err != nil {
			return nil, err
		}
		if i > 0 {
			p.Legend = plot.NewLegend()
		}
		if i%2 == 0 {
			grid = append(grid, nil)
		}
		grid[i/2] = append(grid[i/2], p)
	}
	return grid, nil
}

// pairPools are those that are shown, and what a reader calls them.
var pairPools = []struct{ pool, name string }{
	{"lastuse-cuda", "lastuse"}, {"rmm-pool", "RMM's pool"}, {"torch-native", "PyTorch"},
	{"torch-expandable", "PyTorch, expandable segments"}, {"cupy-memory", "CuPy, from Python"},
	{"driver-async", "the driver's pool"},
}

// pairTable has pairs of some sizes, and of the shapes that do not flatter.
func pairTable(f *rawFile) [][]string {
	rows := [][]string{{"pair of", "lastuse", "RMM's pool", "PyTorch"}}
	add := func(name, bench string, want ...string) {
		row := []string{name}
		for _, p := range pairPools[:3] {
			row = append(row, f.one(bench, append(want, "pool="+p.pool)...).cell("ns/op", duration))
		}
		rows = append(rows, row)
	}
	for _, s := range []string{"256B", "64KiB", "1MiB", "1GiB"} {
		add(size(bytesOf(s)), "MakeFree", "size="+s)
	}
	add("1 MiB, 8 of them live", "Pair", "shape=live8", "size=1MiB")
	add("1 and 3 MiB at two sites in turn", "Pair", "shape=alternate", "size=1MiB+3MiB")
	add("1 MiB, 60 calls deep", "Pair", "shape=deep", "size=1MiB")
	return rows
}

func pairPicture(f *rawFile) ([][]*plot.Plot, error) {
	var all []line
	for _, p := range pairPools {
		l := line{name: p.name}
		for _, r := range f.only("MakeFree", "pool="+p.pool) {
			l.points = append(l.points, plotter.XY{X: bytesOf(r.vars["size"]), Y: r.of("ns/op")})
		}
		all = append(all, l)
	}
	p, err := lines("A Make with its Free, warm", axis{"size of the buffer", 16, size},
		axis{"time of a pair", 10, duration}, all)
	return one(p), err
}

// one is a picture of one plot, none of nil.
func one(p *plot.Plot) [][]*plot.Plot {
	if p == nil {
		return nil
	}
	return [][]*plot.Plot{{p}}
}

// replayed are the traces that are shown, and what a reader calls them.
var replayed = []struct{ trace, name string }{
	{"train", "train"}, {"lora", "lora"}, {"infer", "infer"}, {"random-10000-64MiB", "random, to 64 MiB"},
	{"random-10000-1024MiB", "random, to 1 GiB"},
}

func traceTable(f *rawFile) [][]string {
	rows := [][]string{{"reserved / asked for, an event", "lastuse", "RMM's pool", "PyTorch, expandable"}}
	for _, t := range replayed {
		row := []string{t.name}
		for _, pool := range []string{"lastuse-cuda", "rmm-pool", "torch-expandable"} {
			r := f.one("Trace", "trace="+t.trace, "pool="+pool)
			cell := ""
			if x := r.of("reserved/requested"); !math.IsNaN(x) {
				cell = fmt.Sprintf("%.3f, %s", x, duration(r.of("ns/event")))
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

// tracePicture has a group of bars for each trace: what each pool reserved beyond what was asked for.
func tracePicture(f *rawFile) ([][]*plot.Plot, error) {
	var names []string
	for _, t := range replayed {
		names = append(names, t.name)
	}
	var all []bar
	for _, p := range []struct{ pool, name string }{
		{"lastuse-cuda", "lastuse"}, {"lastuse-cuda-tight", "lastuse, Tight"}, {"rmm-pool", "RMM's pool"},
		{"torch-native", "PyTorch"}, {"torch-expandable", "PyTorch, expandable segments"},
	} {
		b := bar{name: p.name}
		for _, at := range replayed {
			x := f.one("Trace", "trace="+at.trace, "pool="+p.pool).of("reserved/requested")
			if math.IsNaN(x) {
				x = 1 // what did not come to its end has no bar
			}
			b.values = append(b.values, 100*(x-1))
		}
		all = append(all, b)
	}
	percent := axis{label: "%", show: func(x float64) string { return fmt.Sprintf("%.0f", x) }}
	p, err := bars("Reserved beyond the most that was asked for", names, percent, all)
	return one(p), err
}

// watcherName is how tables and plots name a watcher.
func watcherName(r *found) string {
	name := r.vars["watcher"]
	if r.vars["stacks"] == "true" {
		name += ", stacks"
	}
	if r.vars["driver"] == "real" {
		name += ", the real driver"
	}
	return name
}

func watchedTable(f *rawFile) [][]string {
	rows := [][]string{{"watched by", "added to a call", "of processor time", "added to a bystander's call"}}
	for _, r := range f.only("Watched", "events=max") {
		by := f.one("Bystander", "driver="+r.vars["driver"], "watcher="+r.vars["watcher"],
			"stacks="+r.vars["stacks"])
		rows = append(rows, []string{watcherName(r), r.cell("added-ns/call", duration),
			r.cell("added-cpu-ns/call", duration), duration(by.of("added-ns/call"))})
	}
	return rows
}

func watchedPicture(f *rawFile) ([][]*plot.Plot, error) {
	var names []string
	watched, bystander := bar{name: "the program that is watched"}, bar{name: "a bystander"}
	for _, r := range f.only("Watched", "events=max", "driver=empty") {
		by := f.one("Bystander", "driver=empty", "watcher="+r.vars["watcher"], "stacks="+r.vars["stacks"])
		names = append(names, watcherName(r))
		watched.values = append(watched.values, max(0, r.of("added-cpu-ns/call")))
		bystander.values = append(bystander.values, max(0, by.of("added-ns/call")))
	}
	if names == nil {
		return nil, nil
	}
	p, err := bars("Added to each call of the driver", names, axis{show: duration}, []bar{watched, bystander})
	return one(p), err
}

// runs are how the analyzers find packages.
var runs = []struct{ run, name string }{{"cold", "from nothing"}, {"warm", "again"},
	{"edit", "after an edit of one line"}}

// whole are all parts of the module.
var whole = fmt.Sprint("parts=", len(parted))

func analyzerTable(f *rawFile) [][]string {
	rows := [][]string{{"tool", runs[0].name, runs[1].name, runs[2].name}}
	for _, tool := range toolNames {
		row := []string{tool}
		for _, run := range runs {
			row = append(row, f.one("Analyzer", whole, "run="+run.run, "tool="+tool).cell("cpu-ns", duration))
		}
		rows = append(rows, row)
	}
	return rows
}

// analyzerPicture draws what the analysis itself takes, from nothing less again, of more and more packages.
func analyzerPicture(f *rawFile) ([][]*plot.Plot, error) {
	var all []line
	for _, tool := range slices.Backward(toolNames) {
		l := line{name: tool}
		for _, cold := range f.only("Analyzer", "run=cold", "tool="+tool) {
			warm := f.one("Analyzer", "run=warm", "tool="+tool, "parts="+cold.vars["parts"])
			l.points = append(l.points, plotter.XY{X: cold.of("lines"), Y: cold.of("cpu-ns") - warm.of("cpu-ns")})
		}
		all = append(all, l)
	}
	number := func(x float64) string { return strconv.FormatFloat(math.Round(x), 'f', -1, 64) }
	p, err := lines("More and more packages of this module", axis{label: "lines", show: number},
		axis{label: "processor time", show: duration}, all)
	return one(p), err
}
