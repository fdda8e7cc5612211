package proof

// Rule joins: a goroutine runs until it is shown to have ended.
//
// It is shown for what g.Go starts, g a sync.WaitGroup or an errgroup.Group, and for a
// go statement with g.Add before it in the same block whose literal begins by deferring
// g.Done, so that it is the last thing that runs. Then g.Wait, on the same group, ends
// it, if g is made here, is never assigned again nor handed on, and nobody else says
// Done. Waiting is followed on each path by the walk: it is what takes the mark away.
//
// The walk lets a goroutine run where it starts. What others do meanwhile is seen in three ways: what is
// stored where a goroutine that runs can reach it is held by it, and has left; what such a place had before,
// it may have again; a free in a goroutine is of those resources alone that the goroutine has when it runs
// like that.

import (
	"go/constant"
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// started reports whether a goroutine begins with fn: what it returns, others may get.
func (g *graph) started(fn *ssa.Function) bool {
	return slices.ContainsFunc(g.spawns, func(sp *spawn) bool {
		return slices.Contains(g.calls[sp.at].bodies, fn)
	})
}

// calledBack reports whether unknown code gets what a literal returns.
func (g *graph) calledBack(f *family, fn *ssa.Function) bool {
	return slices.ContainsFunc(f.objs, func(o *object) bool { return o.fn == fn && o.called })
}

// findSpawns collects the instructions that start goroutines.
func (g *graph) findSpawns() {
	g.spawned = map[*ssa.Function]bool{}
	if g.f.c.off[Joins] {
		return
	}
	for i := range g.f.instrs() {
		k := g.calls[callOf(i)]
		if k == nil || !k.spawns || len(k.bodies) == 0 {
			continue
		}
		sp := &spawn{at: k.at, runs: reachable(g.runs, k.bodies...)}
		var from set
		for o := range operands(i) {
			from.union(g.f.of(o))
		}
		inside := reachable(func(fn *ssa.Function) []*ssa.Function { return fn.AnonFuncs }, k.bodies...)
		for id := range g.f.reach(from).all() {
			if o := g.f.elems[id].obj; o.at == nil || !inside[o.at.Parent()] {
				sp.reaches.add(id)
			}
		}
		if groupMethod(k.fn) == "Go" {
			sp.group = g.newest(k.args[0], "")
		} else {
			sp.group = g.counted(k)
		}
		g.spawns = append(g.spawns, sp)
		maps.Copy(g.spawned, sp.runs)
	}
	for _, sp := range g.spawns {
		if !g.own(sp.group) {
			sp.group = group{}
		}
	}
}

// findTogether collects the literals which goroutines of a callee may call at the same time, with those that
// they run, and the memory that they write and share.
func (g *graph) findTogether() {
	if g.f.c.off[Joins] {
		return
	}
	var first []*ssa.Function
	for _, k := range g.calls {
		for n, a := range k.args {
			for e := range g.f.leads(g.f.reach(g.f.of(a))) {
				if e.obj.fn != nil && k.does[n].Together {
					first = append(first, e.obj.fn)
				}
			}
		}
	}
	g.together = reachable(g.runs, first...)
	for fn := range g.together {
		for i := range instrsOf(fn) {
			if st, ok := i.(*ssa.Store); ok {
				g.common.union(g.f.of(st.Addr))
			}
		}
	}
}

// counted returns the group that waits for a go statement: Add before it, Done deferred first.
func (g *graph) counted(k *call) (of group) {
	if len(k.bodies) != 1 || len(k.bodies[0].Blocks) == 0 {
		return group{}
	}
	if d := firstDefer(k.bodies[0]); d != nil && groupMethod(g.calls[d].fn) == "Done" {
		of = g.groupOf(g.calls[d].args[0], "")
	}
	started := 0
	instrs := k.at.Block().Instrs
	for n := len(instrs) - 1; n >= 0; n-- {
		if c := callOf(instrs[n]); c != nil {
			x := g.calls[c]
			if _, isGo := c.(*ssa.Go); isGo && (c == k.at || started > 0) {
				started++
				continue
			}
			if started == 0 || groupMethod(x.fn) != "Add" || g.newest(x.args[0], "") != of {
				continue
			}
			if n, ok := x.args[1].(*ssa.Const); ok {
				if v, exact := constant.Int64Val(n.Value); exact && v >= int64(started) {
					return of
				}
			}
			return group{}
		}
	}
	return group{}
}

// fitting reports whether a method of a group leaves the count understood.
func (g *graph) fitting(k *call, of group) bool {
	i := k.at
	switch groupMethod(k.fn) {
	case "Go", "Wait", "SetLimit":
		return true
	case "Add":
		n, ok := k.args[1].(*ssa.Const)
		_, late := i.(*ssa.Defer)
		return ok && constant.Sign(n.Value) > 0 && !late
	case "Done":
		return i == firstDefer(i.Parent()) && !g.calledBack(g.f, i.Parent()) && g.onlyCounted(i.Parent(), of)
	}
	return false
}

// firstDefer returns what a function defers before all else, nil if that is nothing.
func firstDefer(fn *ssa.Function) ssa.CallInstruction {
	for _, i := range fn.Blocks[0].Instrs {
		if d, ok := i.(*ssa.Defer); ok {
			return d
		}
	}
	return nil
}

// onlyCounted reports whether nobody runs fn but go statements that were counted for a group.
func (g *graph) onlyCounted(fn *ssa.Function, of group) bool {
	for i, k := range g.calls {
		_, isGo := i.(*ssa.Go)
		if slices.Contains(slices.Concat(k.bodies, k.callbacks), fn) &&
			!(isGo && slices.ContainsFunc(g.spawns, func(sp *spawn) bool { return sp.at == i && sp.group == of })) {
			return false
		}
	}
	return true
}
