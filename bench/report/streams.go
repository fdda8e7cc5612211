package main

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// holesTables makes the tables of the part holes.
func holesTables(f *rawFile, add addTable) {
	add("Time of a pair", pivot(f.only("Holes"), "size", "holes", "ns/pair", duration))
	add("The same as a multiple of that among 4,096 holes", pivot(f.only("Holes"), "size", "holes", "x-of-4096", digits))
}

// holesPlots draws a line for each size.
func holesPlots(f *rawFile) ([][]*plot.Plot, error) {
	var all []line
	for _, s := range values(f.only("Holes"), "size") {
		l := through(s, f.only("Holes", "size="+s), "holes", "x-of-4096", plain)
		all = append(all, l.after(plotter.XY{X: 4096, Y: 1}))
	}
	p, err := lines("A pair among separated holes", axis{label: "holes", log: true, show: whole}, axis{label: "times that among 4,096", show: digits}, all)
	if err != nil {
		return nil, err
	}
	p.Y.Max = max(p.Y.Max, 2.3)
	return one(p), nil
}

// streamsTables makes the tables of the part streams.
func streamsTables(f *rawFile, add addTable) {
	for _, shared := range []string{"false", "true"} {
		t := &table{head: []string{"goroutines", "pairs, times those of one", "the machine's own measure"}}
		for _, r := range f.only("Streams", "shared="+shared) {
			t.rows = append(t.rows, []string{r.vars["goroutines"], r.cell("x-of-one", digits), r.cell("x-of-machine", digits)})
		}
		add(map[string]string{"false": "Each on its own stream", "true": "All on one stream"}[shared], t)
	}
}

// streamsPlots draws pairs on streams of their own, on one, and what the machine can do.
func streamsPlots(f *rawFile) ([][]*plot.Plot, error) {
	var all []line
	for _, c := range []struct{ name, shared, unit string }{
		{"own streams", "false", "x-of-one"}, {"one stream", "true", "x-of-one"}, {"the machine: nothing shared", "false", "x-of-machine"},
	} {
		l := through(c.name, f.only("Streams", "shared="+c.shared), "goroutines", c.unit, plain)
		all = append(all, l.after(plotter.XY{X: 1, Y: 1}))
	}
	p, err := lines("Pairs by several goroutines", axis{label: "goroutines", show: whole, at: numbers(f.only("Streams"), "goroutines", 1)}, axis{label: "times those of one", show: digits}, all)
	return one(p), err
}

// handOffTables makes the table of the part handoff.
func handOffTables(f *rawFile, add addTable) {
	t := &table{head: []string{"pairs of goroutines", "lastuse", "ordered", "channel alone"}}
	for _, r := range f.only("HandOff") {
		t.rows = append(t.rows, []string{r.vars["pairs"], r.cell("ns/buffer", duration), r.cell("ordered-ns/buffer", duration), r.cell("channel-ns/buffer", duration)})
	}
	add("Time of a buffer, made, handed over and freed", t)
}

// handOffPlots draws a line for each allocator, and for the channel.
func handOffPlots(f *rawFile) ([][]*plot.Plot, error) {
	var all []line
	for _, c := range []struct{ name, unit string }{{"lastuse", "ns/buffer"}, {"ordered", "ordered-ns/buffer"}, {"channel alone", "channel-ns/buffer"}} {
		all = append(all, through(c.name, f.only("HandOff"), "pairs", c.unit, plain))
	}
	p, err := lines("Made by one goroutine, freed by another", axis{label: "pairs of goroutines", log: true, show: whole, by: 2}, axis{label: "time of a buffer", log: true, show: duration}, all)
	return one(p), err
}
