package escape

// Frees in front of the statement that names buffers: where several calls move
// there, a buffer may be dead before the next one is made.

import (
	"go/ast"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/rewrite"
)

// behind returns the index of the item of h behind which the planned free p, due
// after the statement, may stand: the buffer is not used any more, and a later item, or the rest of
// the statement, allocates or waits. So a second run would move the free there. -1: none.
func (d *decider) behind(h *rewrite.Hoist, p planned) int {
	if p.save || p.deferred || h.Items[0].Of > 0 {
		return -1
	}
	b, end := p.gap.blk, p.gap.at
	last := -1 // where the buffer is used last
	if w := p.obj.def.where(); w.blk == b && w.at < end {
		last = w.at
	}
	for at := range p.obj.events {
		if at.blk == b && at.at < end {
			last = max(last, at.at)
		}
	}
	found, before := -1, -1
	at := 0 // the instruction behind the item
	for k, x := range h.Items {
		i := d.callIn(b, x.Expr)
		if i >= end {
			i = -1
		}
		if i < 0 && before < 0 {
			// A call in blocks that come before this one, as in a literal that is called
			// here; or no call at all.
			if last < 0 && !slices.ContainsFunc(h.Items[k+1:], func(y rewrite.Item) bool { return rewrite.HasLiteral(y.Expr) }) {
				found = k
			}
			continue
		}
		if i <= before {
			return -1 // not a call, or not here, or not in this order
		}
		before = i
		switch v := b.instrs[i]; {
		case found < 0 && i >= last:
			found, at = k, i+1
		case found >= 0 && d.w.delays(v):
			return d.asHeld(p, b, at, found)
		}
	}
	// What the statement does itself comes behind all items.
	if found >= 0 && before >= 0 && slices.ContainsFunc(b.instrs[before+1:end], d.w.delays) {
		return d.asHeld(p, b, at, found)
	}
	return -1
}

// delays reports whether v is a call that allocates or waits.
func (w *flow) delays(v *value) bool {
	return v.op == opCall && (w.allocates(v) || v.fn != nil && blocking[v.fn.FullName()])
}

// asHeld returns k if the variable by which p frees holds the buffer before instruction i
// of b already, and does not get it in the statement; else -1.
func (d *decider) asHeld(p planned, b *block, i, k int) int {
	if p.place != nil {
		if held := d.w.f.valueAt(p.place, b, i); held == nil || origin(held) != p.obj.def {
			return -1
		}
	}
	return k
}

// callIn returns the index of the first instruction of b that is the call e; -1: none.
func (d *decider) callIn(b *block, e ast.Expr) int {
	m := d.calls[b]
	if m == nil {
		if d.calls == nil {
			d.calls = map[*block]map[ast.Expr]int{}
		}
		m = map[ast.Expr]int{}
		for i, v := range b.instrs {
			if _, ok := m[v.expr]; v.op == opCall && !ok {
				m[v.expr] = i
			}
		}
		d.calls[b] = m
	}
	if i, ok := m[e]; ok {
		return i
	}
	return -1
}
