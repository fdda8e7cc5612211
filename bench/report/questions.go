package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lastuse/lastuse/bench/ask"
	"github.com/lastuse/lastuse/bench/trace"
)

// A part is what has one raw file: questions that are asked in the same rounds, until each has had so many
// or the time is over, or something else that is run.
type part struct {
	name   string
	gpu    bool // it needs one
	rounds int
	limit  time.Duration // after the second round
	asked  []asked
	run    func(*raw) error
}

// An asked is one question.
type asked struct {
	question string
	peers    []string                               // that are asked
	lines    func(pool string, a ask.Line) []string // what an answer comes to, as go test prints results
	once     bool                                   // it is asked in the first round only
}

// question asks peers.
func question(text string, peers []string, lines func(pool string, a ask.Line) []string) asked {
	return asked{question: text, peers: peers, lines: lines}
}

// Groups of peers.
var (
	pools = []string{"lastuse-cuda", "lastuse-cuda-nosites", "rmm-pool", "rmm-arena", "rmm-async",
		"torch-native", "torch-expandable", "torch-async", "cupy-memory", "driver-async"}
	firsts    = append(slices.Clone(pools), "driver-plain", "driver-vmm")
	replayers = append(slices.Clone(pools), "lastuse-cuda-tight", "lastuse-cuda-fast", "rmm-preset",
		"rmm-async-grown")
	limited = []string{"lastuse-cuda", "lastuse-cuda-tight", "lastuse-cuda-fast", "rmm-pool", "torch-native",
		"torch-expandable", "torch-async", "driver-async"}
	onHost = []string{"lastuse-host", "lastuse-host-nosites", "lastuse-host-bare", "glibc", "mimalloc",
		"jemalloc"}
)

// parts returns all parts. A quick run has two rounds of each, and shorter ones.
func parts(random, recorded []*trace.Steps, quick bool) []part {
	all := []part{
		{name: "pair", gpu: true, rounds: 11, limit: 65 * time.Second, asked: gpuPairs()},
		{name: "trace", gpu: true, rounds: 7, limit: 120 * time.Second,
			asked: replays(slices.Concat(random, recorded), replayers, 150)},
		{name: "first", gpu: true, rounds: 9, limit: 25 * time.Second, asked: firstBuffers()},
		{name: "steady", gpu: true, rounds: 2, limit: 15 * time.Second, asked: steady(random)},
		{name: "copy", gpu: true, rounds: 5, limit: 40 * time.Second, asked: copies()},
		{name: "limit", gpu: true, rounds: 1, asked: littleMemory(recorded)},
		{name: "multistream", gpu: true,
			run: goTest("cuda.test", "MultiStreams", "MultiStreams", "100ms", 5, "-driver=real")},
		{name: "host", rounds: 11, limit: 30 * time.Second,
			asked: slices.Concat(hostPairs(), replays(recorded, onHost[:1], 100))},
		{name: "early", rounds: 81, limit: 50 * time.Second, asked: earlyPrograms(quick)},
		{name: "goroutines", run: goTest("alloc.test", "^Benchmark(Streams|HandOff|Holes)$",
			"^Benchmark(Streams|HandOff|Holes)$", "50ms", 5)},
		{name: "never", run: goTest("alloc.test", "^BenchmarkNeverFree$",
			"^BenchmarkNeverFree$/goroutines=1/shape=plain", "1x", 2)},
		{name: "memwatch", run: runMemwatch},
		{name: "analyzer", run: runAnalyzer},
	}
	for i := range all {
		if quick {
			all[i].rounds, all[i].limit = min(all[i].rounds, 2), all[i].limit/10
		}
	}
	return all
}

// gpuPairs times pairs of Make and Free, warm.
func gpuPairs() (all []asked) {
	add := func(shape string, sizes ...int64) { all = append(all, pairOf(pools, shape, sizes...)) }
	for _, n := range []int64{256, 1 << 10, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 1 << 30} {
		all = append(all, pairOf(append(slices.Clone(pools), "driver-plain"), "one", n))
	}
	for _, n := range []int64{256, 1 << 20, 16 << 20} {
		add("live8", n)
	}
	for _, n := range []int64{256, 1 << 20, 1 << 30} {
		add("deep", n)
	}
	for _, n := range []int64{256, 1 << 20} {
		add("alternate", n, n)
		add("alternate", n, 3*n)
		add("live8", n, 3*n)
	}
	return all
}

// hostPairs times pairs on the host beside C's allocators.
func hostPairs() (all []asked) {
	for _, n := range []int64{256, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 1 << 30} {
		all = append(all, pairOf(onHost, "one", n))
	}
	return all
}

func pairOf(peers []string, shape string, sizes ...int64) asked {
	var bytes, names []string
	for _, n := range sizes {
		bytes, names = append(bytes, fmt.Sprint(n)), append(names, sizeName(n))
	}
	name := fmt.Sprintf("Pair/shape=%s/size=%s", shape, strings.Join(names, "+"))
	if shape == "one" {
		name = "MakeFree/size=" + names[0]
	}
	return question(fmt.Sprintf("pair shape=%s sizes=%s ms=20", shape, strings.Join(bytes, ",")), peers,
		func(pool string, a ask.Line) []string {
			return result(name+"/pool="+pool, int(a.Number("n", 1)), a.At("ns", 0), "ns/op", a.At("allocs", 0),
				"allocs/op")
		})
}

// replays has traces replayed on fresh pools. The median of its replays is an answer's time.
func replays(traces []*trace.Steps, peers []string, ms int) (all []asked) {
	for _, s := range traces {
		peak := float64(s.Peak())
		all = append(all, question(fmt.Sprintf("trace file=%s replays=5 ms=%d", s.File, ms), peers,
			func(pool string, a ask.Line) []string {
				ns := a.List("ns")
				return result("Trace/trace="+s.Name+"/pool="+pool, len(ns), ask.Median(ns), "ns/event",
					a.At("cold", 0), "cold-ns/event", a.At("reserved", 0), "reserved-B", peak, "requested-B",
					a.At("reserved", 0)/peak, "reserved/requested", a.At("taken", 0), "taken-B", warm(a),
					"calls/replay")
			}))
	}
	return all
}

// steady replays with one and a half times a trace's peak as the limit: a warm pool calls no device then.
func steady(traces []*trace.Steps) (all []asked) {
	for _, s := range traces {
		limit := s.Peak() * 3 / 2
		all = append(all, question(fmt.Sprintf("trace file=%s replays=4 ms=1000 limit=%d", s.File, limit),
			[]string{"lastuse-cuda", "lastuse-cuda-fast"}, func(pool string, a ask.Line) []string {
				return result("Steady/trace="+s.Name+"/pool="+pool, len(a.List("ns")), warm(a), "calls/replay",
					ask.Median(a.List("ns")), "ns/event", a.At("reserved", 0), "reserved-B")
			}))
	}
	return all
}

// warm returns the most device calls of a replay, from the third on, NaN if there were fewer.
func warm(a ask.Line) float64 {
	if calls := a.List("calls"); len(calls) > 2 {
		return slices.Max(calls[2:])
	}
	return math.NaN()
}

// littleMemory replays on a device that has only so many times a trace's peak, up to the first failure.
func littleMemory(traces []*trace.Steps) (all []asked) {
	for _, s := range traces {
		for _, times := range []float64{1, 1.05, 1.1, 1.25} {
			const granule = 2 << 20 // the unit in which drivers give memory
			free := (int64(float64(s.Peak())*times) + granule - 1) &^ (granule - 1)
			all = append(all, question(fmt.Sprintf("limit file=%s free=%d", s.File, free), limited,
				func(pool string, a ask.Line) []string {
					return result(fmt.Sprintf("TraceLimit/trace=%s/limit=%.2f/pool=%s", s.Name, times, pool), 1,
						a.At("done", 0), "done")
				}))
		}
	}
	return all
}

// firstBuffers times a fresh pool's first buffer.
func firstBuffers() (all []asked) {
	for _, n := range []int64{1 << 20, 64 << 20, 1 << 30} {
		all = append(all, question(fmt.Sprintf("first size=%d", n), firsts, func(pool string, a ask.Line) []string {
			return result("First/size="+sizeName(n)+"/pool="+pool, 1, a.At("ns", 0), "ns/op", a.At("new", 0),
				"new-ns", a.At("reserved", 0), "reserved-B", a.At("taken", 0), "taken-B")
		}))
	}
	return all
}

// copies copies from and to ordinary memory.
func copies() (all []asked) {
	for _, n := range []int64{1 << 20, 64 << 20, 1 << 30} {
		for _, how := range []string{"dir=in fresh=0", "dir=out fresh=0", "dir=out fresh=1"} {
			name := fmt.Sprintf("Copy/%s/size=%s", strings.ReplaceAll(how, " ", "/"), sizeName(n))
			all = append(all, question(fmt.Sprintf("copy %s size=%d ms=100", how, n),
				[]string{"lastuse-cuda" + wide, "torch-native" + wide, "driver-plain" + wide},
				func(pool string, a ask.Line) []string {
					ns := a.List("ns")
					return result(name+"/pool="+pool, len(ns), ask.Median(ns), "ns/op")
				}))
		}
	}
	return all
}

// result returns the line of a result, as a list: how often something was done, then values with their
// units, without those that are not there.
func result(name string, n int, values ...any) []string {
	line := fmt.Sprint("Benchmark", name, " ", n)
	for i := 0; i+1 < len(values); i += 2 {
		if x := values[i].(float64); !math.IsNaN(x) {
			x = math.Round(x*1e4) / 1e4
			line += fmt.Sprintf(" %s %s", strconv.FormatFloat(x, 'f', -1, 64), values[i+1])
		}
	}
	return []string{line}
}

// sizeName returns a size as the results name it.
func sizeName(n int64) string {
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.bytes && n%u.bytes == 0 {
			return fmt.Sprint(n/u.bytes, u.name)
		}
	}
	return fmt.Sprint(n, "B")
}
