package proof

// Groups that wait for goroutines, where they are, and who waits for them: a method of the group, or a callee
// that waits for one that its operand leads to on each way back.

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A group is what waits for goroutines: a part of what is made somewhere. The zero group is none.
type group struct {
	at   ssa.Value
	path string
}

// groupOf returns the one group that is at a path of what v is the address of. At nil there is none: the
// program panics.
func (g *graph) groupOf(v ssa.Value, path string) (found group) {
	for e := range g.f.leads(g.f.of(v)) {
		if e.obj.kind == zeroObj {
			continue
		}
		if found.at != nil || e.obj.kind != memObj || e.obj.escaped || indexed(e.path) {
			return group{}
		}
		found = group{e.obj.at, e.path + path}
	}
	return found
}

// newest is groupOf where v leads to the group that was made last: a literal may have captured an older one.
func (g *graph) newest(v ssa.Value, path string) group {
	of := g.groupOf(v, path)
	if o := g.f.made[key{of.at, 0}]; o == nil || !g.unique(g.f, o) && !makes(v, o) {
		return group{}
	}
	return of
}

// own reports whether all that happens to a group is understood: methods are called on it,
// Done only where a go statement's literal defers it, Add with a count that is not negative.
func (g *graph) own(of group) bool {
	o := g.f.made[key{of.at, 0}]
	if o == nil || o.escaped {
		return false
	}
	leads := func(e elem) bool { return e.obj == o && overlap(e.path, of.path) }
	for i := range g.f.instrs() {
		k := g.calls[callOf(i)]
		if k != nil && k.sum != nil && groupMethod(k.fn) == "" {
			for n, a := range k.args {
				does := k.does[n]
				may := (does.Keeps || does.Counts || does.writes()) && !g.f.literals(a)
				if may && g.f.some(g.f.reach(g.f.of(a)), leads) {
					return false
				}
			}
			continue
		}
		for v := range operands(i) {
			if g.f.some(g.f.of(v), leads) && !g.understood(of, i, v) {
				return false
			}
		}
	}
	return true
}

// understood reports whether an instruction that reads v, which leads to a group, or to what that is a part
// of, leaves the group as it is.
func (g *graph) understood(of group, i ssa.Instruction, v ssa.Value) bool {
	switch i := i.(type) {
	case *ssa.DebugRef, *ssa.MakeClosure, *ssa.Extract, *ssa.FieldAddr:
		return true
	case *ssa.Store: // of its address, into a variable that has nothing else
		a, ok := i.Addr.(*ssa.Alloc)
		return ok && v == i.Val && g.f.made[key{a, 0}] != nil && !g.f.made[key{a, 0}].escaped
	case *ssa.Call, *ssa.Defer:
		k := g.calls[callOf(i)]
		return slices.Index(k.args, v) == 0 && g.fitting(k, of)
	}
	return false
}

// waited returns the groups that a call has waited for when it returns. Literals that it runs may start more.
func (g *graph) waited(k *call) (all []group) {
	if len(k.callbacks) > 0 {
		return nil
	}
	for n, a := range k.args {
		for _, path := range k.sum.param(n).Waits {
			all = append(all, g.newest(a, path))
		}
	}
	return all
}

// waits returns the groups, as parts of what an operand of the root points to, that it has waited for where
// it returns. Who ends a panic may return without.
func (f *family) waits(p *ssa.Parameter) (paths []string) {
	if _, pointer := p.Type().Underlying().(*types.Pointer); !pointer || f.root.Recover != nil {
		return nil
	}
	at := map[string]map[*ssa.BasicBlock]bool{}
	for i := range instrsOf(f.root) {
		call, ok := i.(*ssa.Call)
		if !ok {
			continue
		}
		k := f.resolve(call)
		for n, a := range k.args {
			to, loads := fieldOf(a, p)
			for _, path := range k.sum.param(n).Waits {
				if path = to + path; loads == 0 {
					if at[path] == nil {
						at[path] = map[*ssa.BasicBlock]bool{}
					}
					at[path][call.Block()] = true
				}
			}
		}
	}
	for path, blocks := range at {
		on := func(b *ssa.BasicBlock) []*ssa.BasicBlock {
			if blocks[b] {
				return nil
			}
			return b.Succs
		}
		left := false
		for b := range reachable(on, f.root.Blocks[0]) {
			if _, returns := b.Instrs[len(b.Instrs)-1].(*ssa.Return); returns && !blocks[b] {
				left = true
			}
		}
		if !left {
			paths = append(paths, path)
		}
	}
	slices.SortFunc(paths, strings.Compare)
	return paths
}
