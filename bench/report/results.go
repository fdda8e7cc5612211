package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A result is all runs of one benchmark.
type result struct {
	bench  string            // its name without Benchmark
	vars   map[string]string // the variables in its name
	values map[string][]float64
}

// A rawFile is what a raw file says.
type rawFile struct {
	dir      string // where it is
	config   map[string]string
	missing  []string // peers, each with the reason
	unusable []string // benchmarks whose lines are not to be used, each with the reason
	complete bool
	results  []*result // in the order in which they first came
}

// procs is what go test puts behind a name: the number of processors.
var procs = regexp.MustCompile(`-[0-9]+$`)

// parse reads a raw file.
func parse(r io.Reader) (*rawFile, error) {
	f := &rawFile{config: map[string]string{}}
	byName := map[string]*result{}
	s := bufio.NewScanner(r)
	for n := 1; s.Scan(); n++ {
		line := s.Text()
		if !strings.HasPrefix(line, "Benchmark") {
			key, value, ok := strings.Cut(line, ": ")
			switch {
			case !ok:
			case key == "missing":
				if !slices.Contains(f.missing, value) {
					f.missing = append(f.missing, value)
				}
			case key == "unusable":
				f.unusable = append(f.unusable, value)
			case line == complete:
				f.complete = true
			default:
				f.config[key] = value
			}
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 4 || len(fields)%2 != 0 {
			return nil, fmt.Errorf("line %d: %d fields: %s", n, len(fields), line)
		}
		name := procs.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
		b := byName[name]
		if b == nil {
			b = &result{vars: map[string]string{}, values: map[string][]float64{}}
			for i, part := range strings.Split(name, "/") {
				if key, value, ok := strings.Cut(part, "="); ok {
					b.vars[key] = value
				} else if i == 0 {
					b.bench = part
				}
			}
			byName[name] = b
			f.results = append(f.results, b)
		}
		for i := 2; i < len(fields); i += 2 {
			x, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			b.values[fields[i+1]] = append(b.values[fields[i+1]], x)
		}
	}
	// What was found to be measured wrong stays in the file, with a line that says so.
	for _, u := range f.unusable {
		bench, _, _ := strings.Cut(u, ": ")
		f.results = slices.DeleteFunc(f.results, func(r *result) bool { return r.bench == bench })
	}
	return f, s.Err()
}

// load reads the raw file of a part. A file that is not there is nil.
func load(name string) (*rawFile, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.dir = filepath.Dir(name)
	return r, nil
}

// only returns the results whose variables are as wanted: a list of key=value.
func (f *rawFile) only(bench string, want ...string) []*result {
	var all []*result
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

// runs says how many runs each result is of.
func (f *rawFile) runs() string {
	least, most := math.MaxInt, 0
	for _, r := range f.results {
		for _, v := range r.values {
			least, most = min(least, len(v)), max(most, len(v))
		}
	}
	switch {
	case most == 0:
		return "no runs"
	case least < most:
		return fmt.Sprintf("%d to %d runs", least, most)
	case most == 1:
		return "one run"
	}
	return fmt.Sprint(most, " runs")
}

// values returns the values of a variable, in the order in which they first came.
func values(results []*result, key string) []string {
	var all []string
	for _, r := range results {
		if v, ok := r.vars[key]; ok && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// A median is the middle of several runs, with how far they lie apart.
type median struct {
	value, least, most float64
	runs               int
}

// of returns the median of a unit's values, and whether there are any.
func (r *result) of(unit string) (median, bool) {
	if r == nil || len(r.values[unit]) == 0 {
		return median{}, false
	}
	v := slices.Sorted(slices.Values(r.values[unit]))
	m := median{value: v[len(v)/2], least: v[0], most: v[len(v)-1], runs: len(v)}
	if len(v)%2 == 0 {
		m.value = (v[len(v)/2-1] + v[len(v)/2]) / 2
	}
	return m, true
}

// middle returns between which values the middle half of runs lies. With few runs it is all of them.
func (r *result) middle(unit string) (low, high float64) {
	v := slices.Sorted(slices.Values(r.values[unit]))
	if len(v) >= 8 {
		v = v[len(v)/4 : len(v)-len(v)/4]
	}
	return v[0], v[len(v)-1]
}

// spread returns how far the middle half of runs may lie from the median, as a part of it.
func (r *result) spread(unit string) float64 {
	m, ok := r.of(unit)
	if !ok || m.value == 0 {
		return 0
	}
	low, high := r.middle(unit)
	return max(high-m.value, m.value-low) / m.value
}

// interval returns the interval that holds the median of what the runs are taken from with at least 95 %, whatever their distribution
// is, and whether there are runs enough for one: how many of them lie below the median is as when coins are thrown.
func (r *result) interval(unit string) (low, high float64, ok bool) {
	v := slices.Sorted(slices.Values(r.values[unit]))
	n := float64(len(v))
	below, outside := 0, 0.0 // so many runs from each end are left out, which goes wrong with this probability at each
	for term := math.Exp2(-n); below < len(v)/2 && outside+term <= 0.025; below++ {
		outside += term
		term *= (n - float64(below)) / (float64(below) + 1)
	}
	if below == 0 {
		return 0, 0, false
	}
	return v[below-1], v[len(v)-below], true
}

// bytesOf returns a size as the names of benchmarks have it, in bytes.
func bytesOf(s string) float64 {
	for _, u := range []struct {
		name string
		by   float64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}} {
		if n, ok := strings.CutSuffix(s, u.name); ok {
			x, _ := strconv.ParseFloat(n, 64) // a name that is no size counts as 0
			return x * u.by
		}
	}
	return 0
}
