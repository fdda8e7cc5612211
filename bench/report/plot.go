package main

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
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
	binary bool      // bytes
	by     float64   // between the ticks of a logarithmic axis; 0 is a default
	at     []float64 // the ticks; none are powers of by, or round numbers
}

// ticks marks what the axis wants, else powers of by on a logarithmic axis and some five round numbers on others.
type ticks struct {
	axis
	by float64
}

func (t ticks) Ticks(least, most float64) []plot.Tick {
	var all []plot.Tick
	if len(t.at) > 0 {
		for _, x := range t.at {
			all = append(all, plot.Tick{Value: x, Label: t.show(x)})
		}
		return all
	}
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

// numbers returns the values of a variable that are numbers, behind those that are given.
func numbers(results []*result, key string, before ...float64) []float64 {
	for _, v := range values(results, key) {
		before = append(before, plain(v))
	}
	return before
}

// whole returns x without a fraction.
func whole(x float64) string { return fmt.Sprintf("%.0f", x) }

// plain returns a number as a name has it.
func plain(s string) float64 {
	x, _ := strconv.ParseFloat(s, 64) // a name that is no number counts as 0
	return x
}
