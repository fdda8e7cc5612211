package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// tracePlots draws, below each other, what each pool reserved for each trace and how long an event took.
func tracePlots(f *rawFile) ([][]*plot.Plot, error) {
	waste, err := wastePlot(f)
	if err != nil {
		return nil, err
	}
	time, err := eventPlot(f)
	if err != nil {
		return nil, err
	}
	return [][]*plot.Plot{{waste}, {time}}, nil
}

// wastePlot has a group of bars for each trace.
func wastePlot(f *rawFile) (*plot.Plot, error) {
	p := framed("Reserved beyond the most that was asked for", "%")
	traces, pools := values(f.only("Trace"), "trace"), tracePools(f)
	if len(traces) == 0 {
		return nil, errEmpty
	}
	width := vg.Points(14)
	for i, pool := range pools {
		var bars plotter.Values
		for _, name := range traces {
			w, _ := wasted(f, name, pool) // one that failed has no bar; the table says so
			bars = append(bars, 100*w)
		}
		if err := addBars(p, pool, i, len(pools), bars, width); err != nil {
			return nil, err
		}
	}
	p.NominalX(traces...)
	p.X.Min, p.X.Max = -0.5, float64(len(traces))-0.1 // the legend has the rest
	p.Y.Min = 0
	p.Y.Max = max(p.Y.Max*1.05, 5)
	p.Y.Tick.Marker = ticks{axis{show: whole}, 10}
	return p, nil
}

// eventPlot has a point for each pool and trace, warm ones full and cold ones hollow.
func eventPlot(f *rawFile) (*plot.Plot, error) {
	p := framed("Time of an allocation or a free", "")
	traces := values(f.only("Trace"), "trace")
	pools := values(f.only("Trace"), "pool")
	least, most := math.Inf(1), 0.0
	for _, shape := range []struct {
		unit, name string
		glyph      draw.GlyphDrawer
	}{{"ns/event", "warm", draw.CircleGlyph{}}, {"cold-ns/event", "cold", draw.RingGlyph{}}} {
		for i, name := range traces {
			var points plotter.XYs
			for _, r := range wholeReplays(f) {
				if m, ok := r.of(shape.unit); ok && m.value > 0 && r.vars["trace"] == name {
					at := float64(slices.Index(pools, r.vars["pool"])) + 0.16*(float64(i)-float64(len(traces)-1)/2)
					points = append(points, plotter.XY{X: at, Y: m.value})
					least, most = min(least, m.value), max(most, m.value)
				}
			}
			if len(points) == 0 {
				continue
			}
			s, err := plotter.NewScatter(points)
			if err != nil {
				return nil, fmt.Errorf("traces: %w", err)
			}
			s.Color, s.Shape, s.Radius = colors[i%len(colors)], shape.glyph, vg.Points(3.2)
			p.Add(s)
			p.Legend.Add(name+", "+shape.name, s)
		}
	}
	if most == 0 {
		return nil, errEmpty
	}
	labels := make([]string, len(pools))
	for i, pool := range pools {
		labels[i] = strings.ReplaceAll(pool, "-", "\n") // side by side they have no room
	}
	p.NominalX(labels...)
	p.X.Min, p.X.Max = -0.5, float64(len(pools))+0.9 // the legend has the rest
	p.X.Tick.Label.Font.Size = vg.Points(8)
	p.Y.Scale = plot.LogScale{}
	p.Y.Min, p.Y.Max = math.Pow(10, math.Floor(math.Log10(least))), math.Pow(10, math.Ceil(math.Log10(most)))
	p.Y.Tick.Marker = ticks{axis{log: true, show: short(duration)}, 10}
	return p, nil
}
