package proof

// Which registers, and which memory, may still be read behind a point: what nobody can read any more is
// forgotten.

import (
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// reachable returns from and all that next leads to.
func reachable[T comparable](next func(T) []T, from ...T) map[T]bool {
	seen := map[T]bool{}
	todo := slices.Clone(from)
	for len(todo) > 0 {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !seen[x] {
			seen[x] = true
			todo = append(todo, next(x)...)
		}
	}
	return seen
}

func preds(b *ssa.BasicBlock) []*ssa.BasicBlock { return b.Preds }
func succs(b *ssa.BasicBlock) []*ssa.BasicBlock { return b.Succs }

// inLoop reports whether b can be reached from itself.
func inLoop(b *ssa.BasicBlock) bool { return reachable(succs, b.Succs...)[b] }

// live returns the registers of its function that are read behind the start of a block, where its phis have
// been set. A recover block may follow any point.
func (g *graph) live(b *ssa.BasicBlock) map[ssa.Value]bool {
	if g.lives[b] == nil {
		for _, b := range b.Parent().Blocks {
			g.lives[b] = map[ssa.Value]bool{}
		}
		for i := range instrsOf(b.Parent()) {
			if phi, ok := i.(*ssa.Phi); ok {
				g.lives[i.Block()][phi] = true
				for n, x := range phi.Edges {
					g.reads(x, i.Block().Preds[n])
				}
				continue
			}
			for x := range operands(i) {
				g.reads(x, i.Block())
			}
		}
	}
	return g.lives[b]
}

// reads notes that x is read at the end of b: it is live back to where it is made.
func (g *graph) reads(x ssa.Value, b *ssa.BasicBlock) {
	switch x.(type) {
	case *ssa.Const, *ssa.Global, *ssa.Function, *ssa.Builtin:
		return
	}
	i, _ := x.(ssa.Instruction)
	todo := []*ssa.BasicBlock{b}
	for len(todo) > 0 {
		b := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if g.lives[b][x] || i != nil && i.Block() == b {
			continue
		}
		g.lives[b][x] = true
		if todo = append(todo, b.Preds...); b == b.Parent().Recover {
			todo = append(todo, b.Parent().Blocks...)
		}
	}
}

// unwound returns the registers of a function that are read once it panics.
func (g *graph) unwound(fn *ssa.Function) map[ssa.Value]bool {
	if g.panicked[fn] == nil {
		out := map[ssa.Value]bool{}
		if fn.Recover != nil {
			maps.Copy(out, g.live(fn.Recover))
		}
		for i := range instrsOf(fn) {
			if d, ok := i.(*ssa.Defer); ok {
				for x := range operands(d) {
					out[x] = true
				}
			}
		}
		g.panicked[fn] = out
	}
	return g.panicked[fn]
}

// liveObjects returns the numbers of the objects that live registers, deferred calls, goroutines and, in a
// literal, the registers of other functions reach. The body of a range over a function in it is none of
// these: it runs only while the literal does, and stands at that loop, so that nothing of a literal in itself
// is shown.
func (g *graph) liveObjects(b *ssa.BasicBlock) set {
	if s, ok := g.objects[b]; ok {
		return s
	}
	f := g.f
	var s, out set
	for v := range g.live(b) {
		s.union(f.of(v))
	}
	if fn := b.Parent(); fn != f.root {
		bodies := bodiesIn(fn)
		for k, v := range f.vals {
			if i, ok := k.v.(ssa.Instruction); (!ok || i.Parent() != fn) && !bodies[k.v.Parent()] {
				s.union(*v)
			}
		}
		for _, p := range f.root.Params {
			s.union(f.of(p))
		}
	}
	for i, k := range g.calls {
		if _, call := i.(*ssa.Call); !call || k.spawns {
			for x := range operands(i) {
				s.union(f.of(x))
			}
		}
	}
	for e := range f.leads(f.reach(s)) {
		out.add(e.obj.id)
	}
	g.objects[b] = out
	return out
}

// bodiesIn returns the bodies of the ranges over functions that stand in a function, and in such bodies.
func bodiesIn(fn *ssa.Function) map[*ssa.Function]bool {
	bodies := func(fn *ssa.Function) (out []*ssa.Function) {
		for _, a := range fn.AnonFuncs {
			if a.Synthetic == yield {
				out = append(out, a)
			}
		}
		return out
	}
	return reachable(bodies, bodies(fn)...)
}
