package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lastuse/lastuse/bench/trace"
)

// tracesAbout introduces the part.
const tracesAbout = "What programs asked of PyTorch's allocator, replayed on others: the same allocations and frees in the same order, from one thread, " +
	"with no work between them. `train` is steps of a transformer in mixed precision whose sequences change in length, `lora` a fine-tune with " +
	"adapters that recomputes activations, `infer` generation with KV caches that grow by a token a step; weights are random (bench/peers/torch_record.py). " +
	"A replay begins on an empty pool (cold) and is repeated on the same (warm). `lastuse-cuda` runs on the GPU, `lastuse-host` on the host device, both with sampled call sites and without, " +
	"`torch` is PyTorch's own allocator in C++ with its three backends, `driver` the driver's from C. For a limit all of the device but so many times " +
	"the trace's own peak is taken beforehand, whoever allocates: granules, size classes and fragmentation have to fit in what is left."

// traceLimits are how many times a trace's peak the device has in the runs with a limit.
const traceLimits = "1,1.05,1.1,1.25"

func runTraces(r *raw) error {
	files, err := filepath.Glob(filepath.Join(r.root, "bench", "data", "traces", "*.trace.gz"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		r.missing("traces", "there are none in bench/data/traces: bench/peers/torch_record.py makes them")
		return nil
	}
	recorded, err := os.ReadFile(filepath.Join(r.root, "bench", "data", "traces", "recorded.txt"))
	if err != nil {
		return err
	}
	r.lines(recorded, "")
	dir, err := os.MkdirTemp("", "lastuse-traces-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var plain []string // for those who read no compressed files
	for _, name := range files {
		t, err := trace.Open(name)
		if err != nil {
			return err
		}
		var w bytes.Buffer
		if err := t.Write(&w); err != nil {
			return err
		}
		to := filepath.Join(dir, strings.TrimSuffix(filepath.Base(name), ".gz"))
		if err := os.WriteFile(to, w.Bytes(), 0o666); err != nil {
			return err
		}
		plain = append(plain, to)
	}
	n := fmt.Sprint(r.count())
	ours := func(device string) ([]byte, error) {
		out, _, err := r.command(r.peerPatience(), nil, filepath.Join(r.bin, "replay"), append([]string{"-device", device, "-count", n, "-limits", traceLimits}, files...)...)
		return out, err
	}
	if output("nvidia-smi", "-L") == "" {
		r.missing("lastuse-cuda", "there is no GPU")
	} else if out, err := ours("cuda"); err != nil {
		r.lines(out, "")
		r.missing("lastuse-cuda", err.Error())
	} else {
		r.lines(out, "")
	}
	r.peer("driver", nil, filepath.Join(r.bin, "driver_replay"), append([]string{n, traceLimits}, plain...)...)
	for _, backend := range r.backends() {
		r.peer("torch-"+backend, nil, "python3", append([]string{filepath.Join(r.root, "bench", "peers", "torch_replay.py"), "--backend", backend,
			"--count", n, "--limits", traceLimits}, plain...)...)
	}
	out, err := ours("host")
	r.lines(out, "")
	return err
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
