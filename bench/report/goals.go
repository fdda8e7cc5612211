package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/bench/ask"
	"github.com/lastuse/lastuse/bench/early"
)

// A verdict is a goal with what was seen: it is to be at most a bound, or at least.
type verdict struct {
	part        string
	name, of    string // what is the same in several goals, and what is not
	seen, bound float64
	least       bool
	show        func(float64) string
}

// known reports whether it was measured.
func (v verdict) known() bool { return !math.IsNaN(v.seen) && !math.IsNaN(v.bound) }

// missed reports whether it was measured and is not met.
func (v verdict) missed() bool {
	return v.known() && (v.least && v.seen < v.bound || !v.least && v.seen > v.bound)
}

// String says what was to be.
func (v verdict) String() string {
	word := "at most"
	if v.least {
		word = "at least"
	}
	return fmt.Sprintf("%s, %s %s", v.name, word, v.show(v.bound))
}

// misses says what is not met, goals with the same name and bound in one line.
func misses(all []verdict, raw string) (lines []string) {
	seen := map[string]string{}
	var order []string
	for _, v := range all {
		if !v.missed() {
			continue
		}
		head := fmt.Sprintf("[%s](%s/%s.txt): %s: ", v.part, raw, v.part, v)
		if seen[head] == "" {
			order = append(order, head)
		} else {
			seen[head] += ", "
		}
		seen[head] += strings.TrimSpace(v.show(v.seen) + " " + v.of)
	}
	for _, head := range order {
		lines = append(lines, head+seen[head])
	}
	return lines
}

// goals hold results, by part, against what they are to reach.
func goals(files map[string]*rawFile) (all []verdict) {
	most := func(part, name, of string, seen, bound float64, show func(float64) string) {
		all = append(all, verdict{part, name, of, seen, bound, false, show})
	}
	least := func(part, name, of string, seen, bound float64) {
		all = append(all, verdict{part, name, of, seen, bound, true, digits})
	}
	earlyGoals(files["early"], most)
	pairGoals(files["pair"], most)
	traceGoals(files["trace"], most)
	for _, r := range files["steady"].only("Steady") {
		most("steady", "device calls of a warm replay", r.vars["trace"]+" by "+r.vars["pool"],
			r.of("calls/replay"), 0, digits)
	}
	gib := func(pool string) *found { return files["first"].one("First", "size=1GiB", "pool="+pool) }
	most("first", "the first buffer of 1 GiB, of PyTorch's", "",
		gib("lastuse-cuda").share("ns/op", gib("torch-native")), 2, digits)
	for _, r := range files["copy"].only("Copy", "pool=lastuse-cuda") {
		theirs := files["copy"].one("Copy", "pool=torch-native", "dir="+r.vars["dir"], "fresh="+r.vars["fresh"],
			"size="+r.vars["size"])
		where := map[string]string{"in0": "to the device", "out0": "from the device",
			"out1": "from the device to fresh memory"}[r.vars["dir"]+r.vars["fresh"]]
		most("copy", "the time of a copy, of PyTorch's", r.vars["size"]+" "+where, r.share("ns/op", theirs), 1,
			digits)
	}
	for _, r := range files["goroutines"].only("Streams") {
		g := r.vars["goroutines"]
		switch {
		case r.vars["shared"] == "true":
			least("goroutines", "goroutines on one stream, times one", "with "+g, r.of("x-of-one"), 0.5)
		case g == "2":
			least("goroutines", "2 goroutines on streams of their own, times one", "", r.of("x-of-one"), 1.8)
		case g == "16":
			least("goroutines", "16 goroutines on 16 streams, times one",
				"where those that share nothing get "+digits(r.of("x-of-machine")), r.of("x-of-one"), 12)
		}
	}
	for _, r := range files["goroutines"].only("Holes", "holes=65536") {
		most("goroutines", "a pair among 65,536 holes, of one among 4,096", "of "+r.vars["size"],
			r.of("x-of-4096"), 1.2, digits)
	}
	hostGoals(files, most)
	return all
}

// A goal adds one that is an upper bound.
type goal func(part, name, of string, seen, bound float64, show func(float64) string)

func earlyGoals(f *rawFile, most goal) {
	for _, program := range early.Programs {
		form := func(name string) *found { return f.one("Early", "program="+program, "frees="+name) }
		most("early", "the peak, of that by hand", program, form("lastuse").of("peak-B")/form("hand").of("peak-B"),
			1, digits)
		ratios := form("lastuse").shares("cpu-ns", form("hand"))
		if s := interval(ratios); len(ratios) > 5 {
			most("early", "the processor time, of that by hand, where 95 % ends", program, s.Hi, 1.02, thousandth)
		}
	}
}

func pairGoals(f *rawFile, most goal) {
	for _, c := range []struct {
		size  string
		bound float64
	}{{"256B", 45}, {"1MiB", 70}, {"16MiB", 70}, {"1GiB", 70}} {
		most("pair", "a pair", "of "+c.size, f.one("MakeFree", "size="+c.size, "pool=lastuse-cuda").of("ns/op"),
			c.bound, duration)
	}
	shapes := map[string]string{"live8": "with eight live buffers", "deep": "60 calls deep",
		"alternate": "at two sites in turn"}
	for _, r := range f.only("Pair", "pool=lastuse-cuda") {
		for _, peer := range []struct {
			pool, name string
			bound      float64
		}{{"rmm-pool", "RMM's", 1.0 / 3}, {"torch-native", "PyTorch's", 1.0 / 6},
			{"torch-expandable", "its expandable segments'", 1.0 / 6}} {
			theirs := f.one("Pair", "shape="+r.vars["shape"], "size="+r.vars["size"], "pool="+peer.pool)
			most("pair", fmt.Sprintf("a pair %s, of %s", shapes[r.vars["shape"]], peer.name), "of "+r.vars["size"],
				r.share("ns/op", theirs), peer.bound, thousandth)
		}
	}
}

func traceGoals(f *rawFile, most goal) {
	for _, r := range f.only("Trace", "pool=lastuse-cuda") {
		name, isRandom := strings.CutPrefix(r.vars["trace"], "random-")
		if !isRandom {
			continue
		}
		of := func(pool string) *found { return f.one("Trace", "trace=random-"+name, "pool="+pool) }
		share, slack := 1.0, 0.0
		if small := strings.HasSuffix(name, "-1MiB") || strings.HasSuffix(name, "-64MiB"); small {
			share, slack = 0.5, 32*(2<<20)/r.of("requested-B") // a granule for each size class
		}
		most("trace", "random_allocations, time of the fastest peer's", name, r.share("ns/event", of("rmm-pool"),
			of("torch-native"), of("torch-expandable")), share, thousandth)
		const memory = "reserved/requested"
		most("trace", "random_allocations, reserved over requested, where PyTorch's expandable segments have it",
			name, r.of(memory), of("torch-expandable").of(memory)+slack, thousandth)
		if share == 1 {
			most("trace", "random_allocations in Tight, reserved over requested", name,
				of("lastuse-cuda-tight").of(memory), 1.05, thousandth)
		}
	}
}

// hostGoals are those of the books, of the collector, and of watching.
func hostGoals(files map[string]*rawFile, most goal) {
	for _, r := range files["host"].only("MakeFree", "pool=lastuse-host") {
		if slices.Contains([]string{"256B", "4KiB", "64KiB"}, r.vars["size"]) {
			bare := files["host"].one("MakeFree", "pool=lastuse-host-bare", "size="+r.vars["size"])
			var more []float64
			for round, x := range r.rounds["ns/op"] {
				if y, ok := bare.rounds["ns/op"][round]; ok {
					more = append(more, x-y)
				}
			}
			most("host", "what the books add to a pair", "of "+r.vars["size"], ask.Median(more), 5, duration)
		}
	}
	for _, r := range files["never"].only("NeverFree", "frees=false") {
		who := fmt.Sprintf("with %s, owners %s", r.vars["goroutines"], r.vars["shape"])
		frees := files["never"].one("NeverFree", "frees=true", "shape="+r.vars["shape"],
			"goroutines="+r.vars["goroutines"])
		most("never", "goroutines that never free, of the time of those that do", who, r.share("ns/op", frees), 2,
			digits)
		most("never", "goroutines that never free, percent in collections", who, r.of("%gc"), 10, digits)
	}
	for _, r := range files["memwatch"].only("Watched", "watcher=memwatch", "events=max") {
		bound := map[string]float64{"true": 3000, "false": 1800}[r.vars["stacks"]]
		most("memwatch", "memwatch adds to a call of the driver", watcherName(r), r.of("added-cpu-ns/call"), bound,
			duration)
	}
}

// thousandth shows a ratio.
func thousandth(x float64) string { return fmt.Sprintf("%.3f", x) }
