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
	return slices.ContainsFunc(g.spawns, func(sp *spawn) bool { return slices.Contains(g.calls[sp.at].bodies, fn) })
}

// findSpawns collects the instructions that start goroutines.
func (g *graph) findSpawns() {
	for _, fn := range g.f.fns {
		for _, b := range fn.Blocks {
			for _, i := range b.Instrs {
				c := callOf(i)
				k := g.calls[c]
				if k == nil || !k.spawns || len(k.bodies) == 0 {
					continue
				}
				sp := &spawn{at: c}
				var from set
				var ops [16]*ssa.Value
				for _, o := range i.Operands(ops[:0]) {
					if *o != nil {
						from.union(g.f.of(*o))
					}
				}
				inside := map[*ssa.Function]bool{}
				for _, body := range k.bodies {
					within(body, inside)
				}
				for id := range g.f.reach(from).all() {
					if o := g.f.elems[id].obj; o.at == nil || !inside[o.at.Parent()] {
						sp.reaches.add(id)
					}
				}
				if groupMethod(k.fn) == "Go" {
					sp.group = g.groupOf(k.args[0])
				} else {
					sp.group = g.counted(k)
				}
				g.spawns = append(g.spawns, sp)
			}
		}
	}
	for _, sp := range g.spawns {
		if sp.group != nil && (g.f.c.off[Joins] || !g.own(sp.group)) {
			sp.group = nil
		}
	}
	if g.f.c.off[Joins] {
		g.spawns = nil
	}
	g.spawned = map[*ssa.Function]bool{}
	for _, sp := range g.spawns {
		sp.runs = map[*ssa.Function]bool{}
		for _, body := range g.calls[sp.at].bodies {
			g.runs(body, sp.runs)
		}
		maps.Copy(g.spawned, sp.runs)
	}
}

// runs adds to m what fn runs.
func (g *graph) runs(fn *ssa.Function, m map[*ssa.Function]bool) {
	if m[fn] {
		return
	}
	m[fn] = true
	for i := range instrsOf(fn) {
		if k := g.calls[callOf(i)]; k != nil {
			for _, body := range slices.Concat(k.bodies, k.callbacks) {
				g.runs(body, m)
			}
		}
	}
}

// alone reports whether nobody can find what x frees in memory that is shared by several runs of a literal,
// which goroutines of a callee may call at the same time.
func (g *graph) alone(x *free) bool {
	among := map[*ssa.Function]bool{}
	for _, k := range g.calls {
		for n, a := range k.args {
			for id := range g.f.reach(g.f.of(a)).all() {
				if fn := g.f.elems[id].obj.fn; fn != nil && k.does[n].Together {
					g.runs(fn, among)
				}
			}
		}
	}
	if !among[x.at.Parent()] {
		return true
	}
	for id := range x.pts.all() {
		o := g.f.elems[id].obj
		if o.kind == siteObj && !among[o.at.Parent()] {
			return false
		}
		for e, s := range g.f.content {
			if in := g.f.elems[e].obj; (in.at == nil || !among[in.at.Parent()]) && slices.ContainsFunc(o.ids, s.has) {
				return false
			}
		}
	}
	return true
}

func within(fn *ssa.Function, m map[*ssa.Function]bool) {
	m[fn] = true
	for _, a := range fn.AnonFuncs {
		within(a, m)
	}
}

// groupOf returns what makes the one group that v is the address of.
func (g *graph) groupOf(v ssa.Value) ssa.Value {
	var found ssa.Value
	for id := range g.f.of(v).all() {
		e := g.f.elems[id]
		if found != nil || e.obj.kind != memObj || e.obj.escaped || e.path != "" {
			return nil
		}
		found = e.obj.at
	}
	return found
}

// counted returns the group that waits for a go statement: Add before it, Done deferred first.
func (g *graph) counted(k *call) ssa.Value {
	if len(k.bodies) != 1 || len(k.bodies[0].Blocks) == 0 {
		return nil
	}
	var group ssa.Value
	if d := firstDefer(k.bodies[0]); d != nil && groupMethod(g.calls[d].fn) == "Done" {
		group = g.groupOf(g.calls[d].args[0])
	}
	if group == nil {
		return nil
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
			if started == 0 || groupMethod(x.fn) != "Add" || g.groupOf(x.args[0]) != group {
				continue
			}
			if n, ok := x.args[1].(*ssa.Const); ok {
				if v, exact := constant.Int64Val(n.Value); exact && v >= int64(started) {
					return group
				}
			}
			return nil
		}
	}
	return nil
}

// own reports whether all that happens to a group is understood: methods are called on it,
// Done only where a go statement's literal defers it, Add with a count that is not negative.
func (g *graph) own(group ssa.Value) bool {
	o := g.f.made[key{group, 0}]
	if o == nil || o.escaped {
		return false
	}
	for i := range g.f.instrs() {
		if !g.understood(o, i) {
			return false
		}
	}
	return true
}

func (g *graph) understood(o *object, i ssa.Instruction) bool {
	leads := func(v ssa.Value) bool { return g.f.leadsTo(v, o) }
	switch i := i.(type) {
	case *ssa.DebugRef, *ssa.MakeClosure, *ssa.Alloc:
		return true
	case *ssa.UnOp:
		return !leads(i.X) // the group itself would be copied
	case *ssa.Store:
		if leads(i.Addr) {
			return false
		}
		if leads(i.Val) { // of its address, into a variable that has nothing else
			a, ok := i.Addr.(*ssa.Alloc)
			return ok && g.f.made[key{a, 0}] != nil && !g.f.made[key{a, 0}].escaped
		}
		return true
	case ssa.CallInstruction:
		k := g.calls[i]
		if _, isGo := i.(*ssa.Go); isGo || len(k.bodies) > 0 && k.sum == nil && groupMethod(k.fn) == "" {
			for _, a := range k.args {
				if leads(a) {
					return false
				}
			}
			return true
		}
		for n, a := range k.args {
			if leads(a) && (n > 0 || groupMethod(k.fn) == "") {
				return false
			}
		}
		if len(k.args) > 0 && leads(k.args[0]) {
			return g.fitting(i, k, o.at)
		}
		return true
	}
	var ops [16]*ssa.Value
	for _, v := range i.Operands(ops[:0]) {
		if *v != nil && leads(*v) {
			return false
		}
	}
	return true
}

// leadsTo reports whether v may lead to o, or to a part of it.
func (f *family) leadsTo(v ssa.Value, o *object) bool {
	for id := range f.of(v).all() {
		if f.elems[id].obj == o {
			return true
		}
	}
	return false
}

// fitting reports whether a method of a group leaves the count understood.
func (g *graph) fitting(i ssa.CallInstruction, k *call, group ssa.Value) bool {
	switch groupMethod(k.fn) {
	case "Go", "Wait", "SetLimit":
		return true
	case "Add":
		n, ok := k.args[1].(*ssa.Const)
		return ok && constant.Sign(n.Value) > 0
	case "Done":
		return i == firstDefer(i.Parent()) && !g.calledBack(g.f, i.Parent()) && g.onlyCounted(i.Parent(), group)
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
func (g *graph) onlyCounted(fn *ssa.Function, group ssa.Value) bool {
	for i, k := range g.calls {
		_, isGo := i.(*ssa.Go)
		if slices.Contains(slices.Concat(k.bodies, k.callbacks), fn) &&
			!(isGo && slices.ContainsFunc(g.spawns, func(sp *spawn) bool { return sp.at == i && sp.group == group })) {
			return false
		}
	}
	return true
}
