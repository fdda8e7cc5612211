package main

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// A power is the exponent with which something grows, fitted by least squares through the logarithms.
type power struct {
	exponent, spread float64 // spread is half of the interval that holds the exponent with 95 %
	factor           float64
	points           int
}

// fitPower fits y = factor * x^exponent. It reports whether there were points enough: three, of which two differ in x.
func fitPower(xy plotter.XYs) (power, bool) {
	n := float64(len(xy))
	var mx, my float64
	for _, p := range xy {
		if p.X <= 0 || p.Y <= 0 {
			return power{}, false
		}
		mx += math.Log(p.X) / n
		my += math.Log(p.Y) / n
	}
	var sxx, sxy, rest float64
	for _, p := range xy {
		sxx += (math.Log(p.X) - mx) * (math.Log(p.X) - mx)
		sxy += (math.Log(p.X) - mx) * (math.Log(p.Y) - my)
	}
	if len(xy) < 3 || sxx < 1e-12 {
		return power{}, false
	}
	f := power{exponent: sxy / sxx, points: len(xy)}
	f.factor = math.Exp(my - f.exponent*mx)
	for _, p := range xy {
		e := math.Log(p.Y) - math.Log(f.factor) - f.exponent*math.Log(p.X)
		rest += e * e
	}
	f.spread = student(len(xy)-2) * math.Sqrt(rest/(n-2)/sxx)
	return f, true
}

// student returns the quantile of Student's distribution between whose negative and itself 95 % lie.
func student(degrees int) float64 {
	table := []float64{12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086}
	if degrees <= len(table) {
		return table[degrees-1]
	}
	return 1.96 + 2.5/float64(degrees)
}

// grown returns the processor time that the analysis of a grown module took, run by run: that of a run
// from nothing less that of the run after it, which finds all done.
func grown(f *rawFile, of, tool string) plotter.XYs {
	var all plotter.XYs
	for _, cold := range f.only("Growth", "of="+of, "tool="+tool, "run=cold") {
		lines, _ := cold.of("lines")
		for _, warm := range f.only("Growth", "of="+of, "tool="+tool, "run=warm", "copies="+cold.vars["copies"]) {
			for i := range min(len(cold.values["cpu-ns"]), len(warm.values["cpu-ns"])) {
				all = append(all, plotter.XY{X: lines.value, Y: cold.values["cpu-ns"][i] - warm.values["cpu-ns"][i]})
			}
		}
	}
	// What is too short to tell from nothing is no point.
	return slices.DeleteFunc(all, func(p plotter.XY) bool { return p.Y <= 0 })
}

// grownOf says what of a module grows.
var grownOf = map[string]string{"packages": "more packages", "functions": "more functions in one package"}

// growthTables makes the tables of how the analyzers' cost grows.
func growthTables(f *rawFile, add addTable) {
	fits := &table{head: []string{"the module has", "tool", "lines", "exponent", "of so many runs", "processor, 100,000 lines"}}
	for _, of := range values(f.only("Growth"), "of") {
		t := &table{head: []string{"lines", "tool", "from nothing", "again", "after an edit of one line", "memory"}}
		for _, copies := range values(f.only("Growth", "of="+of), "copies") {
			for _, tool := range values(f.only("Growth"), "tool") {
				row := []string{"", tool}
				memory := ""
				for _, run := range []string{"cold", "warm", "edit"} {
					for _, r := range f.only("Growth", "of="+of, "copies="+copies, "tool="+tool, "run="+run) {
						lines, _ := r.of("lines")
						row[0] = whole(lines.value)
						row = append(row, r.cell("cpu-ns", duration))
						if run == "cold" {
							memory = r.cell("maxrss-B", size)
						}
					}
				}
				t.rows = append(t.rows, append(row, memory))
			}
		}
		add("A module with "+grownOf[of]+": processor time", t)
		for _, tool := range values(f.only("Growth"), "tool") {
			xy := grown(f, of, tool)
			fit, ok := fitPower(xy)
			if !ok {
				continue
			}
			fits.rows = append(fits.rows, []string{grownOf[of], tool, fmt.Sprintf("%.0f–%.0f", xy[0].X, xy[len(xy)-1].X),
				fmt.Sprintf("%.2f ± %.2f", fit.exponent, fit.spread), fmt.Sprint(fit.points), duration(fit.factor * math.Pow(1e5, fit.exponent))})
		}
	}
	add("Processor time of the analysis itself (from nothing, less that of the same again) fitted by a power of the lines; the exponent with the interval that holds it with 95 %", fits)
}

// growthPlots draws the same on logarithmic axes, with the fits.
func growthPlots(f *rawFile) ([][]*plot.Plot, error) {
	var row []*plot.Plot
	for _, of := range values(f.only("Growth"), "of") {
		var all []line
		var sizes []float64
		for _, r := range f.only("Growth", "of="+of) {
			if lines, ok := r.of("lines"); ok && !slices.Contains(sizes, lines.value) {
				sizes = append(sizes, lines.value)
			}
		}
		for _, tool := range values(f.only("Growth"), "tool") {
			xy := grown(f, of, tool)
			l := line{name: tool, points: xy, dots: xy}
			if fit, ok := fitPower(xy); ok {
				l.name, l.points = fmt.Sprintf("%s: exponent %.2f ± %.2f", tool, fit.exponent, fit.spread), nil
				for _, p := range xy {
					l.points = append(l.points, plotter.XY{X: p.X, Y: fit.factor * math.Pow(p.X, fit.exponent)})
				}
			}
			all = append(all, l)
		}
		p, err := lines("A module with "+grownOf[of], axis{label: "lines", log: true, show: whole, at: sizes}, axis{label: "processor time", log: true, show: duration}, all)
		if err != nil {
			return nil, err
		}
		row = append(row, p)
	}
	if len(row) == 0 {
		return nil, errEmpty
	}
	return [][]*plot.Plot{row}, nil
}
