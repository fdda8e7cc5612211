package pointsto

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/memory"
)

// This file is about goroutines that are joined on every path. What they read is in use until then.

// started lists what starting a goroutine that is joined does to an operand that it reads; ok is
// false if it does anything else, or is not joined.
func (f *Func) started(i ssa.Instruction, of ssa.Value) (out []Act, ok bool) {
	c, r := f.Starts(i)
	if r == nil {
		return nil, false
	}
	out = f.call(i, c, of)
	for k := range out {
		if out[k].Op != Read {
			return nil, false
		}
		out[k].Op, out[k].To = Await, r
	}
	return out, len(out) > 0 && f.joined(i, r, of)
}

// joined reports whether all that can run behind an instruction waits for a group before the
// function ends, and v is not set before. Where it panics, the goroutine has it for good.
func (f *Func) joined(i ssa.Instruction, r *memory.Running, v ssa.Value) bool {
	type point struct{ node, at int }
	n, at, _ := f.Graph.Where(i)
	open, seen := []point{{n, at + 1}}, map[int]bool{}
	for len(open) > 0 {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		waits := false
		for _, j := range f.Graph.Nodes[p.node].Instrs[p.at:] {
			if waits = slices.Contains(r.Waits, j); waits {
				break
			}
			if f.Gives(j, v) {
				return false
			}
		}
		switch {
		case waits || p.node == f.Graph.Panic:
			continue
		case len(f.Graph.Succs[p.node]) == 0:
			return false
		}
		for _, s := range f.Graph.Succs[p.node] {
			if !seen[s] {
				seen[s] = true
				open = append(open, point{s, 0})
			}
		}
	}
	return true
}
