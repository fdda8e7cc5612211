package proof

// Elements that are pointers. A loop that frees what each leads to frees it once only if no two lead to the
// same memory, and if what is in one is in no other: no walk tells these apart, it follows one resource. So
// this is shown without order. A call makes the memory with its resources, and nothing puts others there. It
// is put into an element by one instruction, as the call gave it, which does not run again before the call
// did; an append puts it where it is from there on, and what is in a slice already moves along. Whatever else
// may put into an element what leads to that memory says no.

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

const sameMemory = "two elements may lead to the same memory"

// mayRepeat reports whether two elements of v may lead to the same resource through memory of the family.
func (g *graph) mayRepeat(v ssa.Value) bool {
	in := g.f.of(v)
	if _, array := v.Type().Underlying().(*types.Array); !array {
		in = g.f.load(g.f.inside(in, index))
	}
	return g.repeats(in)
}

// partsRepeat reports that of parts that are freed of memory, if elements lead there.
func (g *graph) partsRepeat(from set, parts []string) bool {
	return slices.ContainsFunc(parts, func(path string) bool {
		list, _, pointers := strings.Cut(path, index+behind)
		return pointers && g.repeats(g.f.load(g.f.along(from, list+index)))
	})
}

// repeats reports that of elements that lead where in says.
func (g *graph) repeats(in set) bool {
	return g.f.some(in, func(e elem) bool {
		if e.obj.kind != memObj {
			return false
		}
		return g.f.hasResources(e.obj) && !(g.ownsAlone(e.obj) && g.putOnce(e.obj))
	})
}

// hasResources reports whether memory leads to resources.
func (f *family) hasResources(o *object) bool {
	return f.some(f.reach(single(f.elem(o, ""))), func(e elem) bool { return e.obj.kind == siteObj })
}

// ownsAlone reports whether a call makes memory and all resources to which it leads: they are in it directly.
func (g *graph) ownsAlone(o *object) bool {
	return !g.f.some(g.f.reach(single(g.f.elem(o, ""))), func(e elem) bool {
		apart := e.obj.kind == siteObj && !slices.Contains(g.f.instance(e.obj), o)
		return apart || e.obj.kind == memObj && e.obj != o && g.f.hasResources(e.obj)
	})
}

// putOnce reports whether each time that memory is made, one element leads to it at most, and nothing but
// what made it puts resources there.
func (g *graph) putOnce(o *object) bool {
	leads := func(e elem) bool { return e.obj == o }
	puts := 0
	for i := range g.f.instrs() {
		k := g.calls[callOf(i)]
		if k != nil && k.builtin == "" {
			grows := slices.ContainsFunc(k.does, func(p Param) bool { return p.Into != nil })
			has := func(a ssa.Value) bool { return g.f.some(g.f.reach(g.f.of(a)), leads) }
			if grows && slices.ContainsFunc(k.args, has) {
				return false
			}
			continue
		}
		e := g.f.entry(i)
		if k != nil {
			e = k.entry
		}
		for _, st := range e.stores {
			to, val := g.f.within(g.f.of(st.to), st.step), g.f.reach(g.f.from(st.val))
			if g.f.some(to, leads) && g.f.some(val, func(e elem) bool { return e.obj.kind == siteObj }) {
				return false
			}
			switch into := g.f.some(to, func(e elem) bool { return indexed(e.path) }); {
			case st.moves || !into || !g.f.some(val, leads):
			case k != nil && isVarargs(k.args[len(k.args)-1]): // it is in there by another store
			case k != nil || !isResult(st.val.v, o.at) || putAgain(i, o.at):
				return false
			default:
				puts++
			}
		}
	}
	return puts <= 1
}

// isVarargs reports whether v is the arguments of one call, which nobody can name.
func isVarargs(v ssa.Value) bool {
	s, ok := v.(*ssa.Slice)
	if !ok {
		return false
	}
	a, ok := s.X.(*ssa.Alloc)
	return ok && a.Comment == "varargs"
}

// isResult reports whether v is what a call gives.
func isResult(v, call ssa.Value) bool {
	e, ok := v.(*ssa.Extract)
	return v == call || ok && e.Tuple == call
}

// putAgain reports whether i, which has what a call gives, may run twice while that runs once.
func putAgain(i ssa.Instruction, call ssa.Value) bool {
	makes := call.(ssa.Instruction).Block()
	on := func(b *ssa.BasicBlock) []*ssa.BasicBlock {
		return slices.DeleteFunc(slices.Clone(b.Succs), func(s *ssa.BasicBlock) bool { return s == makes })
	}
	return reachable(on, on(i.Block())...)[i.Block()]
}
