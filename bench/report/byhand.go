package main

import (
	"fmt"
	"path/filepath"
	"time"
)

// byHandGoal is how far the time of rewritten programs may be from that of programs freed by hand.
const byHandGoal = 0.02

// The part byhand has many short runs: a processor that changes its speed every tenth of a second then has one speed in nearly all
// blocks, and not in a few. Of a quick report there are as few blocks as give an interval at all.
const (
	byHandBlocks      = 400
	byHandQuickBlocks = 7
	byHandRound       = 20 // blocks of one process
	byHandSmaller     = 8  // so many times smaller than in the part early are the batches
)

// byHandPrograms are the programs of bench/early.
var byHandPrograms = []string{"loop", "blur", "train", "serve"}

// runByHand compares the forms two by two, in rounds: each is a process of its own, as where the linker and the kernel put things is
// the same all through a process, and each has all programs, so that what drifts falls on all of them alike.
func runByHand(r *raw) error {
	blocks := byHandBlocks
	if r.quick {
		blocks = byHandQuickBlocks
	}
	if r.blocks > 0 {
		blocks = r.blocks
	}
	for ; blocks > 0; blocks -= byHandRound {
		for _, program := range byHandPrograms {
			out, _, err := r.command(20*time.Minute, nil, filepath.Join(r.bin, "early.test"), "-test.run=^$", "-test.bench=^BenchmarkByHand$/program="+program+"$",
				"-test.benchtime=1x", "-test.timeout=20m", fmt.Sprint("-byhand.blocks=", min(blocks, byHandRound)), fmt.Sprint("-early.smaller=", byHandSmaller))
			r.lines(runNumber.ReplaceAll(out, []byte("$1")), "")
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// byHandTables makes a table of each clock.
func byHandTables(f *rawFile, add addTable) {
	for _, c := range []struct{ title, time, ratio string }{
		{"Processor time", "cpu-ns", "x-of-hand-cpu"}, {"Time on the clock", "wall-ns", "x-of-hand"},
	} {
		t := &table{head: []string{"program", "frees", "a run", "blocks", "of the time by hand", "95 %", "difference", "within 2 %"}}
		for _, r := range f.only("ByHand") {
			m, ok := r.of(c.ratio)
			if !ok {
				continue
			}
			row := []string{r.vars["program"], forms[r.vars["frees"]], r.cell(c.time, duration), fmt.Sprint(m.runs), fmt.Sprintf("%.3f", m.value)}
			low, high, ok := r.interval(c.ratio)
			if !ok {
				t.rows = append(t.rows, append(row, "", "too few blocks to say", ""))
				continue
			}
			t.rows = append(t.rows, append(row, fmt.Sprintf("%.3f–%.3f", low, high), difference(m.value, low, high), within(low, high, byHandGoal)))
		}
		add(c.title, t)
	}
}

// difference says what a ratio of two times shows, if its interval leaves 1 out.
func difference(ratio, low, high float64) string {
	if low <= 1 && high >= 1 {
		return "none"
	}
	return fmt.Sprintf("%+.1f %%", 100*(ratio-1))
}

// within says whether an interval shows that a ratio is so close to 1.
func within(low, high, by float64) string {
	switch {
	case low >= 1-by && high <= 1+by:
		return "yes"
	case low > 1+by || high < 1-by:
		return "no"
	}
	return "not shown"
}
