package main

import (
	"fmt"
	"path/filepath"
	"time"
)

// byHandGoal is how far the time of rewritten programs may be from that of programs freed by hand.
const byHandGoal = 0.02

// runByHand compares the forms two by two. A full run is long enough that the interval of processor time is narrower
// than the goal on a machine that is not left alone.
func runByHand(r *raw) error {
	blocks := 150
	if r.quick {
		blocks = 7
	}
	out, _, err := r.command(40*time.Minute, nil, filepath.Join(r.bin, "early.test"), "-test.run=^$", "-test.bench=^BenchmarkByHand$", "-test.benchtime=1x",
		"-test.timeout=40m", fmt.Sprint("-byhand.blocks=", blocks))
	r.lines(runNumber.ReplaceAll(out, []byte("$1")), "")
	return err
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
