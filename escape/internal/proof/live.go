package proof

// Which registers, and which memory, may still be read behind a point: what nobody can read any more is
// forgotten.

import "golang.org/x/tools/go/ssa"

// live returns the registers of its function that are read behind the start of a block.
func (g *graph) live(b *ssa.BasicBlock) set {
	if g.lives[b] == nil {
		g.solveLive(b.Parent())
	}
	return g.lives[b]
}

// register returns the number of a register; false: v is none, but a constant or a name of the package.
func (g *graph) register(v ssa.Value) (int, bool) {
	switch v.(type) {
	case nil, *ssa.Const, *ssa.Global, *ssa.Function, *ssa.Builtin:
		return 0, false
	}
	n, ok := g.regs[v]
	if !ok {
		n = len(g.regs)
		g.regs[v] = n
		g.regList = append(g.regList, v)
	}
	return n, true
}

// reads reports whether a set of registers has v.
func (g *graph) reads(live set, v ssa.Value) bool {
	n, ok := g.regs[v]
	return ok && live.has(n)
}

// A reading is what a block does to registers.
type reading struct {
	uses, sets, phis set
	edges            []set // what the phis read on each edge into the block
}

func (g *graph) read(b *ssa.BasicBlock) *reading {
	r := &reading{edges: make([]set, len(b.Preds))}
	add := func(s *set, v ssa.Value) {
		if n, ok := g.register(v); ok {
			s.add(n)
		}
	}
	var ops [16]*ssa.Value
	for n := len(b.Instrs) - 1; n >= 0; n-- {
		i := b.Instrs[n]
		if p, ok := i.(*ssa.Phi); ok {
			add(&r.phis, p) // they are set where the block begins
			for k, e := range p.Edges {
				add(&r.edges[k], e)
			}
			continue
		}
		if v, ok := i.(ssa.Value); ok {
			n, _ := g.register(v)
			r.sets.add(n)
			r.uses.remove(n)
		}
		for _, o := range i.Operands(ops[:0]) {
			add(&r.uses, *o)
		}
	}
	return r
}

// solveLive computes liveness. A recover block may follow any point.
func (g *graph) solveLive(fn *ssa.Function) {
	reads := map[*ssa.BasicBlock]*reading{}
	for _, b := range fn.Blocks {
		reads[b] = g.read(b)
		g.lives[b] = append(set{}, reads[b].uses...)
		s := g.lives[b]
		s.union(reads[b].phis)
		g.lives[b] = s
	}
	for changed := true; changed; {
		changed = false
		for n := len(fn.Blocks) - 1; n >= 0; n-- {
			b := fn.Blocks[n]
			var now set
			for k, s := range b.Succs {
				in := g.lives[s].clone()
				in.minus(reads[s].phis)
				now.union(in)
				now.union(reads[s].edges[g.edge(b, k)])
			}
			if fn.Recover != nil {
				now.union(g.lives[fn.Recover])
			}
			now.minus(reads[b].sets)
			s := g.lives[b]
			changed = s.union(now) || changed
			g.lives[b] = s
		}
	}
}

// liveElems returns the elements that live registers, deferred calls, goroutines and, in a literal, the
// registers of other functions reach.
func (g *graph) liveElems(f *family, b *ssa.BasicBlock) set {
	if s, ok := g.elems[b]; ok {
		return s
	}
	var s set
	live := g.live(b)
	for n := range live.all() {
		s.union(f.of(g.regList[n]))
	}
	if b.Parent() != f.root {
		for k, v := range f.vals {
			if i, ok := k.v.(ssa.Instruction); !ok || i.Parent() != b.Parent() {
				s.union(*v)
			}
		}
		for _, p := range f.root.Params {
			s.union(f.of(p))
		}
	}
	for i := range g.calls {
		if _, call := i.(*ssa.Call); call && !g.calls[i].spawns {
			continue
		}
		var ops [16]*ssa.Value
		for _, o := range i.Operands(ops[:0]) {
			if *o != nil {
				s.union(f.of(*o))
			}
		}
	}
	s = f.reach(s)
	g.elems[b] = s
	return s
}
