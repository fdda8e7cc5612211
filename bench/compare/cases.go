package main

import (
	"fmt"
	"path/filepath"
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

// peers returns all peers. bin is the folder of those that are built, scripts that of the others, self this program.
func peers(bin, scripts, self, device string) (all []*peer) {
	add := func(name string, wide bool, args ...string) {
		if wide {
			name += wideMark
		}
		all = append(all, &peer{name: name, args: args, wide: wide, late: args[0] == "python3"})
	}
	ours := "lastuse-" + device
	for _, name := range []string{ours, ours + "-nosites", ours + "-tight", ours + "-fast"} {
		add(name, false, self, "-serve", name)
	}
	rmm, driver := filepath.Join(bin, "rmm_peer"), filepath.Join(bin, "driver_peer")
	for _, kind := range []string{"pool", "half", "arena", "async", "async-grown"} {
		add("rmm-"+kind, false, rmm, kind)
	}
	for _, kind := range []string{"native", "expandable"} {
		add("torch-"+kind, false, "python3", filepath.Join(scripts, "torch_peer.py"), kind)
	}
	add("cupy-memory", false, "python3", filepath.Join(scripts, "cupy_peer.py"))
	for _, kind := range []string{"async", "plain", "vmm"} {
		add("driver-"+kind, false, driver, kind)
	}
	add(ours, true, self, "-serve", ours)
	add("torch-native", true, "python3", filepath.Join(scripts, "torch_peer.py"), "native")
	add("driver-plain", true, driver, "plain")
	return all
}

// wideMark ends the name of a peer that may use all processors, among those that are asked.
const wideMark = "/wide"

// Groups of peers.
var (
	pools  = []string{"lastuse", "lastuse-nosites", "rmm-pool", "rmm-arena", "rmm-async", "torch-native", "torch-expandable", "cupy-memory", "driver-async"}
	replay = append(slices.Clone(pools), "lastuse-tight", "lastuse-fast", "rmm-half", "rmm-async-grown")
	firsts = append(slices.Clone(pools), "driver-plain", "driver-vmm")
	kinds  = []string{"lastuse", "lastuse-tight", "lastuse-fast"}
	copies = []string{"lastuse", "torch-native", "driver-plain"}
)

// parts returns all parts. quick has fewer cases and rounds.
func parts(traces []*steps, quick bool) []part {
	all := []part{pairPart(), tracePart(traces), firstPart(), steadyPart(traces), copyPart(), streamsPart()}
	if quick {
		for i := range all {
			all[i].rounds, all[i].limit = 2, all[i].limit/10
		}
	}
	return all
}

func pairPart() part {
	p := part{name: "pair", rounds: 11, limit: 75 * time.Second}
	for _, n := range []int64{256, 1 << 10, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 1 << 30} {
		p.cases = append(p.cases, pairCase("one", n))
	}
	for _, n := range []int64{256, 1 << 20, 16 << 20} {
		p.cases = append(p.cases, pairCase("live8", n))
	}
	for _, n := range []int64{256, 1 << 20, 1 << 30} {
		p.cases = append(p.cases, pairCase("deep", n))
	}
	for _, n := range []int64{256, 1 << 20} {
		p.cases = append(p.cases, pairCase("alternate", n, n), pairCase("alternate", n, 3*n))
	}
	p.cases = append(p.cases, pairCase("live8", 1<<20, 3<<20))
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
	return asked{
		name:     name,
		question: fmt.Sprintf("pair shape=%s sizes=%s ms=20", shape, strings.Join(bytes, ",")),
		peers:    pools,
		write: func(q question) string {
			line := fmt.Sprintf("%d %.2f ns/op", q.number("n", 1), q.list("ns")[0])
			if a, ok := q.values["allocs"]; ok {
				line += " " + a + " allocs/op"
			}
			return line
		},
	}
}

// tracePart replays RMM's random_allocations and recorded traces.
func tracePart(traces []*steps) part {
	p := part{name: "trace", rounds: 7, limit: 150 * time.Second}
	for _, s := range traces {
		p.cases = append(p.cases, asked{
			name:     "Trace/trace=" + s.name,
			question: fmt.Sprintf("trace file=%s replays=5 ms=150", s.file),
			peers:    replay,
			write: func(q question) string {
				line := fmt.Sprintf("%d %.1f ns/event %s cold-ns/event %s reserved-B %d requested-B %.4f reserved/requested %s taken-B %d events 0 failures",
					len(q.list("ns")), median(q.list("ns")), q.values["cold"], q.values["reserved"], s.peak,
					float64(q.number("reserved", 0))/float64(s.peak), q.values["taken"], len(s.all))
				if calls := q.list("calls"); len(calls) > 0 {
					line += fmt.Sprintf(" %.0f calls/replay", slices.Max(calls[min(2, len(calls)-1):]))
				}
				return line
			},
		})
	}
	return p
}

// steadyPart replays with a limit of one and a half times a trace's peak: from the third replay on no device is called.
func steadyPart(traces []*steps) part {
	p := part{name: "steady", rounds: 2, limit: 20 * time.Second}
	for _, s := range traces {
		limit := s.peak * 3 / 2
		p.cases = append(p.cases, asked{
			name:     "Steady/trace=" + s.name,
			question: fmt.Sprintf("trace file=%s replays=4 ms=1000 limit=%d", s.file, limit),
			peers:    kinds,
			write: func(q question) string {
				calls := q.list("calls")
				return fmt.Sprintf("%d %.1f ns/event %s cold-ns/event %.0f first-calls %.0f second-calls %.0f later-calls %s reserved-B %d limit-B",
					len(q.list("ns")), median(q.list("ns")), q.values["cold"], calls[0], calls[1], slices.Max(calls[2:]), q.values["reserved"], limit)
			},
		})
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
				return fmt.Sprintf("1 %.0f ns/op %.0f new-ns %s reserved-B %s taken-B", q.list("ns")[0], q.list("new")[0], q.values["reserved"], q.values["taken"])
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
				peers:    copies,
				wide:     true,
				write: func(q question) string {
					ns := median(q.list("ns"))
					return fmt.Sprintf("%d %.0f ns/op %.2f GB/s", len(q.list("ns")), ns, float64(n)/ns)
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
			peers:    kinds[:1],
			wide:     true,
			write: func(q question) string {
				return fmt.Sprintf("1 %s x-of-one %s x-of-machine", q.values["speedup"], q.values["machine"])
			},
		})
	}
	return p
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

func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return quantile(x, 0.5)
}

// quantile returns what a part of x is at most, between two values if it falls there.
func quantile(x []float64, part float64) float64 {
	x = slices.Sorted(slices.Values(x))
	at := part * float64(len(x)-1)
	i := int(at)
	if i+1 == len(x) {
		return x[i]
	}
	return x[i] + (at-float64(i))*(x[i+1]-x[i])
}
