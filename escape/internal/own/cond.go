package own

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/lift"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// mostConds bounds the conditions of a group, whose states double with each.
const mostConds = 5

// keyOf returns the key of a condition, and whether the condition is its opposite.
func (f *Func) keyOf(v ssa.Value) (k lift.Key, neg, ok bool) {
	for {
		u, is := v.(*ssa.UnOp)
		if !is || u.Op != token.NOT {
			break
		}
		v, neg = u.X, !neg
	}
	v = f.Stored(v)
	if _, is := v.(*ssa.Const); is {
		return lift.Key{}, false, false
	}
	b, is := v.(*ssa.BinOp)
	if !is {
		return lift.Key{X: v}, neg, true
	}
	if s, not := lift.AsksSome(b); s != nil && (f.Collects(s) || f.Container(s) != nil) {
		return lift.Key{Op: token.MUL, X: s}, neg != not, true
	}
	x, y, op := b.X, b.Y, b.Op
	if op == token.EQL { // of others, the opposite may be false, too: NaN is not ordered
		op, neg = token.NEQ, !neg
	}
	if c, is := x.(*ssa.Const); is && c.IsNil() {
		x, y = y, x
	}
	if c, is := y.(*ssa.Const); is && c.IsNil() && op == token.NEQ {
		return lift.NonNil(f.Pointer(x)), neg, true
	}
	return lift.Key{Op: op, X: lift.Operand(f.Stored(x)), Y: lift.Operand(f.Stored(y))}, neg, true
}

// findTests lists the branches of a function.
func (f *Func) findTests() {
	f.tests = make([]test, len(f.Graph.Nodes))
	f.known = map[lift.Key]map[*ssa.BasicBlock]answer{}
	for n := range f.Graph.Nodes {
		if c := f.Graph.Branch(n); c != nil {
			t := &f.tests[n]
			t.key, t.neg, t.ok = f.keyOf(c)
			t.fixed, t.on = ir.Always(c)
			t.then = f.implied(t.key)
		}
	}
}

// asks lists the keys on which a branch tells something.
func (t test) asks() (out []lift.Key) {
	if t.ok {
		out = append(out, t.key)
	}
	if t.then != nil {
		out = append(out, *t.then)
	}
	return out
}

// implied returns what follows from a condition; nil if nothing does: an error that is of some kind is none
// that is nil.
func (f *Func) implied(k lift.Key) *lift.Key {
	c, ok := k.X.(*ssa.Call)
	if !ok || k != lift.IsTrue(c) || !memory.AsksError(&c.Call) {
		return nil
	}
	then := lift.NonNil(f.Stored(c.Call.Args[0]))
	return &then
}

// An answer is what a key is known to be.
type answer uint8

const (
	unknown answer = iota
	yes
	no
)

// before returns what a key is where a node is entered, if all paths lead there through one way of
// a branch on it, and none of its values is computed in between.
func (f *Func) before(k lift.Key, node int) answer {
	memo := f.known[k]
	if memo == nil {
		memo = map[*ssa.BasicBlock]answer{}
		f.known[k] = memo
	}
	var a answer
	var way []*ssa.BasicBlock
	for b := f.Graph.Nodes[node].Block; b != nil; b = b.Idom() {
		have, ok := memo[b]
		if !ok {
			way = append(way, b)
			have, ok = f.enters(k, b)
		}
		if ok {
			a = have
			break
		}
	}
	for _, b := range way {
		memo[b] = a
	}
	return a
}

// enters returns what a key is where a block is entered, as far as the way into it tells; ok is false
// if that is what it was where the block that dominates it next was left.
func (f *Func) enters(k lift.Key, b *ssa.BasicBlock) (a answer, ok bool) {
	for _, v := range k.Values() {
		i, is := v.(ssa.Instruction)
		if m, _ := lift.Ways(v); is && i.Block() == b || m == b {
			return unknown, true
		}
	}
	if len(b.Preds) != 1 {
		return unknown, false
	}
	p := b.Preds[0]
	n, _, _ := f.Graph.Where(p.Instrs[len(p.Instrs)-1])
	t := f.tests[n]
	if !t.ok || t.key != k || p.Succs[0] == p.Succs[1] {
		return unknown, false
	}
	if (p.Succs[0] == b) != t.neg {
		return yes, true
	}
	return no, true
}

// chooseConds takes the conditions of a group by one rule: what its acts and sites depend
// on, if it is tested where the group is alive, the merged values through which such a one
// is tested, flags, and what is tested there and was before; in the order of the function, up to mostConds.
func (g *Group) chooseConds() {
	count := map[lift.Key]int{}
	var order []lift.Key
	var entries []int
	for i, n := range g.region.nodes {
		if g.region.entry[i] {
			entries = append(entries, n)
		}
		for _, k := range g.f.tests[n].asks() {
			if count[k] == 0 {
				order = append(order, k)
			}
			count[k]++
		}
	}
	take := func(k lift.Key) {
		if len(g.conds) < mostConds && !slices.Contains(g.conds, k) {
			g.conds = append(g.conds, k)
		}
	}
	wanted := map[any]bool{}
	needs := g.needs()
	for _, k := range needs {
		wanted[k.X] = true
	}
	for _, k := range order {
		x, _ := k.X.(ssa.Value)
		_, ways := lift.Ways(x)
		merged := k.AsksNil() && slices.ContainsFunc(ways, func(e ssa.Value) bool { return wanted[e] })
		if merged {
			for _, n := range needs {
				if v, ok := n.X.(ssa.Value); ok && slices.Contains(ways, v) {
					take(n)
				}
			}
		}
		if merged || slices.Contains(needs, k) {
			take(k)
		}
	}
	for _, k := range order {
		if count[k] > 1 || memory.Flag(k.X) || slices.ContainsFunc(entries, func(n int) bool {
			return g.f.before(k, n) != unknown
		}) {
			take(k)
		}
	}
	if slices.ContainsFunc(g.Sites, func(s *pointsto.Site) bool { return s.Param >= 0 }) {
		for _, k := range append(needs, order...) { // for the summary
			if p, ok := k.X.(*ssa.Parameter); ok && k == lift.IsTrue(p) {
				take(k)
			}
		}
	}
	for c, k := range g.conds {
		for _, v := range k.Values() {
			if b, _ := lift.Ways(v); b != nil {
				continue // on the edges that bring it
			}
			if n, at, ok := g.f.Where(v); ok {
				g.events[n] = append(g.events[n], event{at: at, kind: forget, n: c})
			}
		}
	}
}

// arrive returns which combinations of conditions a combination may become on an edge to
// a block that merges values: those of its phis are told by what the edge brings.
func (g *Group) arrive(combo, node, out int) []int {
	to := g.f.Graph.Succs[node][out]
	list := []int{combo}
	for c, k := range g.conds {
		for _, v := range k.Values() {
			b, ways := lift.Ways(v)
			if b == nil || g.f.Graph.Entry(b) != to {
				continue
			}
			on, known := false, false
			if e := g.f.Graph.Phi(node, out); e >= 0 {
				on, known = g.brings(combo, k, ways[e])
			}
			var next []int
			for _, l := range list {
				if !known || on {
					next = append(next, l|1<<c)
				}
				if !known || !on {
					next = append(next, l&^(1<<c))
				}
			}
			slices.Sort(next)
			list = slices.Compact(next)
		}
	}
	return list
}

// brings returns what a key over a phi is if v is what the phi becomes.
func (g *Group) brings(combo int, k lift.Key, v ssa.Value) (on, known bool) {
	if k.AsksNil() {
		if c, ok := v.(*ssa.Const); ok && c.IsNil() {
			return false, true
		}
		return g.value(combo, lift.NonNil(v))
	}
	if k.Op == token.ILLEGAL {
		if c, ok := v.(*ssa.Const); ok && c.Value != nil {
			return c.Value.String() == "true", true
		}
		if kk, neg, ok := g.f.keyOf(v); ok {
			on, known = g.value(combo, kk)
			return on != neg, known
		}
	}
	return false, false
}
