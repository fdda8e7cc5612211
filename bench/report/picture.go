package main

import (
	"errors"
	"fmt"
	"image/color"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// one is a picture of one plot.
func one(p *plot.Plot) [][]*plot.Plot { return [][]*plot.Plot{{p}} }

// framed returns an empty plot with a grid along its y axis, for bars or points by name.
func framed(title, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.White
	p.Title.Text, p.Y.Label.Text = title, y
	p.Title.Padding = vg.Points(6)
	p.Legend.Top, p.Legend.TextStyle.Font.Size, p.Legend.Padding = true, vg.Points(9), vg.Points(1.5)
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	p.Add(grid)
	return p
}

// addBars adds the bars that are number i of n beside each other at each name.
func addBars(p *plot.Plot, name string, i, n int, values plotter.Values, width vg.Length) error {
	c, err := plotter.NewBarChart(values, width)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Title.Text, err)
	}
	c.Color, c.LineStyle.Width, c.Offset = colors[i%len(colors)], 0, width*vg.Length(2*i-n+1)/2
	p.Add(c)
	p.Legend.Add(name, c)
	return nil
}

// pictures draws what the files have, and returns the names of the pictures by part, which end in suffix.
func (b *bench) pictures(files map[string]*rawFile, suffix string) (map[string]string, error) {
	plot.DefaultFont.Variant = "Sans"
	names := map[string]string{}
	var errs []error
	for _, p := range parts {
		f := files[p.name]
		if f == nil || p.plots == nil {
			continue
		}
		grid, err := p.plots(f)
		if errors.Is(err, errEmpty) {
			continue
		}
		if err == nil {
			err = b.save(p.picture+suffix, grid)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		names[p.name] = p.picture + suffix
	}
	return names, errors.Join(errs...)
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
