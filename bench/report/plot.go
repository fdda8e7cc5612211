package main

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// colors are told apart by those who see few: Okabe and Ito's.
var colors = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255},
	color.RGBA{204, 121, 167, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{86, 180, 233, 255},
	color.RGBA{120, 120, 120, 255}, color.RGBA{0, 0, 0, 255},
}

// A line is one of a plot.
type line struct {
	name   string
	points plotter.XYs
	steps  bool // the value holds until the next one, and points are no dots
	dashed bool // so that what lies under it is seen
}

// An axis is one of a plot. Its ticks are powers of by if it is logarithmic, else round numbers.
type axis struct {
	label string
	by    float64 // above 1 the axis is logarithmic
	show  func(float64) string
}

// Ticks implements plot.Ticker.
func (a axis) Ticks(least, most float64) (all []plot.Tick) {
	if a.by <= 1 {
		all = plot.DefaultTicks{}.Ticks(least, most)
		for i := range all {
			if all[i].Label != "" {
				all[i].Label = short(a.show(all[i].Value))
			}
		}
		return all
	}
	for x := math.Pow(a.by, math.Ceil(math.Log(least)/math.Log(a.by)-1e-9)); x <= most*1.0001; x *= a.by {
		all = append(all, plot.Tick{Value: x, Label: short(a.show(x))})
	}
	return all
}

// short leaves out zeros that say nothing.
func short(text string) string {
	s, unit, _ := strings.Cut(text, " ")
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return strings.TrimSpace(s + " " + unit)
}

// framed returns an empty plot.
func framed(title string, x, y axis) *plot.Plot {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	p := plot.New()
	p.BackgroundColor = color.White
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x.label, y.label
	p.Title.Padding = vg.Points(6)
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.TextStyle.Font.Size, p.Legend.Padding = vg.Points(9), vg.Points(1.5)
	p.Add(plotter.NewGrid())
	for _, of := range []struct {
		axis *plot.Axis
		want axis
	}{{&p.X, x}, {&p.Y, y}} {
		of.axis.Tick.Marker = of.want
		if of.want.by > 1 {
			of.axis.Scale = plot.LogScale{}
		}
	}
	return p
}

// lines makes a plot of lines, nil if there is nothing to draw.
func lines(title string, x, y axis, all []line) (*plot.Plot, error) {
	p := framed(title, x, y)
	for i, l := range all {
		if len(l.points) == 0 {
			continue
		}
		d, err := plotter.NewLine(l.points)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", title, err)
		}
		d.Color, d.Width = colors[i%len(colors)], vg.Points(1.6)
		if l.dashed {
			d.Dashes = []vg.Length{vg.Points(5), vg.Points(5)}
		}
		p.Add(d)
		p.Legend.Add(l.name, d)
		if l.steps {
			d.StepStyle = plotter.PostStep
			continue
		}
		s, err := plotter.NewScatter(l.points)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", title, err)
		}
		s.Color, s.Shape, s.Radius = d.Color, draw.CircleGlyph{}, vg.Points(2.2)
		p.Add(s)
	}
	if p.X.Min >= p.X.Max {
		return nil, nil
	}
	// Room for the legend.
	if y.by > 1 {
		p.Y.Min, p.Y.Max = p.Y.Min*0.8, p.Y.Max*math.Pow(p.Y.Max/p.Y.Min+1, 0.06*float64(len(all)))
	} else {
		p.Y.Min, p.Y.Max = 0, p.Y.Max*(1+0.06*float64(len(all)))
	}
	return p, nil
}

// A bar has a value for each name of a plot.
type bar struct {
	name   string
	values plotter.Values
}

// bars makes a plot of groups of bars.
func bars(title string, names []string, y axis, all []bar) (*plot.Plot, error) {
	p := framed(title, axis{show: digits}, y)
	width := vg.Points(min(22, 380/float64(len(names)*len(all)+1)))
	for i, b := range all {
		c, err := plotter.NewBarChart(b.values, width)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", title, err)
		}
		c.Color, c.LineStyle.Width = colors[i%len(colors)], 0
		c.Offset = width * vg.Length(2*i-len(all)+1) / 2
		p.Add(c)
		p.Legend.Add(b.name, c)
	}
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.5, float64(len(names))-0.5
	p.Y.Min, p.Y.Max = 0, p.Y.Max*(1+0.08*float64(len(all)))
	return p, nil
}

// save writes a picture of plots, some beside and below each other.
func (b *bench) save(name string, grid [][]*plot.Plot) error {
	dir := filepath.Join(b.documents(), "plots")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	w, h := 20*vg.Centimeter, vg.Length(6+5*len(grid))*vg.Centimeter
	paint := func(c draw.Canvas) {
		t := draw.Tiles{Rows: len(grid), Cols: len(grid[0]), PadX: vg.Points(12), PadY: vg.Points(12),
			PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(14)}
		for i, row := range plot.Align(grid, t, c) {
			for j, tile := range row {
				grid[i][j].Draw(tile)
			}
		}
	}
	svg := vgsvg.New(w, h)
	paint(draw.New(svg))
	f, err := os.Create(filepath.Join(dir, name+".svg"))
	if err != nil {
		return err
	}
	_, err = svg.WriteTo(f)
	return errors.Join(err, f.Close())
}
