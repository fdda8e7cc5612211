package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// A verdict is a goal with what was seen: it is to be at most a bound, or at least.
type verdict struct {
	name        string
	seen, bound float64
	least       bool
}

// String says whether the goal is met. What was not measured is neither.
func (v verdict) String() string {
	word, sign := "met", "<="
	if v.least {
		sign = ">="
	}
	switch {
	case math.IsNaN(v.seen) || math.IsNaN(v.bound):
		word = "unknown"
	case v.least && v.seen < v.bound, !v.least && v.seen > v.bound:
		word = "MISSED"
	}
	return fmt.Sprintf("%-8s %-52s %10.4g %s %.4g", word, v.name, v.seen, sign, v.bound)
}

// found are results by question.
type found map[string][]*result

// of returns the median of a pool's answers to a question, NaN if there is none.
func (f found) of(name, pool, unit string) float64 {
	for _, r := range f[name] {
		if r.pool == pool && len(r.values[unit]) > 0 {
			return median(r.values[unit])
		}
	}
	return math.NaN()
}

// faster returns the smaller of the medians of RMM's pool and PyTorch's allocator.
func (f found) faster(name, unit string) float64 {
	return math.Min(f.of(name, "rmm-pool", unit), f.of(name, "torch-native", unit))
}

// goals hold the pools of a device, by their name, against what they are to reach.
func (f found) goals(ours string) (all []verdict) {
	most := func(name string, seen, bound float64) { all = append(all, verdict{name, seen, bound, false}) }
	least := func(name string, seen, bound float64) { all = append(all, verdict{name, seen, bound, true}) }
	for _, s := range randoms([]int{1000, 10_000}, []int64{1, 64, 256, 1024}) {
		name, steady := "Trace/trace="+s.name, "Steady/trace="+s.name
		for _, kind := range []string{"", "-fast"} {
			if f[steady] != nil {
				most(s.name+", calls of a warm replay"+kind, f.of(steady, ours+kind, "calls/replay"), 0)
			}
		}
		if f[name] == nil {
			continue // the part was not asked for
		}
		share := 1.0 // of the faster peer's time
		slack := 0.0 // a granule for each size class
		if strings.HasSuffix(name, "-1MiB") || strings.HasSuffix(name, "-64MiB") {
			share, slack = 0.5, 32*(2<<20)/float64(s.peak)
		}
		most(s.name+", time", f.of(name, ours, "ns/event"), share*f.faster(name, "ns/event"))
		const memory = "reserved/requested"
		most(s.name+", memory", f.of(name, ours, memory), f.of(name, "torch-expandable", memory)+slack)
		taken, books := f.of(name, ours, "taken-B"), f.of(name, ours, "reserved-B")
		most(s.name+", memory by the driver", taken, 1.02*books+32<<20)
		if share == 1 {
			most(s.name+", memory of Tight", f.of(name, ours+"-tight", memory), 1.05)
		}
	}
	for _, size := range []string{"256B", "1MiB", "16MiB", "1GiB"} {
		bound := 70.0
		if size == "256B" {
			bound = 45
		}
		if name := "MakeFree/size=" + size; f[name] != nil {
			most("pair of "+size, f.of(name, ours, "ns/op"), bound)
		}
	}
	for _, c := range pairPart().cases {
		if shape, ok := strings.CutPrefix(c.name, "Pair/shape="); ok && f[c.name] != nil {
			seen := f.of(c.name, ours, "ns/op")
			most(shape+", a third of RMM's", seen, f.of(c.name, "rmm-pool", "ns/op")/3)
			most(shape+", a sixth of PyTorch's", seen, f.of(c.name, "torch-native", "ns/op")/6)
		}
	}
	if gib := "First/size=1GiB"; f[gib] != nil {
		bound := 2 * f.of(gib, "torch-native", "ns/op")
		if alone := f.of(gib, "driver-vmm", "ns/op"); alone > bound {
			bound = 1.2 * alone
		}
		most("first buffer of 1GiB", f.of(gib, ours, "ns/op"), bound)
	}
	if name := "Streams/goroutines=16"; f[name] != nil {
		least("16 goroutines, times one", f.of(name, ours, "x-of-one"), 12)
	}
	for _, c := range copyPart().cases {
		if f[c.name] != nil {
			least(c.name, f.of(c.name, ours, "GB/s"), f.of(c.name, "torch-native", "GB/s"))
		}
	}
	return all
}

// judge writes the verdicts of a device's pools.
func judge(w io.Writer, f found, ours string) {
	for _, v := range f.goals(ours) {
		fmt.Fprintln(w, v)
	}
	fmt.Fprintln(w)
}
