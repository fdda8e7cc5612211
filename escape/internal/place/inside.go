package place

import (
	"go/ast"
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about literals that are called where they stand. What is due right behind the call, by the
// name of a variable that the literal captures, is freed inside, where the literal needs it last. It is not
// needed where the literal panics either, as what is deferred would need it behind the call, too.

// inside returns the call of such a literal right behind which a spot is due; nil if there is none, or if the
// literal may have what is freed by another name.
func (pl *planner) inside(s *spot) *ssa.Call {
	plain := s.at.Place != nil && !s.at.Deferred && s.name.Result == nil && s.name.Save == nil && s.unless.Var == nil
	if !plain || s.point.At == 0 {
		return nil
	}
	c, ok := pl.f.Graph.Nodes[s.node].Instrs[s.point.At-1].(*ssa.Call)
	if !ok {
		return nil
	}
	m, ok := c.Call.Value.(*ssa.MakeClosure)
	if !ok {
		return nil
	}
	if lit, ok := pl.ir.Syntax(m.Fn.(*ssa.Function)).(*ast.FuncLit); !ok || lit.End() != c.Pos() {
		return nil // it has a name, and may be called again once the program changes
	}
	mine := func(v ssa.Value) bool {
		return slices.ContainsFunc(pl.f.Holds(v), func(h pointsto.Hold) bool {
			return slices.ContainsFunc(pl.f.Holds(s.value), func(own pointsto.Hold) bool { return own.Site == h.Site })
		})
	}
	part := func(p *memory.Field) bool { return mine(p) }
	if !slices.Contains(m.Bindings, s.value) || slices.ContainsFunc(pl.f.Fields(s.value), part) {
		return nil
	}
	for _, x := range slices.Concat(m.Bindings, c.Call.Args) {
		if v := pl.f.Origin(x); v != s.value && (mine(v) || slices.ContainsFunc(pl.f.Fields(v), part)) {
			return nil
		}
	}
	return c
}

// Inside returns the frees that stand for one behind the call of a literal, inside of that: one on each way
// through it. There are none if it is freed no sooner then, or not on all ways: what the literal defers may
// recover from a panic in front of a free.
func Inside(p *ir.Package, l *own.Func, fr Free, text Text) []Free {
	x := ssa.Value(l.SSA.FreeVars[slices.Index(fr.Behind.Call.Value.(*ssa.MakeClosure).Bindings, fr.value)])
	k := slices.IndexFunc(l.Groups, func(g *own.Group) bool { return len(g.Sites) == 1 && g.Sites[0].Value == x })
	if k < 0 || l.Groups[k].Why() != "" || l.Graph.Panic >= 0 {
		return nil
	}
	pl := newPlanner(p, l, l.Groups[k].Early(func(pointsto.Act) bool { return false }, true), text)
	const t = own.Token(0)
	of := pl.begin(t)
	pl.sink([]*placing{of})
	spots := pl.finish(of)
	for _, n := range pl.g.Nodes() { // it may leave, or be another one
		if slices.ContainsFunc(pl.moves[n], func(p *own.Point) bool {
			return p.Status(t)&^(own.Owned|own.Absent|own.Passed) != 0 || p.Sets(x)
		}) {
			return nil
		}
	}
	if of.missed > 0 || !slices.ContainsFunc(spots, pl.sooner) {
		return nil
	}
	out := pl.statements(map[own.Token][]*spot{t: spots})
	for k := range out {
		out[k].Sites, out[k].Since, out[k].Behind = fr.Sites, nil, nil
		out[k].Guard, out[k].Holes = fr.Guard, fr.Holes
	}
	return out
}

// sooner reports whether something that may take long comes behind a spot before its function returns.
func (pl *planner) sooner(s *spot) bool {
	if s.at.Place == nil {
		return false
	}
	node, at, _ := pl.f.Graph.Where(s.at.Place.At)
	long := func(i ssa.Instruction) bool {
		switch i := i.(type) {
		case *ssa.Call:
			return !pl.ir.Marks(i)
		case *ssa.UnOp:
			return i.Op == token.ARROW
		case *ssa.Send, *ssa.Select:
			return true
		}
		return false
	}
	nodes := pl.f.Graph.Nodes
	some := slices.ContainsFunc(nodes[node].Instrs[at+1:], long)
	for n := range pl.behind(node) {
		some = some || n != node && slices.ContainsFunc(nodes[n].Instrs, long)
	}
	return some
}
