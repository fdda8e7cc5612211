package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
)

// figures are what one run of the program measured of itself. All sizes are
// bytes.
type figures struct {
	Block      int64   // one workspace, its size class included
	Peak       int64   // most bytes live at once
	LiveAtExit int64   // bytes live when the last iteration was over
	Frees      int64   // buffers freed by the program
	LateFrees  int64   // buffers freed by the collector, because nobody did
	GCCycles   int64   // collections during the run
	Wall       int64   // nanoseconds
	Samples    []int64 // live bytes in each iteration, just after the allocation
}

func (f *figures) mean() int64 {
	if len(f.Samples) == 0 {
		return 0
	}
	var sum int64
	for _, s := range f.Samples {
		sum += s
	}
	return sum / int64(len(f.Samples))
}

func (f *figures) print(w io.Writer) {
	for _, i := range []int{0, 1, 2, len(f.Samples) - 1} {
		if i < 0 || i >= len(f.Samples) {
			continue
		}
		if i > 2 {
			fmt.Fprintln(w, "...")
		}
		fmt.Fprintf(w, "iteration %3d   foreign heap %s\n", i, size(f.Samples[i]))
	}
}

// size prints bytes in binary units.
func size(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

// table prints the figures of both runs side by side.
func table(w io.Writer, before, after *figures) {
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	row := func(what string, f func(*figures) string) {
		fmt.Fprintf(tw, "%s\t%s\t%s\t\n", what, f(before), f(after))
	}
	fmt.Fprintf(tw, "\tcollector alone\trewritten\t\n")
	row("peak foreign heap", func(f *figures) string { return size(f.Peak) })
	row("mean foreign heap", func(f *figures) string { return size(f.mean()) })
	row("live at exit", func(f *figures) string { return size(f.LiveAtExit) })
	row("explicit frees", func(f *figures) string { return fmt.Sprint(f.Frees) })
	row("late frees", func(f *figures) string { return fmt.Sprint(f.LateFrees) })
	row("GC cycles", func(f *figures) string { return fmt.Sprint(f.GCCycles) })
	row("wall time", func(f *figures) string { return time.Duration(f.Wall).Round(time.Millisecond).String() })
	tw.Flush()
}

const (
	chartWidth  = 64 // columns
	chartHeight = 8  // rows
)

// chart draws the foreign heap over the iterations, one picture for each run, on
// one scale.
func chart(w io.Writer, before, after *figures) {
	top := max(before.Peak, after.Peak, 1)
	for _, run := range []struct {
		name string
		f    *figures
	}{{"collector alone", before}, {"rewritten", after}} {
		fmt.Fprintf(w, "\nforeign heap over time, %s\n", run.name)
		plot(w, run.f.Samples, top)
	}
}

var eighths = []rune(" ▁▂▃▄▅▆▇█")

// plot draws samples as columns of height up to top. Where several samples share
// a column the largest is drawn: a peak must not vanish.
func plot(w io.Writer, samples []int64, top int64) {
	if len(samples) == 0 {
		return
	}
	cols := min(chartWidth, len(samples))
	heights := make([]int64, cols) // in eighths of a row
	for i, s := range samples {
		c := i * cols / len(samples)
		h := s * chartHeight * 8 / top
		if s > 0 && h == 0 {
			h = 1
		}
		heights[c] = max(heights[c], h)
	}
	for row := chartHeight - 1; row >= 0; row-- {
		label := ""
		switch row {
		case chartHeight - 1:
			label = size(top)
		case 0:
			label = "0"
		}
		var line strings.Builder
		for _, h := range heights {
			line.WriteRune(eighths[min(8, max(0, h-int64(row)*8))])
		}
		fmt.Fprintf(w, "%9s │%s\n", label, strings.TrimRight(line.String(), " "))
	}
	fmt.Fprintf(w, "%9s └%s\n", "", strings.Repeat("─", cols))
	fmt.Fprintf(w, "%9s  0%*d iterations\n", "", cols-1, len(samples))
}
