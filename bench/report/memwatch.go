package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A watcher is somebody who watches a program's allocations.
type watcher struct {
	name, stacks string
	calls        string // of the target's ways to call, the one that it can watch
	start        func(r *raw, pid int, library string) (*exec.Cmd, error)
	seen         func(out []byte) (int64, bool) // the allocations that it says it saw, if it does
}

var watchers = []watcher{
	{"memwatch", "true", "cuda", func(r *raw, pid int, _ string) (*exec.Cmd, error) { return r.memwatch(pid), nil }, seenByMemwatch},
	{"memwatch", "false", "cuda", func(r *raw, pid int, _ string) (*exec.Cmd, error) { return r.memwatch(pid, "-no-stacks"), nil }, seenByMemwatch},
	{"bpftrace", "true", "cuda", func(_ *raw, pid int, library string) (*exec.Cmd, error) { return bpftrace(pid, library, true), nil }, seenByBpftrace},
	{"bpftrace", "false", "cuda", func(_ *raw, pid int, library string) (*exec.Cmd, error) { return bpftrace(pid, library, false), nil }, seenByBpftrace},
	{"memleak-bcc", "true", "malloc", func(_ *raw, pid int, library string) (*exec.Cmd, error) {
		name, err := exec.LookPath("memleak-bpfcc")
		if err != nil {
			return nil, errors.New("memleak-bpfcc is not installed")
		}
		return exec.Command(name, "-p", fmt.Sprint(pid), "-O", library, "1000"), nil
	}, nil},
}

func (r *raw) memwatch(pid int, more ...string) *exec.Cmd {
	args := append([]string{"-p", fmt.Sprint(pid), "-driver", "-o", "jsonl", "-d", "250ms"}, more...)
	return exec.Command(filepath.Join(r.bin, "memwatch"), args...)
}

// seenByMemwatch reads the last document that memwatch printed.
func seenByMemwatch(out []byte) (int64, bool) {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	for _, line := range slices.Backward(lines) {
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
		return n, true
	}
	return 0, true
}

// bpftrace does with bpftrace what memwatch does for these two functions: live bytes, in all and by
// call site. It does not see whether a call failed.
func bpftrace(pid int, library string, stacks bool) *exec.Cmd {
	site := "0"
	if stacks {
		site = "ustack()"
	}
	program := strings.NewReplacer("LIB", library, "SITE", site).Replace(`
uprobe:LIB:cuMemAlloc_v2 { @out[tid] = arg0; @size[tid] = arg1; }
uretprobe:LIB:cuMemAlloc_v2 /@out[tid]/ {
	$p = *(uint64*)uptr(@out[tid]);
	@live[$p] = @size[tid]; @at[$p] = SITE; @bytes[@at[$p]] += @size[tid]; @seen = count();
	delete(@out[tid]); delete(@size[tid]);
}
uprobe:LIB:cuMemFree_v2 { @bytes[@at[arg0]] -= @live[arg0]; delete(@live[arg0]); delete(@at[arg0]); }
`)
	return exec.Command("bpftrace", "-p", fmt.Sprint(pid), "-e", program)
}

func seenByBpftrace(out []byte) (int64, bool) {
	_, rest, _ := bytes.Cut(out, []byte("@seen: "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, _ := strconv.ParseInt(string(line), 10, 64) // nothing printed is nothing seen
	return n, true
}

// A target is a running bench/peers/probe_target.c.
type target struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr lateOutput
	n      int64 // pairs it has made
}

func (r *raw) startTarget(library, calls string) (*target, error) {
	t := &target{cmd: exec.Command(filepath.Join(r.bin, "probe", "probe_target"), library, calls)}
	var err error
	if t.in, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	t.cmd.Stderr = &t.stderr
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	t.out = bufio.NewReader(out)
	if line, err := t.out.ReadString('\n'); err != nil || line != "ready\n" {
		t.end()
		return nil, errors.New(complaint(string(t.stderr.bytes())))
	}
	return t, nil
}

// do makes pairs with so many steps of work between them, and returns the nanoseconds of one, and
// those of processor time.
func (t *target) do(steps, pairs int64) (wall, cpu float64, err error) {
	if _, err := fmt.Fprintln(t.in, steps, pairs); err != nil {
		return 0, 0, err
	}
	t.n += pairs
	if _, err := fmt.Fscan(t.out, &wall, &cpu); err != nil {
		return 0, 0, fmt.Errorf("probe_target: %w: %s", err, complaint(string(t.stderr.bytes())))
	}
	return wall / float64(pairs), cpu / float64(pairs), nil
}

// least returns the least processor time of a pair in several rounds.
func (t *target) least(pairs int64, rounds int) (least float64, err error) {
	for i := range rounds {
		_, x, err := t.do(0, pairs)
		if err != nil {
			return 0, err
		}
		if i == 0 || x < least {
			least = x
		}
	}
	return least, nil
}

func (t *target) end() {
	t.in.Close()
	_ = t.cmd.Wait() // what went wrong has been read
}

// eventRates are the calls a second that a target makes while nobody watches it; 0 is without a pause.
var eventRates = []int64{1_000, 10_000, 100_000, 400_000, 0}

// runMemwatch times programs that are watched and programs that are not, in turns.
func runMemwatch(r *raw) error {
	dir := filepath.Join(r.bin, "probe")
	if _, err := os.Stat(filepath.Join(dir, "probe_target")); err != nil {
		r.missing("memwatch", "its target could not be built: it takes a C compiler")
		return nil
	}
	type driver struct{ name, library, other, calls string }
	// The program that nobody watches has a file of its own, as some watchers probe all who have the same.
	drivers := []driver{{"empty", filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "unwatched.so"), ""}}
	if output("nvidia-smi", "-L") == "" {
		r.missing("the real driver", "there is no GPU")
	} else {
		drivers = append(drivers, driver{"real", "libcuda.so.1", "libcuda.so.1", "async"})
	}
	rounds := 3
	if r.quick {
		rounds = 1
	}
	for _, d := range drivers {
		for _, w := range watchers {
			if w.name != "memwatch" {
				if d.calls != "" {
					continue // a bpftrace script for another function is no peer of what is shown
				}
				if r.alone {
					r.missing(w.name+", stacks="+w.stacks, "left out with -no-peers")
					continue
				}
			}
			if d.calls != "" {
				w.calls = d.calls
			}
			for range rounds {
				if r.ctx.Err() != nil {
					return r.ctx.Err()
				}
				if err := r.watch(w, d.name, d.library, d.other); err != nil {
					r.missing(fmt.Sprintf("%s, stacks=%s, driver=%s", w.name, w.stacks, d.name), err.Error())
					break
				}
			}
		}
	}
	return r.pool(rounds)
}

// lateOutput is where a command writes until somebody looks.
type lateOutput struct {
	mu sync.Mutex
	b  bytes.Buffer // protected by mu
}

func (o *lateOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *lateOutput) bytes() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Clone(o.b.Bytes())
}

// watch times a program that w watches, in turns with one that nobody does, whose driver is the file
// other. A third one has the same driver as the first, and is not meant.
func (r *raw) watch(w watcher, driver, library, other string) (err error) {
	watched, err := r.startTarget(library, w.calls)
	if err != nil {
		return err
	}
	defer watched.end()
	bystander, err := r.startTarget(library, w.calls)
	if err != nil {
		return err
	}
	defer bystander.end()
	bare, err := r.startTarget(other, w.calls)
	if err != nil {
		return err
	}
	defer bare.end()
	const many = 20_000
	pair, err := watched.least(200, 50)
	if err != nil {
		return err
	}
	step, _, err := bare.do(1000, 1000)
	if err != nil {
		return err
	}
	step = (step - pair) / 1000

	cmd, err := w.start(r, watched.cmd.Process.Pid, library)
	if err != nil {
		return err
	}
	var out lateOutput
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	stop := sync.OnceFunc(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended by itself
		select {
		case <-gone:
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			<-gone
		}
	})
	defer stop()
	if err := r.attached(watched, pair, gone); err != nil {
		if text := strings.TrimSpace(stderr.String()); text != "" {
			err = fmt.Errorf("%w: %s", err, complaint(text))
		}
		return err
	}
	before := watched.n
	for _, rate := range eventRates {
		steps, length, windows := int64(0), 0.15, 3
		if r.quick {
			length, windows = 0.05, 2
		}
		each := pair + 1500 // watched, with room
		name := "max"
		if rate > 0 {
			each = 2e9 / float64(rate)
			steps = max(0, int64((each-pair)/step))
			name = fmt.Sprint(rate)
		}
		pairs := max(50, int64(length*1e9/each))
		for range windows {
			cpu0 := processorTime(cmd.Process.Pid)
			b, bareCPU, err := bare.do(steps, pairs)
			if err != nil {
				return err
			}
			x, watchedCPU, err := watched.do(steps, pairs)
			if err != nil {
				return err
			}
			fmt.Fprintf(r.w, "BenchmarkWatched/driver=%s/watcher=%s/stacks=%s/events=%s %d %.1f ns/op %.1f bare-ns/op %.4f x-of-bare %.4f x-of-bare-cpu %.1f added-ns/call %.1f added-cpu-ns/call",
				driver, w.name, w.stacks, name, pairs, x, b, x/b, watchedCPU/bareCPU, (x-b)/2, (watchedCPU-bareCPU)/2)
			if rate == 0 {
				time.Sleep(300 * time.Millisecond) // so that it has read all
				fmt.Fprintf(r.w, " %.1f watcher-cpu-ns/call", (processorTime(cmd.Process.Pid)-cpu0)/float64(2*pairs))
			}
			fmt.Fprintln(r.w)
		}
	}
	for range 3 {
		b, _, err := bare.do(0, many)
		if err != nil {
			return err
		}
		x, _, err := bystander.do(0, many)
		if err != nil {
			return err
		}
		fmt.Fprintf(r.w, "BenchmarkBystander/driver=%s/watcher=%s/stacks=%s %d %.1f ns/op %.1f bare-ns/op %.1f added-ns/call\n",
			driver, w.name, w.stacks, many, x, b, (x-b)/2)
	}
	time.Sleep(time.Second)
	stop()
	if w.seen != nil {
		if seen, ok := w.seen(out.bytes()); ok && seen < watched.n-before {
			return fmt.Errorf("it saw %d of %d allocations", seen, watched.n-before)
		}
	}
	return nil
}

// attached waits until pairs take longer than they did.
func (r *raw) attached(t *target, pair float64, gone chan error) error {
	for begin := time.Now(); time.Since(begin) < 25*time.Second; {
		select {
		case err := <-gone:
			gone <- err
			return fmt.Errorf("it ended: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		least, err := t.least(200, 3)
		if err != nil {
			return err
		}
		if least > pair+600 {
			time.Sleep(500 * time.Millisecond) // until all probes are there
			return nil
		}
	}
	return errors.New("no probe of it was seen to cost anything in 25 seconds")
}

// processorTime returns the processor time of a process so far, in nanoseconds.
func processorTime(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64) // the kernel writes numbers
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) * 1e7 // ticks of a hundredth of a second
}
