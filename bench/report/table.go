package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

// A table is one of docs/benchmarks.md.
type table struct {
	head []string
	rows [][]string
}

// write writes t as Markdown, numbers to the right, below its title if it has one. A table without rows is left out.
func (t *table) write(w *bytes.Buffer, title string) {
	if len(t.rows) == 0 {
		return
	}
	if title != "" {
		fmt.Fprintf(w, "%s:\n\n", title)
	}
	fmt.Fprintf(w, "| %s |\n|", strings.Join(t.head, " | "))
	for i := range t.head {
		if i == 0 {
			w.WriteString(" --- |")
		} else {
			w.WriteString(" ---: |")
		}
	}
	w.WriteByte('\n')
	for _, r := range t.rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(r, " | "))
	}
	w.WriteByte('\n')
}

// pivot makes a table of one unit: a row for each value of row, a column for each of column.
func pivot(results []*result, row, column, unit string, show func(float64) string) *table {
	return pivotCells(results, row, column, func(r *result) string { return r.cell(unit, show) })
}

// pivotCells is pivot for cells of any kind.
func pivotCells(results []*result, row, column string, show func(*result) string) *table {
	t := &table{head: append([]string{row}, values(results, column)...)}
	for _, y := range values(results, row) {
		cells := []string{y}
		for _, x := range values(results, column) {
			cell := ""
			for _, r := range results {
				if r.vars[row] == y && r.vars[column] == x {
					cell = show(r)
				}
			}
			cells = append(cells, cell)
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

// cell returns the median of a unit with its spread.
func (r *result) cell(unit string, show func(float64) string) string {
	m, ok := r.of(unit)
	if !ok || math.IsNaN(m.value) {
		return ""
	}
	if m.runs < 2 {
		return show(m.value)
	}
	return fmt.Sprintf("%s ±%.0f %%", show(m.value), 100*r.spread(unit))
}

// exactly returns the median of a unit, with its spread only if there is one.
func (r *result) exactly(unit string, show func(float64) string) string {
	m, _ := r.of(unit)
	if m.least == m.most {
		return show(m.value)
	}
	return r.cell(unit, show)
}

// between returns the median of a unit with the least and the most of its middle half: for differences, of which some may be
// less than nothing.
func (r *result) between(unit string, show func(float64) string) string {
	m, ok := r.of(unit)
	if !ok {
		return ""
	}
	if m.runs < 2 {
		return show(m.value)
	}
	low, high := r.middle(unit)
	return fmt.Sprintf("%s (%s to %s)", show(m.value), show(low), show(high))
}

// over returns the ratios of a unit's values to those of another result, run by run.
func (r *result) over(other *result, unit string) *result {
	q := &result{values: map[string][]float64{}}
	for i := range min(len(r.values[unit]), len(other.values[unit])) {
		q.values["ratio"] = append(q.values["ratio"], r.values[unit][i]/other.values[unit][i])
	}
	return q
}

// digits returns x with three digits that count.
func digits(x float64) string {
	switch a := math.Abs(x); {
	case a == 0:
		return "0"
	case a < 10:
		return fmt.Sprintf("%.2f", x)
	case a < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// duration returns nanoseconds in a unit that fits.
func duration(ns float64) string {
	switch {
	case ns < 0:
		return "−" + duration(-ns)
	case ns < 1e3:
		return digits(ns) + " ns"
	case ns < 1e6:
		return digits(ns/1e3) + " µs"
	case ns < 1e9:
		return digits(ns/1e6) + " ms"
	}
	return digits(ns/1e9) + " s"
}

// size returns bytes in a unit that fits.
func size(n float64) string {
	for _, u := range []string{"B", "KiB", "MiB", "GiB"} {
		if n < 1024 || u == "GiB" {
			return digits(n) + " " + u
		}
		n /= 1024
	}
	return ""
}
