// Boundary says where the boundary between small and large blocks of package alloc should lie. It
// builds the benchmarks with one boundary after the other and prints what BenchmarkBoundary of
// package bench says of each: processor time for a Make or a Free, and reserved memory over requested.
//
//	go run ./bench/boundary [-count 3] [-at 4,8,16,32,64,128,256,1024]
//
// Run it in the module's root. It changes no file: the compiler is given another text of class.go.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
)

func main() {
	count := flag.Int("count", 3, "runs of each benchmark; the least time counts")
	at := flag.String("at", "4,8,16,32,64,128,256,1024", "boundaries to try, in KiB, each a power of two")
	flag.Parse()
	if err := run(*count, strings.Split(*at, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "boundary:", err)
		os.Exit(1)
	}
}

func run(count int, boundaries []string) error {
	dir, err := os.MkdirTemp("", "boundary")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var bins []string
	for _, text := range boundaries {
		kib, err := strconv.Atoi(text)
		if err != nil || kib < 1 || kib&(kib-1) != 0 {
			return fmt.Errorf("-at %s: not a power of two", text)
		}
		bin := filepath.Join(dir, text+".test")
		if err := build(dir, bin, kib); err != nil {
			return err
		}
		bins = append(bins, bin)
	}
	// They take turns, so that what else the machine does meets all of them; the least time of
	// each has been met by the least of that.
	table := make([][]cell, len(bins))
	for range count {
		for i, bin := range bins {
			cells, err := measure(bin)
			if err != nil {
				return err
			}
			if table[i] == nil {
				table[i] = cells
				continue
			}
			for k := range cells {
				table[i][k].time = min(table[i][k].time, cells[k].time)
			}
		}
	}
	tab := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tab, "boundary\t")
	for _, c := range table[0] {
		fmt.Fprintf(tab, "%s\t", c.name)
	}
	fmt.Fprintln(tab)
	for i, text := range boundaries {
		fmt.Fprintf(tab, "%s KiB\t", text)
		for _, c := range table[i] {
			fmt.Fprintf(tab, "%.1f ns %.3f\t", c.time, c.ratio)
		}
		fmt.Fprintln(tab)
	}
	return tab.Flush()
}

// The two constants of class.go that say where the boundary is.
var (
	smallMax   = regexp.MustCompile(`(?m)^(\tsmallMax = ).*$`)
	numClasses = regexp.MustCompile(`(?m)^(\tnumClasses = )\d+`)
)

// build compiles the benchmarks with a boundary of kib KiB.
func build(dir, bin string, kib int) error {
	class := filepath.Join("alloc", "class.go")
	text, err := os.ReadFile(class)
	if err != nil {
		return fmt.Errorf("%w: run it in the module's root", err)
	}
	if !smallMax.Match(text) || !numClasses.Match(text) {
		return fmt.Errorf("%s has changed: no smallMax or no numClasses", class)
	}
	classes := 8 // of up to 8 units of 512 bytes, and 8 for each doubling after
	for k := 4; k < kib; k *= 2 {
		classes += 8
	}
	if kib < 4 {
		classes = 2 * kib
	}
	text = smallMax.ReplaceAll(text, fmt.Appendf(nil, "${1}%d << 10", kib))
	text = numClasses.ReplaceAll(text, fmt.Appendf(nil, "${1}%d", classes))
	other := filepath.Join(dir, "class.go")
	if err := os.WriteFile(other, text, 0o600); err != nil {
		return err
	}
	full, err := filepath.Abs(class)
	if err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {full: other}})
	if err != nil {
		return err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return err
	}
	out, err := exec.Command("go", "test", "-c", "-overlay", list, "-o", bin, "./bench").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build with %d KiB: %w\n%s", kib, err, out)
	}
	return nil
}

// A cell is what one benchmark says of one boundary.
type cell struct {
	name        string
	time, ratio float64
}

// measure runs the benchmark once.
func measure(bin string) ([]cell, error) {
	cmd := exec.Command(bin, "-test.run", "^$", "-test.bench", "^BenchmarkBoundary$", "-test.benchtime", "10x", "-test.cpu", "1")
	cmd.Dir = "bench"
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	var cells []cell
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 6 || !strings.HasPrefix(f[0], "BenchmarkBoundary/") {
			continue
		}
		c := cell{name: strings.TrimPrefix(f[0], "BenchmarkBoundary/")}
		for i := 2; i+1 < len(f); i += 2 {
			x, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			switch f[i+1] {
			case "ns/step":
				c.time = x
			case "reserved/requested":
				c.ratio = x
			}
		}
		cells = append(cells, c)
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("no figures in\n%s", out)
	}
	return cells, nil
}
