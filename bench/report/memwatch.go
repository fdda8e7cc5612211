package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lastuse/lastuse/bench/ask"
)

// A watcher is somebody who watches a program's allocations.
type watcher struct {
	name, stacks string
	calls        string // of the target's ways to call, the one that it can watch
	command      func(b *bench, pid int, library string) []string
	seen         func(out []byte) int64 // the allocations that it says it saw
}

var watchers = []watcher{
	{"memwatch", "true", "cuda", memwatchOn("-driver"), seenByMemwatch},
	{"memwatch", "false", "cuda", memwatchOn("-driver", "-no-stacks"), seenByMemwatch},
	{"bpftrace", "true", "cuda", bpftraceOn("ustack()"), seenByBpftrace},
	{"bpftrace", "false", "cuda", bpftraceOn("0"), seenByBpftrace},
}

func memwatchOn(more ...string) func(*bench, int, string) []string {
	return func(b *bench, pid int, _ string) []string {
		args := []string{filepath.Join(b.bin, "memwatch"), "-p", fmt.Sprint(pid), "-o", "jsonl", "-d", "250ms"}
		return append(args, more...)
	}
}

// seenByMemwatch reads the last document that memwatch printed.
func seenByMemwatch(out []byte) int64 {
	for _, line := range slices.Backward(bytes.Split(bytes.TrimSpace(out), []byte("\n"))) {
		var doc struct {
			Lost      int64
			Processes []struct {
				Classes []struct{ AllocObjects int64 }
			}
		}
		if json.Unmarshal(line, &doc) != nil || len(doc.Processes) == 0 {
			continue
		}
		n := doc.Lost
		for _, c := range doc.Processes[0].Classes {
			n += c.AllocObjects
		}
		return n
	}
	return 0
}

// bpftraceOn does with bpftrace what memwatch does for these two functions: live bytes, in all and by call
// site. It does not see whether a call failed.
func bpftraceOn(site string) func(*bench, int, string) []string {
	return func(_ *bench, pid int, library string) []string {
		program := strings.NewReplacer("LIB", library, "SITE", site).Replace(`
uprobe:LIB:cuMemAlloc_v2 { @out[tid] = arg0; @size[tid] = arg1; }
uretprobe:LIB:cuMemAlloc_v2 /@out[tid]/ {
	$p = *(uint64*)uptr(@out[tid]);
	@live[$p] = @size[tid]; @at[$p] = SITE; @bytes[@at[$p]] += @size[tid]; @seen = count();
	delete(@out[tid]); delete(@size[tid]);
}
uprobe:LIB:cuMemFree_v2 { @bytes[@at[arg0]] -= @live[arg0]; delete(@live[arg0]); delete(@at[arg0]); }
`)
		return []string{"bpftrace", "-p", fmt.Sprint(pid), "-e", program}
	}
}

func seenByBpftrace(out []byte) int64 {
	_, rest, _ := bytes.Cut(out, []byte("@seen: "))
	n, _ := strconv.ParseInt(firstLine(string(rest)), 10, 64) // nothing printed is nothing seen
	return n
}

// A target is a process of bench/peers/probe_target.c, which makes and frees as often as it is asked to.
type target struct {
	*peer
	n int64 // pairs it has made
}

func (r *raw) startTarget(library, calls string) (*target, error) {
	t := &target{peer: &peer{name: "probe_target",
		args: []string{filepath.Join(r.bin, "probe", "probe_target"), library, calls}}}
	if err := t.start(r.ctx, -1, r.log); err != nil {
		return nil, err
	}
	_, err := t.answer(r.ctx, r.patience)
	return t, err
}

// do makes pairs and returns the nanoseconds of one, and those of processor time.
func (t *target) do(r *raw, pairs int64) (wall, cpu float64, err error) {
	t.n += pairs
	a, err := t.ask(r.ctx, fmt.Sprint("0 ", pairs), r.patience)
	return a.At("wall", 0) / float64(pairs), a.At("cpu", 0) / float64(pairs), err
}

// least returns the least processor time of a pair in several rounds.
func (t *target) least(r *raw, rounds int) (float64, error) {
	least := math.Inf(1)
	for range rounds {
		_, x, err := t.do(r, 200)
		if err != nil {
			return 0, err
		}
		least = min(least, x)
	}
	return least, nil
}

// runMemwatch times programs that are watched and programs that are not, in turns.
func runMemwatch(r *raw) error {
	probe := filepath.Join(r.bin, "probe")
	if !exists(filepath.Join(probe, "probe_target")) {
		return errors.New("its target could not be built: it takes a C compiler")
	}
	rounds := 4 // of three windows each
	if r.quick {
		rounds = 1
	}
	for _, w := range watchers {
		// The program that nobody watches has a file of its own, as some watchers probe all who have the
		// same.
		r.watchIn(rounds, w, "empty", filepath.Join(probe, "libcuda.so.1"), filepath.Join(probe, "unwatched.so"))
		if w.name == "memwatch" && r.gpu() {
			w.calls = "async"
			r.watchIn(rounds, w, "real", "libcuda.so.1", "libcuda.so.1")
		}
	}
	return r.ctx.Err()
}

// watchIn watches in rounds, until one fails.
func (r *raw) watchIn(rounds int, w watcher, driver, library, other string) {
	for range rounds {
		if r.ctx.Err() != nil {
			return
		}
		if err := r.watch(w, driver, library, other); err != nil && r.ctx.Err() == nil {
			r.miss(fmt.Sprintf("%s, stacks=%s, driver=%s", w.name, w.stacks, driver), err.Error())
			return
		}
	}
}

// watch times a program that w watches, in turns with one that nobody does, whose driver is the file other.
// A third one has the same driver as the first, and is not meant. What a watcher took that missed a call is
// no result.
func (r *raw) watch(w watcher, driver, library, other string) (err error) {
	var t [3]*target // watched, bystander, bare
	for i, file := range []string{library, library, other} {
		if t[i], err = r.startTarget(file, w.calls); err != nil {
			return err
		}
		defer t[i].stop()
	}
	before, err := t[0].least(r, 50)
	if err != nil {
		return err
	}
	command := w.command(r.bench, t[0].cmd.Process.Pid, library)
	cmd := exec.CommandContext(r.ctx, command[0], command[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, r.log
	if err := cmd.Start(); err != nil {
		return err
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	end := func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended by itself
		select {
		case <-gone:
		case <-time.After(time.Minute): // what it saw is much to print
			_ = cmd.Process.Kill()
			<-gone
		}
	}
	if err := r.attached(t[0], before, gone); err != nil {
		end()
		return err
	}
	made := t[0].n
	name := fmt.Sprintf("driver=%s/watcher=%s/stacks=%s", driver, w.name, w.stacks)
	lines, err := r.windows(name, t, cmd.Process.Pid)
	time.Sleep(time.Second) // so that it has read all
	end()
	if err != nil {
		return err
	}
	if n := w.seen(out.Bytes()); n < t[0].n-made {
		return fmt.Errorf("it saw %d of %d allocations", n, t[0].n-made)
	}
	fmt.Fprintln(r.w, strings.Join(lines, "\n"))
	return nil
}

// attached waits until pairs take longer than they did.
func (r *raw) attached(t *target, before float64, gone chan error) error {
	for begin := time.Now(); time.Since(begin) < 25*time.Second; {
		select {
		case err := <-gone:
			gone <- err
			return fmt.Errorf("it ended: %v: see peers.log", err)
		case <-time.After(50 * time.Millisecond):
		}
		least, err := t.least(r, 3)
		if err != nil {
			return err
		}
		if least > before+600 {
			time.Sleep(500 * time.Millisecond) // until all probes are there
			return nil
		}
	}
	return errors.New("no probe of it was seen to cost anything in 25 seconds")
}

// windows times the three programs in turns.
func (r *raw) windows(name string, t [3]*target, pid int) (lines []string, err error) {
	pairs, windows := int64(20_000), 3
	if r.quick {
		pairs, windows = 5_000, 1
	}
	for range windows {
		var wall, cpu [3]float64
		begin := processorTime(pid)
		for i := range t {
			if wall[i], cpu[i], err = t[i].do(r, pairs); err != nil {
				return nil, err
			}
			if i == 0 {
				time.Sleep(300 * time.Millisecond) // so that it has read all
			}
		}
		its := (processorTime(pid) - begin) / float64(2*pairs)
		lines = append(lines, result("Watched/"+name+"/events=max", int(pairs), wall[0], "ns/op",
			wall[2], "bare-ns/op", (wall[0]-wall[2])/2, "added-ns/call", (cpu[0]-cpu[2])/2, "added-cpu-ns/call",
			its, "watcher-cpu-ns/call")...)
		lines = append(lines, result("Bystander/"+name, int(pairs), wall[1], "ns/op",
			(cpu[1]-cpu[2])/2, "added-ns/call")...)
	}
	return lines, nil
}

// processorTime returns the processor time of a process so far, in nanoseconds.
func processorTime(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	rest := strings.ReplaceAll(string(text[bytes.LastIndexByte(text, ')')+2:]), " ", ",")
	fields := ask.Parse("stat ticks=" + rest) // of a hundredth of a second, without the state
	return (fields.At("ticks", 10) + fields.At("ticks", 11)) * 1e7
}
