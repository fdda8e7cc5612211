package main

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// runRandom runs the random workloads and the packing problems.
func runRandom(r *raw) error {
	pattern := "^BenchmarkRandomAllocations$/streams=(1|8)/n=(1000|10000)$"
	if r.quick {
		pattern = "^BenchmarkRandomAllocations$/streams=(1|8)/n=1000$"
	}
	if err := r.test("bench.test", "", pattern, "1x", 1); err != nil {
		return err
	}
	if err := r.test("bench.test", "", "^BenchmarkMiniMalloc$", "1x", 1); err != nil {
		return err
	}
	r.cuda("^BenchmarkRandom$/N=/max=/pool=(mapped|plain|cuMemAllocAsync)$", "1x", r.count())
	return nil
}

// randomTables makes the tables of the part random.
func randomTables(f *rawFile, add addTable) {
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
}

// randomPlots draws what each workload reserved.
func randomPlots(f *rawFile) ([][]*plot.Plot, error) {
	p := framed("Reserved beyond the most that was asked for", "%")
	var names []string
	data := map[string]plotter.Values{}
	mappings := []string{"true", "false"}
	for _, r := range f.results {
		if r.vars["mapping"] != "true" {
			continue
		}
		name := "MiniMalloc " + r.vars["problem"]
		if r.bench == "RandomAllocations" {
			name = fmt.Sprintf("%s × %s, streams: %s", r.vars["n"], r.vars["max"], r.vars["streams"])
		}
		names = append(names, name)
		for _, mapping := range mappings {
			y := 0.0
			for _, o := range f.results {
				same := o.bench == r.bench && o.vars["mapping"] == mapping
				for key, v := range r.vars {
					same = same && (key == "mapping" || o.vars[key] == v)
				}
				if m, ok := o.of("reserved/requested"); same && ok {
					y = 100 * (m.value - 1)
				}
			}
			data[mapping] = append(data[mapping], y)
		}
	}
	if len(names) == 0 {
		return nil, errEmpty
	}
	width := vg.Points(math.Min(10, 200/float64(len(names))))
	for i, mapping := range mappings {
		name := map[string]string{"true": "device that maps", "false": "device that does not"}[mapping]
		if err := addBars(p, name, i, len(mappings), data[mapping], width); err != nil {
			return nil, err
		}
	}
	p.NominalX(names...)
	p.X.Tick.Label.Font.Size = vg.Points(8)
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/4, draw.XRight, draw.YCenter
	p.Y.Min, p.Y.Max = 0, max(p.Y.Max*1.25, 5)
	p.Y.Tick.Marker = ticks{axis{show: whole}, 10}
	return one(p), nil
}
