package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A result is all answers of one pool to one question: values by unit, in the order in which units came,
// and the first of each round.
type result struct {
	pool   string
	units  []string
	values map[string][]float64
	rounds map[int]float64
}

// read collects the results of raw lines by question, in their order.
func read(in io.Reader) (names []string, results found, missing []string, err error) {
	results = found{}
	round := 0
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if why, ok := strings.CutPrefix(lines.Text(), "missing: "); ok {
			missing = append(missing, why)
		}
		fmt.Sscanf(lines.Text(), "# round %d", &round) // or it is another line
		name, ok := strings.CutPrefix(lines.Text(), "Benchmark")
		fields := strings.Fields(name)
		if !ok || len(fields) < 4 {
			continue
		}
		name, pool, _ := strings.Cut(fields[0], "/pool=")
		if results[name] == nil {
			names = append(names, name)
		}
		var r *result
		for _, x := range results[name] {
			if x.pool == pool {
				r = x
			}
		}
		if r == nil {
			r = &result{pool: pool, values: map[string][]float64{}, rounds: map[int]float64{}}
			results[name] = append(results[name], r)
		}
		for i := 2; i+1 < len(fields); i += 2 {
			x, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, nil, nil, fmt.Errorf("%s: %w", fields[0], err)
			}
			unit := fields[i+1]
			if r.values[unit] == nil {
				r.units = append(r.units, unit)
			}
			r.values[unit] = append(r.values[unit], x)
			if i == 2 {
				r.rounds[round] = x
			}
		}
	}
	return names, results, missing, lines.Err()
}

// summarize writes for each question what each pool's answers came to, the first unit with its middle half
// and least.
func (r *run) summarize(raw string) error {
	in, err := os.Open(raw)
	if err != nil {
		return err
	}
	defer in.Close()
	names, results, missing, err := read(in)
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(r.out, "summary.txt"))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	if c := results.all("clock-ns"); c != nil {
		fmt.Fprintf(w, "the processor's clock: four cycles took %.3f ns (%.3f to %.3f, least %.3f)\n\n",
			median(c), quantile(c, 0.25), quantile(c, 0.75), quantile(c, 0))
	}
	judge(w, results, "lastuse-"+r.device)
	for _, name := range names {
		fmt.Fprintf(w, "%s\n", name)
		for _, x := range results[name] {
			v := x.values[x.units[0]]
			fmt.Fprintf(w, "  %-22s %10.4g %s (%.4g to %.4g, least %.4g, %d times)", x.pool, median(v),
				x.units[0], quantile(v, 0.25), quantile(v, 0.75), quantile(v, 0), len(v))
			for _, peer := range []string{"rmm-pool", "torch-native"} {
				if share := results.share(name, x.pool, peer); x.pool != peer && share > 0 {
					fmt.Fprintf(w, "  %.3f of %s", share, peer)
				}
			}
			for _, u := range x.units[1:] {
				fmt.Fprintf(w, "  %.5g %s", median(x.values[u]), u)
			}
			fmt.Fprintln(w)
		}
	}
	for _, why := range missing {
		fmt.Fprintln(w, "missing:", why)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func median(x []float64) float64 { return quantile(x, 0.5) }

// quantile returns what a part of x is at most, between two values if it falls there, and 0 of nothing.
func quantile(x []float64, part float64) float64 {
	if len(x) == 0 {
		return 0
	}
	x = slices.Sorted(slices.Values(x))
	at := part * float64(len(x)-1)
	i := int(at)
	if i+1 == len(x) {
		return x[i]
	}
	return x[i] + (at-float64(i))*(x[i+1]-x[i])
}
