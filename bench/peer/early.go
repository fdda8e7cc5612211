package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/bench/ask"
	"github.com/lastuse/lastuse/bench/early"
)

// earlyForms has each form of a program run twice, the second time in the opposite order, so that what drifts
// falls on all alike. Each list of the answer is in the order of early.Forms.
func earlyForms(q ask.Line) (string, error) {
	program, batch := q.Values["program"], int(q.Number("batch", 1))
	cells := map[string][]string{}
	cpu, wall := map[string]int64{}, map[string]int64{}
	last := map[string]early.Result{}
	order := slices.Concat(early.Forms, early.Forms)
	slices.Reverse(order[len(early.Forms):])
	for _, form := range order {
		r, err := early.Run(program, form, batch, 256<<20, true)
		if err != nil {
			return "", err
		}
		cpu[form] += r.CPU.Nanoseconds() / 2
		wall[form] += r.Wall.Nanoseconds() / 2
		last[form] = r
	}
	for _, form := range early.Forms {
		r := last[form]
		for key, x := range map[string]any{"cpu": cpu[form], "wall": wall[form], "peak": r.Peak, "mean": r.Mean,
			"cycles": r.Cycles, "late": r.Late} {
			cells[key] = append(cells[key], fmt.Sprint(x))
		}
	}
	return joined(cells), nil
}

// largest finds the largest batch of each form of a program that fits in 64 MiB.
func largest(q ask.Line) (string, error) {
	cells := map[string][]string{}
	for _, form := range early.Forms {
		n, err := early.Largest(q.Values["program"], form, 64<<20, 1<<17)
		if err != nil {
			return "", err
		}
		cells["batch"] = append(cells["batch"], fmt.Sprint(n))
	}
	return joined(cells), nil
}

// series returns the bytes of the foreign heap after each call of a program, in all forms.
func series(q ask.Line) (string, error) {
	cells := map[string][]string{}
	for _, form := range early.Forms {
		r, err := early.Run(q.Values["program"], form, int(q.Number("batch", 1)), 256<<20, true)
		if err != nil {
			return "", err
		}
		for _, s := range r.Samples {
			cells[form] = append(cells[form], fmt.Sprint(s))
		}
	}
	return joined(cells), nil
}

// joined returns lists as an answer has them.
func joined(cells map[string][]string) string {
	var all []string
	for key, list := range cells {
		all = append(all, key+"="+strings.Join(list, ","))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
