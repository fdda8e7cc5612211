package apply

import (
	"bytes"
	"fmt"
	"slices"
)

// A diffRun is a stretch of lines that two texts have in common, or that one of them
// has alone. Indices count lines from 0; exactly one of aLen and bLen is 0,
// unless the run is common.
type diffRun struct {
	common     bool
	a, b       int // first line of the run in either text
	aLen, bLen int
}

// lineDiff compares texts by lines and returns the runs that lead from a to b
// with the fewest lines deleted and inserted (Myers: An O(ND) Difference
// Algorithm, 1986). It takes time and memory for D² steps, where D is the
// number of changed lines: what a rewriter inserts is few.
func lineDiff(a, b [][]byte) []diffRun {
	head := 0
	for head < len(a) && head < len(b) && bytes.Equal(a[head], b[head]) {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && bytes.Equal(a[len(a)-1-tail], b[len(b)-1-tail]) {
		tail++
	}
	n, m := len(a)-head-tail, len(b)-head-tail
	same := func(x, y int) bool { return bytes.Equal(a[head+x], b[head+y]) }

	// trace[d] is how far into a the best paths with d changes come, one for each
	// k = x - y in -d, -d+2, …, d.
	var trace [][]int32
	far := func(d, k int) (x int, ok bool) {
		if k < -d || k > d {
			return 0, false
		}
		return int(trace[d][(k+d)/2]), true
	}
	// from returns where the d-th change on diagonal k starts and what it is.
	from := func(d, k int) (x int, op int) {
		deleted, okDeleted := far(d-1, k-1)
		inserted, okInserted := far(d-1, k+1)
		if !okDeleted || okInserted && deleted < inserted {
			return inserted, 1
		}
		return deleted, -1
	}
	d := 0
search:
	for ; ; d++ {
		row := make([]int32, d+1)
		trace = append(trace, row)
		for k := -d; k <= d; k += 2 {
			x := 0
			if d > 0 {
				var op int
				if x, op = from(d, k); op == -1 {
					x++
				}
			}
			for y := x - k; x < n && y < m && same(x, y); y++ {
				x++
			}
			row[(k+d)/2] = int32(x)
			if x >= n && x-k >= m {
				break search
			}
		}
	}

	// Walk back from the end; ops is in reverse order: 0 common, -1 deleted, 1 inserted.
	var ops []int
	x, y := n, m
	for ; d > 0; d-- {
		k := x - y
		px, op := from(d, k)
		start := px // of the common lines after the change
		if op == -1 {
			start++
		}
		for ; x > start; x-- {
			ops = append(ops, 0)
		}
		ops = append(ops, op)
		x, y = px, px-(k+op)
	}
	for ; x > 0; x-- {
		ops = append(ops, 0)
	}

	slices.Reverse(ops)
	return runsOf(slices.Concat(make([]int, head), ops, make([]int, tail)))
}

// runsOf gathers steps from one text to the other: 0 is a line in common, -1 one deleted, 1 one inserted.
func runsOf(ops []int) []diffRun {
	var runs []diffRun
	i, j := 0, 0
	for _, op := range ops {
		kind := diffRun{common: op == 0, a: i, b: j}
		if len(runs) == 0 || runs[len(runs)-1].common != kind.common ||
			op == -1 && runs[len(runs)-1].bLen > 0 || op == 1 && runs[len(runs)-1].aLen > 0 && !kind.common {
			runs = append(runs, kind)
		}
		r := &runs[len(runs)-1]
		if op <= 0 {
			i++
			r.aLen++
		}
		if op >= 0 {
			j++
			r.bLen++
		}
	}
	return runs
}

// splitLines cuts a text after each newline.
func splitLines(text []byte) [][]byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// around is the number of lines around a change that a patch shows.
const around = 3

// hunks returns the difference of two texts in unified format, without header.
func hunks(old, new []byte) []byte {
	a, b := splitLines(old), splitLines(new)
	runs := lineDiff(a, b)
	var out bytes.Buffer
	write := func(mark byte, line []byte) {
		out.WriteByte(mark)
		out.Write(line)
		if !bytes.HasSuffix(line, []byte("\n")) {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
	for i := 0; i < len(runs); {
		if runs[i].common {
			i++
			continue
		}
		// The hunk goes on while the common run to the next change is short.
		end := i + 1
		for end < len(runs) && (!runs[end].common || runs[end].aLen <= 2*around && end+1 < len(runs)) {
			end++
		}
		before, after := 0, 0
		if i > 0 {
			before = min(around, runs[i-1].aLen)
		}
		if end < len(runs) {
			after = min(around, runs[end].aLen)
		}
		aStart, bStart := runs[i].a-before, runs[i].b-before
		aLen, bLen := before+after, before+after
		for _, r := range runs[i:end] {
			aLen += r.aLen
			bLen += r.bLen
		}
		fmt.Fprintf(&out, "@@ -%s +%s @@\n", lineRange(aStart, aLen), lineRange(bStart, bLen))
		for k := range before {
			write(' ', a[aStart+k])
		}
		for _, r := range runs[i:end] {
			for k := range r.aLen {
				if r.common {
					write(' ', a[r.a+k])
				} else {
					write('-', a[r.a+k])
				}
			}
			for k := range r.bLen {
				if !r.common {
					write('+', b[r.b+k])
				}
			}
		}
		if end < len(runs) {
			for k := range after {
				write(' ', a[runs[end].a+k])
			}
		}
		i = end
	}
	return out.Bytes()
}

// lineRange writes a range of lines as patches do: from 1, an empty range by the
// line before it, a length of 1 left out.
func lineRange(start, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprintf("%d", start+1)
	}
	return fmt.Sprintf("%d,%d", start+1, n)
}
