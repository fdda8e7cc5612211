package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"

	"github.com/lastuse/lastuse/bench/ask"
)

// A found is all runs of one benchmark.
type found struct {
	name   string
	bench  string            // its name, without the variables
	vars   map[string]string // the variables in its name
	values map[string][]float64
	rounds map[string]map[string]float64 // by unit and round, the first of each
}

// A rawFile is what a raw file says.
type rawFile struct {
	config   map[string]string
	missing  []string // peers, each with the reason
	complete bool
	results  []*found // in the order in which they first came
}

// configLine is a line that benchfmt keeps as configuration.
var configLine = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*): (.*)$`)

// load reads the raw file of a part. A file that is not there is nil.
func load(name string) (*rawFile, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f := &rawFile{config: map[string]string{}}
	for _, m := range configLine.FindAllStringSubmatch(string(text), -1) {
		switch {
		case m[0] == complete:
			f.complete = true
		case m[1] == "missing":
			f.missing = append(f.missing, m[2])
		default:
			f.config[m[1]] = m[2]
		}
	}
	byName := map[string]*found{}
	lines := benchfmt.NewReader(bytes.NewReader(text), name)
	for lines.Scan() {
		switch r := lines.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, r
		case *benchfmt.Result:
			full, _, _ := strings.Cut(r.Name.String(), " ")
			b := byName[full]
			if b == nil {
				b = newFound(r)
				byName[full] = b
				f.results = append(f.results, b)
			}
			b.add(r)
		}
	}
	return f, lines.Err()
}

func newFound(r *benchfmt.Result) *found {
	base, parts := r.Name.Parts()
	f := &found{name: string(base), bench: string(base), vars: map[string]string{},
		values: map[string][]float64{}, rounds: map[string]map[string]float64{}}
	for _, p := range parts { // the last may be the number of processors
		if key, value, ok := strings.Cut(strings.TrimPrefix(string(p), "/"), "="); ok {
			f.vars[key], f.name = value, f.name+string(p)
		}
	}
	return f
}

func (f *found) add(r *benchfmt.Result) {
	for _, v := range r.Values {
		x, unit := v.Value, v.Unit
		if v.OrigUnit != "" {
			x, unit = v.OrigValue, v.OrigUnit
		}
		f.values[unit] = append(f.values[unit], x)
		if f.rounds[unit] == nil {
			f.rounds[unit] = map[string]float64{}
		}
		if round := r.GetConfig("round"); round != "" {
			f.rounds[unit][round] = x
		}
	}
}

// only returns the results whose variables are as wanted: a list of key=value.
func (f *rawFile) only(bench string, want ...string) (all []*found) {
	if f == nil {
		return nil
	}
	for _, r := range f.results {
		ok := r.bench == bench
		for _, w := range want {
			key, value, _ := strings.Cut(w, "=")
			ok = ok && r.vars[key] == value
		}
		if ok {
			all = append(all, r)
		}
	}
	return all
}

// one returns the first of those results, an empty one if there is none.
func (f *rawFile) one(bench string, want ...string) *found {
	if all := f.only(bench, want...); len(all) > 0 {
		return all[0]
	}
	return &found{}
}

// of returns the median of a unit's values, NaN if there are none.
func (r *found) of(unit string) float64 { return ask.Median(r.values[unit]) }

// interval returns the median with the interval that holds it with 95 %, infinite where there are too few
// runs.
func interval(x []float64) benchmath.Summary {
	s := benchmath.NewSample(slices.Clone(x), &benchmath.DefaultThresholds)
	return benchmath.AssumeNothing.Summary(s, 0.95)
}

// shares returns what a unit's values are of those that others gave in the same rounds, of the least in each:
// the machine's clock may have another speed in the next round.
func (r *found) shares(unit string, others ...*found) (all []float64) {
	for round, x := range r.rounds[unit] {
		least := math.Inf(1)
		for _, o := range others {
			y, ok := o.rounds[unit][round]
			if !ok {
				y = math.NaN()
			}
			least = math.Min(least, y)
		}
		if !math.IsNaN(least) {
			all = append(all, x/least)
		}
	}
	return all
}

// share is the median of shares.
func (r *found) share(unit string, others ...*found) float64 {
	return ask.Median(r.shares(unit, others...))
}

// cell returns the median of a unit as a table has it, with how far the 95 % interval goes where that says
// something; nothing if there are no values.
func (r *found) cell(unit string, show func(float64) string) string {
	x := r.values[unit]
	if len(x) == 0 {
		return ""
	}
	text := show(r.of(unit))
	if s := interval(x); len(x) > 1 && !math.IsInf(s.Lo, 0) && s.Lo < s.Hi && s.Lo > 0 {
		text += " ±" + strings.TrimSuffix(s.PctRangeString(), "%") + " %"
	}
	return text
}

// digits returns x with three digits that count.
func digits(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return ""
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
	if ns < 0 {
		return "−" + duration(-ns)
	}
	return scaled(ns, 1000, "ns", "µs", "ms", "s")
}

// size returns bytes in a unit that fits.
func size(n float64) string { return scaled(n, 1024, "B", "KiB", "MiB", "GiB") }

func scaled(x, by float64, units ...string) string {
	for len(units) > 1 && x >= by {
		x, units = x/by, units[1:]
	}
	if math.IsNaN(x) {
		return ""
	}
	return digits(x) + " " + units[0]
}

// bytesOf returns a size as the names of benchmarks have it, in bytes.
func bytesOf(s string) float64 {
	var x float64
	var unit string
	fmt.Sscanf(s, "%g%s", &x, &unit) // a name that is no size counts as 0
	return x * map[string]float64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]
}
