package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
)

// runPair runs the pair beside its peers.
func runPair(r *raw) error {
	n := fmt.Sprint(r.count())
	if err := r.test("bench.test", "", "^BenchmarkMakeFree$", r.time(100*time.Millisecond), r.count()); err != nil {
		return err
	}
	host := filepath.Join(r.bin, "host_pair")
	r.peer("glibc", nil, host, "glibc", n)
	for _, p := range []struct{ name, file string }{{"mimalloc", "libmimalloc.so.2"}, {"jemalloc", "libjemalloc.so.2"}} {
		lib := ""
		for _, dir := range []string{r.bin, "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"} {
			if _, err := os.Stat(filepath.Join(dir, p.file)); err == nil {
				lib = filepath.Join(dir, p.file)
				break
			}
		}
		if lib == "" {
			r.missing(p.name, p.file+" is not installed")
			continue
		}
		r.peer(p.name, []string{"LD_PRELOAD=" + lib}, host, p.name, n)
	}
	r.peer("arrow-go", nil, filepath.Join(r.bin, "arrow"), n)
	return r.compare("cuda", "^MakeFree", "pair")
}

// onGPU reports whether a pool of the part is one of device memory: those are compared with each other, and those of host memory
// with each other.
func onGPU(pool string) bool {
	return slices.ContainsFunc([]string{"lastuse-cuda", "driver", "torch", "cupy", "rmm"}, func(p string) bool { return strings.HasPrefix(pool, p) })
}

// pairGroups are the two comparisons of the part: of the GPU's memory and of the host's.
var pairGroups = []struct {
	title string
	gpu   bool
}{{"A GPU's memory", true}, {"Host memory", false}}

// pairsOf returns the results of one group.
func pairsOf(f *rawFile, gpu bool) (all []*result) {
	for _, r := range f.only("MakeFree") {
		if onGPU(r.vars["pool"]) == gpu {
			all = append(all, r)
		}
	}
	return all
}

// pairTables makes a table of each group.
func pairTables(f *rawFile, add addTable) {
	for _, g := range pairGroups {
		add(g.title+": time of a pair", pivot(pairsOf(f, g.gpu), "size", "pool", "ns/op", duration))
	}
}

// pairPlots draws the groups below each other.
func pairPlots(f *rawFile) ([][]*plot.Plot, error) {
	var grid [][]*plot.Plot
	for _, g := range pairGroups {
		results := pairsOf(f, g.gpu)
		var all []line
		for _, pool := range values(results, "pool") {
			if pool != "arrow-go-checked" {
				all = append(all, line{name: pool, points: points(f.only("MakeFree", "pool="+pool), "size", "ns/op", bytesOf)})
			}
		}
		if len(all) == 0 {
			continue
		}
		p, err := lines("A pair of Make and Free, warm: "+strings.ToLower(g.title[:1])+g.title[1:], axis{label: "size of the buffer", log: true, show: size, binary: true}, axis{label: "time of a pair", log: true, show: duration}, all)
		if err != nil {
			return nil, err
		}
		grid = append(grid, []*plot.Plot{p})
	}
	return grid, nil
}

// shortPair writes the README's table of pairs: some sizes, and the pools that a reader knows.
func shortPair(w *bytes.Buffer, f *rawFile, set string) {
	pools := []struct{ name, head string }{
		{"lastuse-cuda", "lastuse"}, {"torch-native", "PyTorch, C++"},
		{"torch-expandable", "PyTorch, expandable segments"}, {"driver-async", "the driver's pool, C"},
	}
	t := &table{head: []string{"size"}}
	for _, p := range pools {
		t.head = append(t.head, p.head)
	}
	for _, at := range []string{"256B", "64KiB", "1MiB", "1GiB"} {
		row := []string{size(bytesOf(at))}
		for _, p := range pools {
			cell := ""
			for _, r := range f.only("MakeFree", "size="+at, "pool="+p.name) {
				if m, ok := r.of("ns/op"); ok {
					cell = duration(m.value)
				}
			}
			row = append(row, cell)
		}
		t.rows = append(t.rows, row)
	}
	t.write(w, "")
	fmt.Fprintf(w, "On %s, from [pair.txt](bench/results/%s/pair.txt).\n", machine(f), set)
}
