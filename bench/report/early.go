package main

import (
	"fmt"
	"slices"

	"github.com/lastuse/lastuse/bench/ask"
	"github.com/lastuse/lastuse/bench/early"
)

// batches of the programs of bench/early, with which kernels take most of the time.
var batches = map[string]int{"loop": 16, "blur": 8, "train": 256, "serve": 8}

// smaller is what batches are divided by where the time is looked at: many short runs meet a processor that
// changes its speed alike, a few long ones do not.
const smaller = 8

// earlyPrograms runs the programs of bench/early in all forms: once for the foreign heap, call by call, and
// for the largest batch that fits, then in rounds for the time.
func earlyPrograms(quick bool) (all []asked) {
	add := func(once bool, question string, lines func(form string, i int, a ask.Line) []string) {
		all = append(all, asked{question: question, peers: []string{"lastuse-host" + wide}, once: once,
			lines: func(_ string, a ask.Line) (all []string) {
				for i, form := range early.Forms {
					all = append(all, lines(form, i, a)...)
				}
				return all
			}})
	}
	for _, program := range early.Programs {
		batch, small := batches[program], max(1, batches[program]/smaller)
		if quick {
			batch = small
		}
		name := func(form string) string { return "Early/program=" + program + "/frees=" + form }
		add(true, fmt.Sprintf("series program=%s batch=%d", program, batch),
			func(form string, _ int, a ask.Line) []string {
				bytes := a.List(form)
				if len(bytes) == 0 {
					return nil
				}
				mean := 0.0
				for _, x := range bytes {
					mean += x / float64(len(bytes))
				}
				return append(result(name(form), 1, slices.Max(bytes), "peak-B", mean, "mean-B"),
					fmt.Sprintf("series-%s-%s: %s", program, form, a.Values[form]))
			})
		add(true, "largest program="+program, func(form string, i int, a ask.Line) []string {
			return result(name(form), 1, a.At("batch", i), "batch")
		})
		add(false, fmt.Sprintf("early program=%s batch=%d", program, small),
			func(form string, i int, a ask.Line) []string {
				return result(name(form), 2, a.At("cpu", i), "cpu-ns", a.At("wall", i), "wall-ns",
					a.At("cycles", i), "cycles", a.At("late", i), "late")
			})
	}
	return all
}
