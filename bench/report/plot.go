package main

import (
	"bufio"
	"errors"
	"fmt"
	"image/color"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// colors are told apart by those who see few: Okabe and Ito's.
var colors = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255}, color.RGBA{204, 121, 167, 255},
	color.RGBA{230, 159, 0, 255}, color.RGBA{86, 180, 233, 255}, color.RGBA{120, 120, 120, 255}, color.RGBA{0, 0, 0, 255},
}

// A line is one of a plot.
type line struct {
	name   string
	points plotter.XYs
	dots   plotter.XYs     // what the line was fitted through
	spread plotter.YErrors // of each point, to both sides; may be missing
	steps  bool            // the value holds until the next one
	dashed bool            // so that what lies under it is seen
}

// An axis is one of a plot.
type axis struct {
	label  string
	log    bool
	show   func(float64) string
	binary bool    // bytes
	by     float64 // between the ticks of a logarithmic axis; 0 is a default
}

// ticks marks powers of by on a logarithmic axis, else five round numbers.
type ticks struct {
	axis
	by float64
}

func (t ticks) Ticks(least, most float64) []plot.Tick {
	var all []plot.Tick
	if t.log {
		for x := math.Pow(t.by, math.Floor(math.Log(least)/math.Log(t.by)+1e-9)); x <= most*1.0001; x *= t.by {
			for _, by := range []float64{1, 2, 5} {
				if by > 1 && (t.by != 10 || most/least > 100) {
					break // there are enough
				}
				if x*by >= least*0.9999 && x*by <= most*1.0001 {
					all = append(all, plot.Tick{Value: x * by, Label: t.show(x * by)})
				}
			}
		}
		return all
	}
	// Some four steps of 1, 2 or 5 times a unit; of bytes, of a power of two.
	step := 1.0
	if t.binary {
		for step*5 < most-least {
			step *= 2
		}
	} else {
		step = math.Pow(10, math.Floor(math.Log10((most-least)/4)))
		for _, by := range []float64{5, 2} {
			if step*by*4 <= most-least {
				step *= by
				break
			}
		}
	}
	for x := math.Ceil(least/step) * step; x <= most; x += step {
		all = append(all, plot.Tick{Value: x, Label: t.show(x)})
	}
	return all
}

// short leaves out zeros that say nothing.
func short(show func(float64) string) func(float64) string {
	return func(x float64) string {
		s, unit, _ := strings.Cut(show(x), " ")
		if strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		return strings.TrimSpace(s + " " + unit)
	}
}

// errEmpty is what a plot without a point is: a run that was cut off has some.
var errEmpty = errors.New("nothing to draw")

// lines makes a plot of lines.
func lines(title string, x, y axis, all []line) (*plot.Plot, error) {
	p := plot.New()
	p.BackgroundColor = color.White
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x.label, y.label
	p.Title.Padding = vg.Points(6)
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.TextStyle.Font.Size, p.Legend.Padding = vg.Points(9), vg.Points(1.5)
	p.Add(plotter.NewGrid())
	for i, l := range all {
		if len(l.points) == 0 {
			continue
		}
		d, err := plotter.NewLine(l.points)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", title, err)
		}
		d.Color, d.Width = colors[i%len(colors)], vg.Points(1.6)
		if i >= len(colors) || l.dashed {
			d.Dashes = []vg.Length{vg.Points(5), vg.Points(5)}
		}
		if l.steps {
			d.StepStyle = plotter.PostStep
		}
		if len(l.spread) > 0 {
			e, err := plotter.NewYErrorBars(spreadPoints{l.points, l.spread})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", title, err)
			}
			e.Color, e.CapWidth = d.Color, vg.Points(4)
			p.Add(e)
		}
		p.Add(d)
		p.Legend.Add(l.name, d)
		dots := l.dots
		if dots == nil && !l.steps {
			dots = l.points
		}
		if len(dots) > 0 {
			s, err := plotter.NewScatter(dots)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", title, err)
			}
			s.Color, s.Shape, s.Radius = d.Color, draw.CircleGlyph{}, vg.Points(2.2)
			p.Add(s)
		}
	}
	if p.X.Min > p.X.Max {
		return nil, errEmpty
	}
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		if a.Min == a.Max { // one point needs some room around it
			a.Min, a.Max = a.Min*0.9, a.Max*1.1+1e-9
		}
	}
	set := func(a *plot.Axis, want axis, by float64) {
		want.show = short(want.show)
		if want.by > 0 {
			by = want.by
		}
		a.Tick.Marker = ticks{want, by}
		if want.log {
			a.Scale = plot.LogScale{}
		} else {
			a.Min = 0
		}
	}
	set(&p.X, x, 4)
	set(&p.Y, y, 10)
	// Room for the legend.
	if y.log {
		p.Y.Min, p.Y.Max = p.Y.Min*0.8, p.Y.Max*math.Pow(p.Y.Max/p.Y.Min, 0.06*float64(len(all)))
	} else {
		p.Y.Max *= 1 + 0.06*float64(len(all))
	}
	return p, nil
}

// save writes a picture of plots, some beside and below each other, as SVG and PNG.
func (b *bench) save(name string, grid [][]*plot.Plot) error {
	dir := filepath.Join(b.documents(), "plots")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	w, h := 20*vg.Centimeter, 11*vg.Centimeter
	if len(grid) > 1 {
		h = 16 * vg.Centimeter
	}
	paint := func(c draw.Canvas) {
		t := draw.Tiles{Rows: len(grid), Cols: len(grid[0]), PadX: vg.Points(12), PadY: vg.Points(12),
			PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(14)}
		for i, row := range plot.Align(grid, t, c) {
			for j, tile := range row {
				if grid[i][j] != nil {
					grid[i][j].Draw(tile)
				}
			}
		}
	}
	svg := vgsvg.New(w, h)
	paint(draw.New(svg))
	f, err := os.Create(filepath.Join(dir, name+".svg"))
	if err != nil {
		return err
	}
	if _, err := svg.WriteTo(f); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	png := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(110), vgimg.UseBackgroundColor(color.White))
	paint(draw.New(png))
	if f, err = os.Create(filepath.Join(dir, name+".png")); err != nil {
		return err
	}
	_, err = vgimg.PngCanvas{Canvas: png}.WriteTo(f)
	return errors.Join(err, f.Close())
}

// spreadPoints are points with their spread.
type spreadPoints struct {
	plotter.XYs
	plotter.YErrors
}

// through returns the line through the medians of a unit by a variable, with the spread of their middle half.
func through(name string, results []*result, key, unit string, number func(string) float64) line {
	l := line{name: name, points: points(results, key, unit, number)}
	for _, p := range l.points {
		for _, r := range results {
			if number(r.vars[key]) != p.X {
				continue
			}
			if m, ok := r.of(unit); ok {
				low, high := r.middle(unit)
				l.spread = append(l.spread, struct{ Low, High float64 }{m.value - low, high - m.value})
				break
			}
		}
	}
	return l
}

// after returns the line with a point before it that is so by definition.
func (l line) after(p plotter.XY) line {
	l.points = append(plotter.XYs{p}, l.points...)
	l.spread = append(plotter.YErrors{{}}, l.spread...)
	return l
}

// points returns the medians of a unit by a variable.
func points(results []*result, key, unit string, number func(string) float64) plotter.XYs {
	var all plotter.XYs
	for _, r := range results {
		if m, ok := r.of(unit); ok {
			all = append(all, plotter.XY{X: number(r.vars[key]), Y: m.value})
		}
	}
	slices.SortFunc(all, func(a, b plotter.XY) int { return int(math.Copysign(1, a.X-b.X)) })
	return all
}

// whole returns x without a fraction.
func whole(x float64) string { return fmt.Sprintf("%.0f", x) }

// plain returns a number as a name has it.
func plain(s string) float64 {
	x, _ := strconv.ParseFloat(s, 64) // a name that is no number counts as 0
	return x
}

// plot draws what the files have, and returns the names of the pictures by part.
func (b *bench) plot(files map[string]*rawFile) (map[string][]string, error) {
	plot.DefaultFont.Variant = "Sans"
	names := map[string][]string{}
	var errs []error
	draw := func(part, name string, grid [][]*plot.Plot, err error) {
		if errors.Is(err, errEmpty) {
			return
		}
		if err == nil {
			err = b.save(name, grid)
		}
		if err != nil {
			errs = append(errs, err)
			return
		}
		names[part] = append(names[part], name)
	}
	one := func(p *plot.Plot, err error) ([][]*plot.Plot, error) { return [][]*plot.Plot{{p}}, err }

	if f := files["pair"]; f != nil {
		grid, err := pairPlots(f)
		draw("pair", "pair", grid, err)
	}
	if f := files["holes"]; f != nil {
		var all []line
		for _, s := range values(f.only("Holes"), "size") {
			l := through(s, f.only("Holes", "size="+s), "holes", "x-of-4096", plain)
			all = append(all, l.after(plotter.XY{X: 4096, Y: 1}))
		}
		p, err := lines("A pair among separated holes", axis{"holes", true, whole, false, 0}, axis{"times that among 4,096", false, digits, false, 0}, all)
		if err == nil {
			p.Y.Max = max(p.Y.Max, 2.3)
		}
		draw("holes", "holes", [][]*plot.Plot{{p}}, err)
	}
	if f := files["streams"]; f != nil {
		var all []line
		for _, c := range []struct{ name, shared, unit string }{
			{"own streams", "false", "x-of-one"}, {"one stream", "true", "x-of-one"}, {"the machine: nothing shared", "false", "x-of-machine"},
		} {
			l := through(c.name, f.only("Streams", "shared="+c.shared), "goroutines", c.unit, plain)
			all = append(all, l.after(plotter.XY{X: 1, Y: 1}))
		}
		p, err := lines("Pairs by several goroutines", axis{"goroutines", false, whole, false, 0}, axis{"times those of one", false, digits, false, 0}, all)
		draw("streams", "scaling", [][]*plot.Plot{{p}}, err)
	}
	if f := files["random"]; f != nil {
		p, err := bars(f)
		draw("random", "fragmentation", [][]*plot.Plot{{p}}, err)
	}
	if f := files["traces"]; f != nil {
		grid, err := tracePlots(f)
		draw("traces", "traces", grid, err)
	}
	if f := files["handoff"]; f != nil {
		var all []line
		for _, c := range []struct{ name, unit string }{{"lastuse", "ns/buffer"}, {"ordered", "ordered-ns/buffer"}, {"channel alone", "channel-ns/buffer"}} {
			all = append(all, through(c.name, f.only("HandOff"), "pairs", c.unit, plain))
		}
		grid, err := one(lines("Made by one goroutine, freed by another", axis{"pairs of goroutines", true, whole, false, 2}, axis{"time of a buffer", true, duration, false, 0}, all))
		draw("handoff", "handoff", grid, err)
	}
	if f := files["memwatch"]; f != nil {
		grid, err := watchedPlots(f)
		draw("memwatch", "memwatch", grid, err)
	}
	if f := files["analyzer"]; f != nil {
		if grid, err := growthPlots(f); grid != nil || err != nil {
			draw("analyzer", "growth", grid, err)
		}
	}
	if files["early"] != nil {
		grid, err := b.heapOverTime()
		if grid != nil {
			draw("early", "early", grid, err)
		}
	}
	return names, errors.Join(errs...)
}

// bars draws what each workload reserved.
func bars(f *rawFile) (*plot.Plot, error) {
	p := plot.New()
	p.BackgroundColor = color.White
	p.Title.Text, p.Y.Label.Text = "Reserved beyond the most that was asked for", "%"
	p.Title.Padding = vg.Points(6)
	p.Legend.Top, p.Legend.TextStyle.Font.Size, p.Legend.Padding = true, vg.Points(9), vg.Points(1.5)
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	p.Add(grid)
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
	width := vg.Points(math.Min(10, 200/float64(len(names))))
	for i, mapping := range mappings {
		c, err := plotter.NewBarChart(data[mapping], width)
		if err != nil {
			return nil, fmt.Errorf("bars: %w", err)
		}
		c.Color, c.LineStyle.Width, c.Offset = colors[i], 0, width*vg.Length(2*i-1)/2
		p.Add(c)
		p.Legend.Add(map[string]string{"true": "device that maps", "false": "device that does not"}[mapping], c)
	}
	p.NominalX(names...)
	p.X.Tick.Label.Font.Size = vg.Points(8)
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/4, draw.XRight, draw.YCenter
	p.Y.Min, p.Y.Max = 0, max(p.Y.Max*1.25, 5)
	p.Y.Tick.Marker = ticks{axis{show: whole}, 10}
	return p, nil
}

// heapOverTime draws the foreign heap of each program in all forms, call by call, or returns nil if there are no
// samples.
func (b *bench) heapOverTime() ([][]*plot.Plot, error) {
	f, err := os.Open(filepath.Join(b.dir(), "early-series.txt"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
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
			return nil, fmt.Errorf("early-series.txt: %q", s.Text())
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
		p, err := lines(program, axis{"calls, in their order", false, whole, false, 0}, axis{"foreign heap", false, size, true, 0}, all)
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
	return grid, s.Err()
}
