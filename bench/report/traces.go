package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// tracesAbout introduces the part.
const tracesAbout = "What programs asked of PyTorch's allocator, replayed on others: the same allocations and frees in the same order, from one thread, " +
	"with no work between them. `train` is steps of a transformer in mixed precision whose sequences change in length, `lora` a fine-tune with " +
	"adapters that recomputes activations, `infer` generation with KV caches that grow by a token a step; weights are random (bench/peers/torch_record.py). " +
	"A replay begins on an empty pool (cold) and is repeated on the same (warm). `lastuse-cuda` runs on the GPU, `lastuse-host` on the host device, both with sampled call sites and without, " +
	"`torch` is PyTorch's own allocator in C++ with its three backends, `driver` the driver's from C. For a limit all of the device but so many times " +
	"the trace's own peak is taken beforehand, whoever allocates: granules, size classes and fragmentation have to fit in what is left."

func runTraces(r *raw) error {
	recorded, err := os.ReadFile(filepath.Join(r.root, "bench", "data", "traces", "recorded.txt"))
	if err != nil {
		return err
	}
	r.lines(recorded, "")
	r.compare("cuda", "Trace(Limit)?/trace=[a-z]+(/|$)", "trace,limit")
	return r.compare("host", "Trace(Limit)?/trace=[a-z]+(/|$)", "trace,limit")
}

// tracePools returns the pools that replayed traces, in the order of their results, without those that differ from another in time
// only.
func tracePools(f *rawFile) []string {
	var all []string
	for _, name := range values(f.only("Trace"), "pool") {
		if !strings.HasSuffix(name, "-nosites") {
			all = append(all, name)
		}
	}
	return all
}

// wholeReplays returns the replays that came to their ends: times of others say nothing.
func wholeReplays(f *rawFile) (all []*result) {
	for _, r := range f.only("Trace") {
		if m, ok := r.of("failures"); !ok || m.most == 0 {
			all = append(all, r)
		}
	}
	return all
}

// wasted returns how much more a pool reserved for a trace than was asked for, as a part of that, and whether the replay was whole.
func wasted(f *rawFile, name, pool string) (float64, bool) {
	rs := f.only("Trace", "trace="+name, "pool="+pool)
	if len(rs) == 0 {
		return 0, false
	}
	reserved, ok := rs[0].of("reserved-B")
	requested, ok2 := rs[0].of("requested-B")
	failures, _ := rs[0].of("failures")
	if !ok || !ok2 || failures.most > 0 {
		return 0, false
	}
	return reserved.value/requested.value - 1, true
}

// traceTables makes the tables of the part.
func traceTables(f *rawFile, add addTable) {
	traces := values(f.only("Trace"), "trace")

	t := &table{head: []string{"trace", "events", "most asked for", "reserved by PyTorch as it was recorded"}}
	for _, name := range traces {
		for _, r := range f.only("TraceRecorded", "trace="+name) {
			events, _ := r.of("events")
			t.rows = append(t.rows, []string{name, whole(events.value), r.cell("requested-B", size), r.cell("reserved-B", size)})
		}
	}
	add("What was recorded", t)

	t = &table{head: append([]string{"pool"}, traces...)}
	for _, pool := range tracePools(f) {
		row := []string{pool}
		for _, name := range traces {
			cell := ""
			if w, ok := wasted(f, name, pool); ok {
				cell = fmt.Sprintf("%.3f", 1+w)
			}
			row = append(row, cell)
		}
		t.rows = append(t.rows, row)
	}
	add("Most reserved / most asked for", t)

	add("Time of an event, warm", pivot(wholeReplays(f), "pool", "trace", "ns/event", duration))
	add("Time of an event, cold: the pool grows", pivot(wholeReplays(f), "pool", "trace", "cold-ns/event", duration))

	for _, name := range traces {
		add(fmt.Sprintf("Does %s come to its end with so many times what it asks for, and if not, how far does it come", name),
			pivot(f.only("TraceLimit", "trace="+name), "pool", "limit", "done", finished))
	}
}

// finished says how far a replay has come.
func finished(done float64) string {
	if done == 1 {
		return "yes"
	}
	return fmt.Sprintf("no, %.0f %%", 100*done)
}
