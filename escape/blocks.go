package escape

// Blocks: their order, what they hold when all is lowered, and how they are printed.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/escape/internal/report"
	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// finish drops unreachable blocks and replaced phis, resolves operands and
// fills in users.
func (f *fn) finish() {
	for _, b := range f.blocks {
		f.seal(b)
	}
	f.order()
	for _, b := range f.rpo {
		b.sweep()
	}
	// An edge from an unreachable block carries nothing.
	for _, b := range f.rpo {
		var idx []int
		for i, p := range b.preds {
			if p.order >= 0 {
				idx = append(idx, i)
			}
		}
		if len(idx) == len(b.preds) {
			continue
		}
		preds := make([]*block, 0, len(idx))
		for _, i := range idx {
			preds = append(preds, b.preds[i])
		}
		for _, v := range b.instrs {
			if v.op == opPhi {
				args := make([]*value, 0, len(idx))
				for _, i := range idx {
					args = append(args, v.args[i])
				}
				v.args = args
			}
		}
		b.preds = preds
	}
	for _, b := range f.rpo {
		for _, v := range b.instrs {
			if v.op == opPhi && len(v.args) != len(b.preds) {
				panic(fmt.Sprintf("a phi of %s has %d operands for %d ways in", v.place, len(v.args), len(b.preds)))
			}
		}
	}
	for again := true; again; {
		again = false
		for _, b := range f.rpo {
			for _, v := range b.instrs {
				if v.op == opPhi && v.fwd == nil {
					v.users = nil
					if f.trivial(v) != v {
						again = true
					}
				}
			}
		}
	}
	for _, b := range f.rpo {
		b.sweep()
		for _, v := range b.instrs {
			v.users = nil
		}
	}
	for _, b := range f.rpo {
		for i, v := range b.instrs {
			v.blk = b
			v.at = i
			for k, a := range v.args {
				v.args[k] = a.find()
			}
			if v.call != nil {
				for i, r := range v.call.results {
					v.call.results[i] = r.find()
				}
			}
		}
		for p, v := range b.defs {
			b.defs[p] = v.find()
		}
	}
	f.edges()
	f.doom()
	for _, b := range f.rpo {
		b.lastEffect, b.firstEffect = -1, len(b.instrs)
		for i, v := range b.instrs {
			for k, a := range v.args {
				if k == 0 || !containsValue(v.args[:k], a) {
					a.users = append(a.users, v)
				}
			}
			switch {
			case v.op != opGap || v.gap.kind == rewrite.None:
			case v.gap.deferred != nil:
				b.copied = append(b.copied, i)
			case v.gap.named:
				b.named = append(b.named, i)
				f.named = true
			default:
				b.gaps = append(b.gaps, i)
			}
			if v.effectful() {
				b.lastEffect = i
				b.firstEffect = min(b.firstEffect, i)
			}
		}
	}
}

// edges notes where each edge stands on its other side. Several edges may join the
// same two blocks.
func (f *fn) edges() {
	type entry struct {
		to *block
		k  int
	}
	ins := make([][]entry, len(f.rpo)) // by the block that an edge leaves
	for _, b := range f.rpo {
		b.entries, b.leaves = make([]int, len(b.succs)), make([]int, len(b.preds))
		for k, p := range b.preds {
			b.forked = b.forked || len(p.succs) > 1
			ins[p.order] = append(ins[p.order], entry{b, k})
		}
	}
	take := func(in []entry, from *block, i int) {
		s := from.succs[i]
		for j, e := range in {
			if e.to == s {
				from.entries[i], s.leaves[e.k] = e.k, i
				in[j].to = nil
				return
			}
		}
	}
	for _, b := range f.rpo {
		in := ins[b.order]
		if len(in) > 8 { // each block that many ways lead to has its own list
			by := map[*block][]entry{}
			for _, e := range in {
				by[e.to] = append(by[e.to], e)
			}
			for i, s := range b.succs {
				take(by[s], b, i)
				by[s] = by[s][min(1, len(by[s])):]
			}
			continue
		}
		for i := range b.succs {
			take(in, b, i)
		}
	}
}

// sweep drops the phis of b that were found to be other values.
func (b *block) sweep() {
	b.instrs = slices.DeleteFunc(b.instrs, func(v *value) bool { return v.fwd != nil })
	if b.cond != nil {
		b.cond = b.cond.find()
	}
}

// doom finds the blocks from which nothing returns: the process, or the
// goroutine, ends there.
func (f *fn) doom() {
	for again := true; again; {
		again = false
		for i := len(f.rpo) - 1; i >= 0; i-- {
			b := f.rpo[i]
			if b.doomed {
				continue
			}
			d := b.noreturn || len(b.succs) > 0
			for _, s := range b.succs {
				d = d && s.doomed
			}
			if d {
				b.doomed = true
				again = true
			}
		}
	}
}

// exitAfter returns the end of the first exit that some path from b leads to, nil if
// there is none.
func (f *fn) exitAfter(b *block) *value {
	if f.after == nil {
		f.after = make([]*value, len(f.rpo))
		for _, e := range f.rpo {
			if len(e.succs) > 0 || e.doomed || e.end() == nil {
				continue
			}
			stack := []*block{e}
			for len(stack) > 0 {
				x := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				if f.after[x.order] == nil {
					f.after[x.order] = e.end()
					stack = append(stack, x.preds...)
				}
			}
		}
	}
	return f.after[b.order]
}

func containsValue(vs []*value, v *value) bool {
	for _, x := range vs {
		if x == v {
			return true
		}
	}
	return false
}

// effectful reports whether time passes at v, so that a free on the other side
// of it would be earlier or later.
func (v *value) effectful() bool {
	switch v.op {
	case opCall, opDefer, opGo, opSend, opRecv, opAppend, opStore, opReturn, opPanic, opUse, opElem:
		return true
	}
	return false
}

func (f *fn) order() {
	for _, b := range f.blocks {
		b.order = -1
	}
	// Iterative depth first search: generated functions are deep.
	type frame struct {
		b *block
		i int
	}
	seen := make([]bool, len(f.blocks))
	var post []*block
	stack := []frame{{f.blocks[0], 0}}
	seen[0] = true
	for len(stack) > 0 {
		t := &stack[len(stack)-1]
		if t.i < len(t.b.succs) {
			s := t.b.succs[t.i]
			t.i++
			if !seen[s.id] {
				seen[s.id] = true
				stack = append(stack, frame{s, 0})
			}
			continue
		}
		post = append(post, t.b)
		stack = stack[:len(stack)-1]
	}
	f.rpo = f.rpo[:0]
	for i := len(post) - 1; i >= 0; i-- {
		post[i].order = len(f.rpo)
		f.rpo = append(f.rpo, post[i])
	}
}

// dominators returns the block that dominates each block next, by its order.
func (f *fn) dominators() []*block {
	idom := make([]*block, len(f.rpo))
	meet := func(a, b *block) *block {
		for a != b {
			for a.order > b.order {
				a = idom[a.order]
			}
			for b.order > a.order {
				b = idom[b.order]
			}
		}
		return a
	}
	idom[0] = f.rpo[0]
	for again := true; again; {
		again = false
		for _, b := range f.rpo[1:] {
			var d *block
			for _, p := range b.preds {
				if p.order < 0 || idom[p.order] == nil {
					continue
				}
				if d == nil {
					d = p
				} else {
					d = meet(d, p)
				}
			}
			if d != nil && idom[b.order] != d {
				idom[b.order] = d
				again = true
			}
		}
	}
	return idom
}

// irreducible reports whether some cycle can be entered in two places: an edge
// back to a block that does not dominate where the edge comes from.
func (f *fn) irreducible() bool {
	idom := f.dominators()
	for _, b := range f.rpo {
		for _, s := range b.succs {
			if s.order > b.order {
				continue
			}
			d := b
			for d.order > s.order {
				d = idom[d.order]
			}
			if d != s {
				return true
			}
		}
	}
	return false
}

// String prints the flow form; it is the golden text of the first stage.
func (f *fn) String() string {
	var w strings.Builder
	fmt.Fprintf(&w, "func %s\n", f.name)
	if f.declined != "" {
		fmt.Fprintf(&w, "\tdeclined: %s\n", f.declined)
		return w.String()
	}
	num := map[*value]int{}
	name := func(v *value) string {
		n, ok := num[v]
		if !ok {
			n = len(num)
			num[v] = n
		}
		return fmt.Sprintf("v%d", n)
	}
	for _, b := range f.rpo {
		fmt.Fprintf(&w, "b%d: %s", b.order, b.label)
		if len(b.preds) > 0 {
			w.WriteString(" ←")
			for _, p := range b.preds {
				fmt.Fprintf(&w, " b%d", p.order)
			}
		}
		w.WriteString("\n")
		for _, v := range b.instrs {
			if v.op == opGap {
				fmt.Fprintf(&w, "\t· %s\n", f.p.line(v.pos))
				continue
			}
			w.WriteString("\t")
			switch v.op {
			case opSet, opUse, opHold, opStore, opSend, opGo, opReturn, opPanic, opDiscard, opDefer:
			default:
				fmt.Fprintf(&w, "%s = ", name(v))
			}
			w.WriteString(opNames[v.op])
			if v.place != nil && v.op != opPhi {
				fmt.Fprintf(&w, " %s", v.place)
			}
			switch v.op {
			case opParam, opResult:
				fmt.Fprintf(&w, " %d", v.index)
			case opCmp:
				fmt.Fprintf(&w, " %s", v.tok)
			case opCall, opDefer:
				fmt.Fprintf(&w, " %s", v.call.name)
			}
			for _, a := range v.args {
				switch a.op {
				case opNil:
					w.WriteString(" nil")
				case opConst:
					w.WriteString(" const")
				case opFunc:
					w.WriteString(" " + a.fn.Name())
				default:
					w.WriteString(" " + name(a))
				}
			}
			w.WriteString("\n")
		}
		switch {
		case len(b.succs) == 2 && b.cond != nil:
			fmt.Fprintf(&w, "\tif %s → b%d, b%d\n", name(b.cond), b.succs[0].order, b.succs[1].order)
		case len(b.succs) > 0:
			w.WriteString("\t→")
			for _, s := range b.succs {
				fmt.Fprintf(&w, " b%d", s.order)
			}
			w.WriteString("\n")
		case b.noreturn:
			w.WriteString("\tnever returns\n")
		}
	}
	text, _ := report.Words(w.String(), f.p.line)
	return text
}
