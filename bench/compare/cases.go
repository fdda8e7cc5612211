package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A part is cases that are asked in the same rounds, until they have had so many or the time is over.
type part struct {
	name   string
	rounds int
	limit  time.Duration // after the second round
	cases  []asked
}

// An asked is one question, and what its answer is called.
type asked struct {
	name     string // of the result, as benchstat reads it, without the pool
	question string
	peers    []string // that are asked
	wide     bool     // asks those that may use all processors
	write    func(q question) string
}

// Groups of peers.
var (
	pools = []string{"lastuse", "lastuse-nosites", "rmm-pool", "rmm-arena", "rmm-async",
		"torch-native", "torch-expandable", "torch-async", "cupy-memory", "driver-async"}
	firsts    = append(slices.Clone(pools), "driver-plain", "driver-vmm")
	replayers = append(slices.Clone(pools), "lastuse-tight", "lastuse-fast", "rmm-preset", "rmm-async-grown")
	steady    = []string{"lastuse", "lastuse-fast"}
	limited   = []string{"lastuse", "lastuse-tight", "lastuse-fast", "rmm-pool",
		"torch-native", "torch-expandable", "torch-async", "driver-async"}
	copiers = []string{"lastuse", "torch-native", "driver-plain"}
)

// parts returns all parts. quick has two rounds only.
func parts(random, recorded []*steps, quick bool) []part {
	traces := slices.Concat(random, recorded)
	all := []part{pairPart(), tracePart(traces), firstPart(), steadyPart(traces), copyPart(), streamsPart(),
		limitPart(recorded)}
	for i := range all {
		if quick {
			all[i].rounds, all[i].limit = min(all[i].rounds, 2), all[i].limit/10
		}
	}
	return all
}

// choose returns the parts with names, all if there are none, and of them the cases whose names match.
func choose(all []part, names []string, match *regexp.Regexp) (chosen []part, err error) {
	for _, name := range names {
		if !slices.ContainsFunc(all, func(p part) bool { return p.name == name }) {
			return nil, fmt.Errorf("there is no part %q", name)
		}
	}
	for _, p := range all {
		if names != nil && !slices.Contains(names, p.name) {
			continue
		}
		p.cases = slices.DeleteFunc(p.cases, func(c asked) bool { return !match.MatchString(c.name) })
		chosen = append(chosen, p)
	}
	return chosen, nil
}

// pairPart times pairs of Make and Free.
func pairPart() part {
	p := part{name: "pair", rounds: 11, limit: 75 * time.Second}
	add := func(shape string, sizes ...int64) { p.cases = append(p.cases, pairCase(shape, sizes...)) }
	for _, n := range []int64{256, 1 << 10, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 1 << 30} {
		add("one", n)
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
	return p
}

func pairCase(shape string, sizes ...int64) asked {
	var bytes, names []string
	for _, n := range sizes {
		bytes, names = append(bytes, fmt.Sprint(n)), append(names, sizeName(n))
	}
	name := fmt.Sprintf("Pair/shape=%s/size=%s", shape, strings.Join(names, "+"))
	if shape == "one" {
		name = "MakeFree/size=" + names[0]
	}
	who := pools
	if shape == "one" {
		who = append(slices.Clone(pools), "driver-plain")
	}
	return asked{
		name:     name,
		question: fmt.Sprintf("pair shape=%s sizes=%s ms=20", shape, strings.Join(bytes, ",")),
		peers:    who,
		write: func(q question) string {
			values := []any{q.at("ns", 0), "ns/op", q.values["allocs"], "allocs/op", q.values["clock"], "clock-ns"}
			return q.line(int(q.number("n", 1)), append(values, q.kinds("/op")...)...)
		},
	}
}

// tracePart replays traces on fresh pools. The median of its replays is an answer's time.
func tracePart(traces []*steps) part {
	p := part{name: "trace", rounds: 7, limit: 150 * time.Second}
	for _, s := range traces {
		p.cases = append(p.cases, asked{
			name:     "Trace/trace=" + s.name,
			question: fmt.Sprintf("trace file=%s replays=5 ms=150", s.file),
			peers:    replayers,
			write: func(q question) string {
				ns := q.list("ns")
				return q.line(len(ns), median(ns), "ns/event", q.values["cold"], "cold-ns/event",
					q.values["reserved"], "reserved-B", s.peak, "requested-B",
					float64(q.number("reserved", 0))/float64(s.peak), "reserved/requested",
					q.values["taken"], "taken-B", len(s.all), "events", 0, "failures", q.warm(), "calls/replay")
			},
		})
	}
	return p
}

// steadyPart replays with one and a half times a trace's peak as the limit: a warm pool calls no device then.
func steadyPart(traces []*steps) part {
	p := part{name: "steady", rounds: 2, limit: 20 * time.Second}
	for _, s := range traces {
		limit := s.peak * 3 / 2
		p.cases = append(p.cases, asked{
			name:     "Steady/trace=" + s.name,
			question: fmt.Sprintf("trace file=%s replays=4 ms=1000 limit=%d", s.file, limit),
			peers:    steady,
			write: func(q question) string {
				ns := q.list("ns")
				values := []any{q.warm(), "calls/replay", q.at("calls", 0), "first-calls",
					q.at("calls", 1), "second-calls", median(ns), "ns/event", q.values["cold"], "cold-ns/event",
					q.values["reserved"], "reserved-B", limit, "limit-B"}
				return q.line(len(ns), append(values, q.kinds("/replay")...)...)
			},
		})
	}
	return p
}

// limitPart replays traces on a device that has only so many times their peak, up to the first failure.
func limitPart(traces []*steps) part {
	p := part{name: "limit", rounds: 1, limit: time.Minute}
	for _, s := range traces {
		for _, times := range []float64{1, 1.05, 1.1, 1.25} {
			const granule = 2 << 20 // the unit in which drivers give memory
			free := (int64(float64(s.peak)*times) + granule - 1) &^ (granule - 1)
			p.cases = append(p.cases, asked{
				name:     fmt.Sprintf("TraceLimit/trace=%s/limit=%.2f", s.name, times),
				question: fmt.Sprintf("limit file=%s free=%d", s.file, free),
				peers:    limited,
				write: func(q question) string {
					return q.line(1, q.values["done"], "done", free, "free-B")
				},
			})
		}
	}
	return p
}

// firstPart times a fresh pool's first buffer.
func firstPart() part {
	p := part{name: "first", rounds: 9, limit: 30 * time.Second}
	for _, n := range []int64{1 << 20, 64 << 20, 1 << 30} {
		p.cases = append(p.cases, asked{
			name:     "First/size=" + sizeName(n),
			question: fmt.Sprintf("first size=%d", n),
			peers:    firsts,
			write: func(q question) string {
				return q.line(1, q.at("ns", 0), "ns/op", q.at("new", 0), "new-ns",
					q.values["reserved"], "reserved-B", q.values["taken"], "taken-B")
			},
		})
	}
	return p
}

// copyPart copies from and to ordinary memory.
func copyPart() part {
	p := part{name: "copy", rounds: 5, limit: 60 * time.Second}
	for _, n := range []int64{1 << 20, 64 << 20, 1 << 30} {
		for _, how := range []string{"dir=in fresh=0", "dir=out fresh=0", "dir=out fresh=1"} {
			p.cases = append(p.cases, asked{
				name:     fmt.Sprintf("Copy/%s/size=%s", strings.ReplaceAll(how, " ", "/"), sizeName(n)),
				question: fmt.Sprintf("copy %s size=%d ms=100", how, n),
				peers:    copiers,
				wide:     true,
				write: func(q question) string {
					ns := q.list("ns")
					return q.line(len(ns), median(ns), "ns/op", float64(n)/median(ns), "GB/s")
				},
			})
		}
	}
	return p
}

// streamsPart lets goroutines work at the same time.
func streamsPart() part {
	p := part{name: "streams", rounds: 7, limit: 20 * time.Second}
	for _, g := range []int{2, 4, 8, 16} {
		p.cases = append(p.cases, asked{
			name:     fmt.Sprintf("Streams/goroutines=%d", g),
			question: fmt.Sprintf("streams goroutines=%d ms=150", g),
			peers:    steady[:1],
			wide:     true,
			write: func(q question) string {
				return q.line(1, q.values["speedup"], "x-of-one", q.values["machine"], "x-of-machine")
			},
		})
	}
	return p
}

// at returns one of the numbers of a value, NaN if there are fewer.
func (q question) at(key string, i int) float64 {
	if all := q.list(key); i < len(all) {
		return all[i]
	}
	return math.NaN()
}

// warm returns the most device calls of a replay, from the third on, NaN if there were fewer.
func (q question) warm() float64 {
	if calls := q.list("calls"); len(calls) > 2 {
		return slices.Max(calls[2:])
	}
	return math.NaN()
}

// line returns how often something was done and then values with their units, without those that are not
// there.
func (q question) line(n int, values ...any) string {
	line := fmt.Sprint(n)
	for i := 0; i+1 < len(values); i += 2 {
		text := fmt.Sprint(values[i])
		if x, ok := values[i].(float64); ok && math.IsNaN(x) {
			text = ""
		} else if ok {
			text = strconv.FormatFloat(math.Round(x*1e4)/1e4, 'f', -1, 64)
		}
		if text != "" {
			line += fmt.Sprintf(" %s %s", text, values[i+1])
		}
	}
	return line
}

// kinds returns device calls by kind, as values with units.
func (q question) kinds(per string) (values []any) {
	for what := range strings.SplitSeq(q.values["what"], ",") {
		kind, times, _ := strings.Cut(what, ":")
		values = append(values, times, kind+per)
	}
	return values
}

// list returns the numbers of a value.
func (q question) list(key string) (all []float64) {
	for s := range strings.SplitSeq(q.values[key], ",") {
		if x, err := strconv.ParseFloat(s, 64); err == nil {
			all = append(all, x)
		}
	}
	return all
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
