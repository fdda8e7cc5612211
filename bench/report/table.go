package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

// A table is one of docs/benchmarks.md.
type table struct {
	head []string
	rows [][]string
}

// write writes t as Markdown, numbers to the right.
func (t *table) write(w *bytes.Buffer) {
	if len(t.rows) == 0 {
		return
	}
	fmt.Fprintf(w, "| %s |\n|", strings.Join(t.head, " | "))
	for i := range t.head {
		if i == 0 {
			w.WriteString(" --- |")
		} else {
			w.WriteString(" ---: |")
		}
	}
	w.WriteByte('\n')
	for _, r := range t.rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(r, " | "))
	}
	w.WriteByte('\n')
}

// pivot makes a table of one unit: a row for each value of row, a column for each of column.
func pivot(results []*result, row, column, unit string, show func(float64) string) *table {
	return pivotCells(results, row, column, func(r *result) string { return r.cell(unit, show) })
}

// pivotCells is pivot for cells of any kind.
func pivotCells(results []*result, row, column string, show func(*result) string) *table {
	t := &table{head: append([]string{row}, values(results, column)...)}
	for _, y := range values(results, row) {
		cells := []string{y}
		for _, x := range values(results, column) {
			cell := ""
			for _, r := range results {
				if r.vars[row] == y && r.vars[column] == x {
					cell = show(r)
				}
			}
			cells = append(cells, cell)
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

// cell returns the median of a unit with its spread.
func (r *result) cell(unit string, show func(float64) string) string {
	m, ok := r.of(unit)
	if !ok || math.IsNaN(m.value) {
		return ""
	}
	if m.runs < 2 {
		return show(m.value)
	}
	return fmt.Sprintf("%s ±%.0f %%", show(m.value), 100*r.spread(unit))
}

// exactly returns the median of a unit, with its spread only if there is one.
func (r *result) exactly(unit string, show func(float64) string) string {
	m, _ := r.of(unit)
	if m.least == m.most {
		return show(m.value)
	}
	return r.cell(unit, show)
}

// between returns the median of a unit with the least and the most of its middle half: for differences, of which some may be
// less than nothing.
func (r *result) between(unit string, show func(float64) string) string {
	m, ok := r.of(unit)
	if !ok {
		return ""
	}
	if m.runs < 2 {
		return show(m.value)
	}
	low, high := r.middle(unit)
	return fmt.Sprintf("%s (%s to %s)", show(m.value), show(low), show(high))
}

// over returns the ratios of a unit's values to those of another result, run by run.
func (r *result) over(other *result, unit string) *result {
	q := &result{values: map[string][]float64{}}
	for i := range min(len(r.values[unit]), len(other.values[unit])) {
		q.values["ratio"] = append(q.values["ratio"], r.values[unit][i]/other.values[unit][i])
	}
	return q
}

// digits returns x with three digits that count.
func digits(x float64) string {
	switch a := math.Abs(x); {
	case a == 0:
		return "0"
	case a < 10:
		return fmt.Sprintf("%.2f", x)
	case a < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// duration returns nanoseconds in a unit that fits.
func duration(ns float64) string {
	switch {
	case ns < 0:
		return "−" + duration(-ns)
	case ns < 1e3:
		return digits(ns) + " ns"
	case ns < 1e6:
		return digits(ns/1e3) + " µs"
	case ns < 1e9:
		return digits(ns/1e6) + " ms"
	}
	return digits(ns/1e9) + " s"
}

// size returns bytes in a unit that fits.
func size(n float64) string {
	for _, u := range []string{"B", "KiB", "MiB", "GiB"} {
		if n < 1024 || u == "GiB" {
			return digits(n) + " " + u
		}
		n /= 1024
	}
	return ""
}

// tables returns the tables of a part, by their titles.
func (p part) tables(f *rawFile) (all []*table, titles []string) {
	add := func(title string, t *table) {
		if len(t.rows) > 0 {
			all, titles = append(all, t), append(titles, title)
		}
	}
	switch p.name {
	case "pair":
		for _, g := range pairGroups {
			add(g.title+": time of a pair", pivot(pairsOf(f, g.gpu), "size", "pool", "ns/op", duration))
		}
	case "holes":
		add("Time of a pair", pivot(f.only("Holes"), "size", "holes", "ns/pair", duration))
		add("The same as a multiple of that among 4,096 holes", pivot(f.only("Holes"), "size", "holes", "x-of-4096", digits))
	case "streams":
		for _, shared := range []string{"false", "true"} {
			t := &table{head: []string{"goroutines", "pairs, times those of one", "the machine's own measure"}}
			for _, r := range f.only("Streams", "shared="+shared) {
				t.rows = append(t.rows, []string{r.vars["goroutines"], r.cell("x-of-one", digits), r.cell("x-of-machine", digits)})
			}
			add(map[string]string{"false": "Each on its own stream", "true": "All on one stream"}[shared], t)
		}
	case "handoff":
		t := &table{head: []string{"pairs of goroutines", "lastuse", "ordered", "channel alone"}}
		for _, r := range f.only("HandOff") {
			t.rows = append(t.rows, []string{r.vars["pairs"], r.cell("ns/buffer", duration), r.cell("ordered-ns/buffer", duration), r.cell("channel-ns/buffer", duration)})
		}
		add("Time of a buffer, made, handed over and freed", t)
	case "multistream":
		for _, device := range values(f.only("MultiStreams"), "device") {
			on := f.only("MultiStreams", "device="+device)
			for _, c := range []struct {
				title, unit string
				by          float64
			}{{"time of the four kernels", "ns/op", 1}, {"of it to enqueue them, with what is made and freed", "enqueue-µs", 1e3}} {
				t := &table{head: append([]string{"streams", "pool"}, values(on, "pool")...)}
				for _, streams := range values(on, "streams") {
					for _, warm := range values(on, "prewarm") {
						row := []string{streams, map[string]string{"false": "cold", "true": "warm"}[warm]}
						for _, pool := range t.head[2:] {
							cell := ""
							for _, r := range f.only("MultiStreams", "device="+device, "streams="+streams, "prewarm="+warm, "pool="+pool) {
								cell = r.cell(c.unit, func(x float64) string { return duration(x * c.by) })
							}
							row = append(row, cell)
						}
						t.rows = append(t.rows, row)
					}
				}
				add(fmt.Sprintf("The %s device: %s", map[string]string{"host": "host", "cuda": "CUDA"}[device], c.title), t)
			}
		}
	case "memwatch":
		watchedTables(f, add)
	case "random":
		for _, mapping := range []string{"true", "false"} {
			for _, streams := range values(f.only("RandomAllocations"), "streams") {
				add(fmt.Sprintf("random_allocations, %s streams, mapping=%s: reserved / asked for, by number and largest size of buffers", streams, mapping),
					pivot(f.only("RandomAllocations", "streams="+streams, "mapping="+mapping), "n", "max", "reserved/requested", digits))
			}
		}
		add("MiniMalloc's problems: reserved / asked for", pivot(f.only("MiniMalloc"), "problem", "mapping", "reserved/requested", digits))
		for _, r := range f.only("Random") {
			r.vars["workload"] = r.vars["N"] + " × " + r.vars["max"]
		}
		add("random_allocations on the CUDA device, one stream, cold: time of all", pivot(f.only("Random"), "workload", "pool", "ns/op", duration))
		add("The same: MiB that the pool had from the device", pivot(f.only("Random"), "workload", "pool", "reserved-MiB", digits))
	case "replay":
		for _, n := range values(f.only("Bookkeeping"), "n") {
			all := f.only("Bookkeeping", "n="+n)
			add(n+" buffers: processor time of a Make or a Free", pivot(all, "max", "allocator", "cpu-ns/step", duration))
		}
	case "traces":
		tables, names := traceTables(f)
		for i, t := range tables {
			add(names[i], t)
		}
	case "tracker":
		for _, g := range values(f.only("Tracker"), "goroutines") {
			t := &table{head: []string{"size", "without books", "with counters", "with counters and sampled stacks", "throughput left"}}
			for _, size := range values(f.only("Tracker"), "size") {
				pick := func(books, rate string) *result {
					if rs := f.only("Tracker", "books="+books, "rate="+rate, "size="+size, "goroutines="+g); len(rs) > 0 {
						return rs[0]
					}
					return nil
				}
				bare, none, kept := pick("none", "default"), pick("kept", "none"), pick("kept", "default")
				if bare == nil || none == nil || kept == nil {
					continue
				}
				x, _ := bare.of("ns/op")
				y, _ := kept.of("ns/op")
				t.rows = append(t.rows, []string{size, bare.cell("ns/op", duration), none.cell("ns/op", duration), kept.cell("ns/op", duration), digits(x.value / y.value)})
			}
			add(g+" goroutines: time of a pair", t)
		}
		t := &table{head: []string{"depth", "runtime.Callers", "a sampled pair at rate 1", "times"}}
		for _, depth := range values(f.only("Callers"), "depth") {
			callers, one := f.only("Callers", "depth="+depth), f.only("RateOne", "depth="+depth)
			if len(one) == 0 {
				continue
			}
			x, _ := callers[0].of("ns/op")
			y, _ := one[0].of("ns/op")
			t.rows = append(t.rows, []string{depth, callers[0].cell("ns/op", duration), one[0].cell("ns/op", duration), digits(y.value / x.value)})
		}
		add("Every stack taken: a site counted and taken back", t)
	case "neverfree":
		t := &table{head: []string{"total", "goroutines", "shape", "explicit frees", "no frees", "times", "wall time in collections", "collections"}}
		for _, r := range f.only("NeverFree", "frees=none") {
			free := f.only("NeverFree", "frees=explicit", "shape="+r.vars["shape"], "goroutines="+r.vars["goroutines"], "total="+r.vars["total"])
			if len(free) == 0 {
				continue
			}
			x, _ := free[0].of("ns/op")
			y, _ := r.of("ns/op")
			gc, _ := r.of("%gc")
			t.rows = append(t.rows, []string{r.vars["total"], r.vars["goroutines"], r.vars["shape"], free[0].cell("ns/op", duration), r.cell("ns/op", duration),
				digits(y.value / x.value), digits(gc.value) + " %", r.cell("collections", digits)})
		}
		add("", t)
	case "early":
		add("", earlyTable(f))
	case "analyzer":
		for _, run := range []struct{ name, title string }{{"cold", "From nothing"}, {"warm", "Again"}, {"edit", "After an edit of one line"}} {
			t := &table{head: []string{"tool", "wall", "processor", "memory", "lines", "wall for 100,000 lines"}}
			for _, r := range f.only("Analyzer", "run="+run.name) {
				wall, _ := r.of("ns/op")
				lines, _ := r.of("lines")
				t.rows = append(t.rows, []string{r.vars["tool"], r.cell("ns/op", duration), r.cell("cpu-ns", duration), r.cell("maxrss-B", size),
					fmt.Sprintf("%.0f", lines.value), duration(wall.value * 1e5 / lines.value)})
			}
			add(run.title, t)
		}
		growthTables(f, add)
	}
	return all, titles
}

// forms are the forms of the programs of bench/early, as tables name them.
var forms = map[string]string{"collector": "no frees", "defer": "deferred", "lastuse": "rewritten by lastuse", "hand": "by hand"}

// earlyTable is what early release is worth.
func earlyTable(f *rawFile) *table {
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
	return t
}
