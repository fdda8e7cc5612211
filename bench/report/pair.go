package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"
)

// onGPU reports whether a pool of the part is one of device memory: those are compared with each other, and those of host memory
// with each other.
func onGPU(pool string) bool {
	return slices.ContainsFunc([]string{"lastuse-cuda", "driver", "torch", "cupy"}, func(p string) bool { return strings.HasPrefix(pool, p) })
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
		p, err := lines("A pair of Make and Free, warm: "+strings.ToLower(g.title[:1])+g.title[1:], axis{"size of the buffer", true, size, true, 0}, axis{"time of a pair", true, duration, false, 0}, all)
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
		{"lastuse-cuda", "lastuse"}, {"lastuse-cuda-nosites", "without call sites"},
		{"torch-native", "PyTorch, C++"}, {"torch-expandable", "PyTorch, expandable segments"},
		{"cupy-memory", "CuPy's pool, Python"}, {"driver-async", "the driver's pool, C"}, {"driver-plain", "cuMemAlloc, cuMemFree, C"},
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
	t.write(w)
	fmt.Fprintf(w, "On %s, from [pair.txt](bench/results/%s/pair.txt).\n", machine(f), set)
}
