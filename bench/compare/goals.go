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

// all returns all values with a unit.
func (f found) all(unit string) (values []float64) {
	for _, results := range f {
		for _, r := range results {
			values = append(values, r.values[unit]...)
		}
	}
	return values
}

// share returns what a pool's answers are of those that peers gave in the same rounds, of the least in
// each: the median, and NaN if there is no such round. The machine's clock may have another speed in the
// next round.
func (f found) share(name, pool string, peers ...string) float64 {
	var shares []float64
	for round, x := range f.rounds(name, pool) {
		least := math.Inf(1)
		for _, peer := range peers {
			y, ok := f.rounds(name, peer)[round]
			if !ok {
				y = math.NaN()
			}
			least = math.Min(least, y)
		}
		if !math.IsNaN(least) {
			shares = append(shares, x/least)
		}
	}
	if shares == nil {
		return math.NaN()
	}
	return median(shares)
}

// rounds returns the first value of each round's answer.
func (f found) rounds(name, pool string) map[int]float64 {
	for _, r := range f[name] {
		if r.pool == pool {
			return r.rounds
		}
	}
	return nil
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
		share := 1.0
		slack := 0.0 // a granule for each size class
		if strings.HasSuffix(name, "-1MiB") || strings.HasSuffix(name, "-64MiB") {
			share, slack = 0.5, 32*(2<<20)/float64(s.peak)
		}
		faster := f.share(name, ours, "rmm-pool", "torch-native", "torch-expandable")
		most(s.name+", of the fastest's time", faster, share)
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
			most(shape+", of RMM's", f.share(c.name, ours, "rmm-pool"), 1.0/3)
			most(shape+", of PyTorch's", f.share(c.name, ours, "torch-native"), 1.0/6)
			most(shape+", of its expandable's", f.share(c.name, ours, "torch-expandable"), 1.0/6)
		}
	}
	if gib := "First/size=1GiB"; f[gib] != nil {
		if alone := f.share(gib, "driver-vmm", "torch-native"); alone > 2 {
			most("first buffer of 1GiB, of mapping alone", f.share(gib, ours, "driver-vmm"), 1.2)
		} else {
			most("first buffer of 1GiB, of PyTorch's", f.share(gib, ours, "torch-native"), 2)
		}
	}
	if name := "Streams/goroutines=16"; f[name] != nil {
		least("16 goroutines, times one", f.of(name, ours, "x-of-one"), 12)
	}
	for _, c := range copyPart().cases {
		if f[c.name] != nil {
			most(c.name+", of PyTorch's", f.share(c.name, ours, "torch-native"), 1)
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
