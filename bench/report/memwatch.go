package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

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
	rounds := 4 // of three windows each
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
				err := r.watch(w, d.name, d.library, d.other)
				if r.ctx.Err() != nil {
					return r.ctx.Err() // its processes were ended, too
				}
				if err != nil {
					r.missing(fmt.Sprintf("%s, stacks=%s, driver=%s", w.name, w.stacks, d.name), err.Error())
					break
				}
			}
		}
	}
	return r.pool(rounds)
}

// watch times a program that w watches, in turns with one that nobody does, whose driver is the file
// other. A third one has the same driver as the first, and is not meant. Only what a watcher that saw all took is written.
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
	var stderr, lines bytes.Buffer
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
		case <-time.After(time.Minute): // what it saw is much to print
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
			fmt.Fprintf(&lines, "BenchmarkWatched/driver=%s/watcher=%s/stacks=%s/events=%s %d %.1f ns/op %.1f bare-ns/op %.4f x-of-bare %.4f x-of-bare-cpu %.1f added-ns/call %.1f added-cpu-ns/call",
				driver, w.name, w.stacks, name, pairs, x, b, x/b, watchedCPU/bareCPU, (x-b)/2, (watchedCPU-bareCPU)/2)
			if rate == 0 {
				time.Sleep(300 * time.Millisecond) // so that it has read all
				fmt.Fprintf(&lines, " %.1f watcher-cpu-ns/call", (processorTime(cmd.Process.Pid)-cpu0)/float64(2*pairs))
			}
			fmt.Fprintln(&lines)
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
		fmt.Fprintf(&lines, "BenchmarkBystander/driver=%s/watcher=%s/stacks=%s %d %.1f ns/op %.1f bare-ns/op %.1f added-ns/call\n",
			driver, w.name, w.stacks, many, x, b, (x-b)/2)
	}
	time.Sleep(time.Second)
	stop()
	if w.seen != nil {
		if seen, ok := w.seen(out.bytes()); ok && seen < watched.n-before {
			return fmt.Errorf("it saw %d of %d allocations", seen, watched.n-before)
		}
	}
	_, err = r.w.Write(lines.Bytes())
	return err
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
