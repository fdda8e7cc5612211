package memory

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about loops that free each element of a slice or a map. Where such a loop begins, all that
// is in there is freed: nothing leaves the loop before its end, and each turn frees its element once.

// A freeing is a loop that frees each element.
type freeing struct {
	*ir.Each
	again bool // it may be done again
	bare  bool // it frees an element without a test that it is something
}

// FindLoops finds the loops of a function that free each element of what they range over.
func (f *Func) FindLoops() {
	for _, n := range f.Graph.Nodes {
		for _, i := range n.Instrs {
			switch i := i.(type) {
			case *ssa.Range:
				f.findFreeing(i, i.X.Type())
			case *ssa.Call:
				if b, ok := i.Call.Value.(*ssa.Builtin); ok && b.Name() == "len" {
					f.findFreeing(i, i.Call.Args[0].Type())
				}
			}
		}
	}
}

// findFreeing notes what begins a loop over a slice or a map if that frees each element.
func (f *Func) findFreeing(begin ssa.Instruction, of types.Type) {
	l := ir.RangeOver(begin)
	free := &freeing{Each: l, again: true}
	if l == nil || !f.In.Frees.Collects(of) || slices.ContainsFunc(f.In.Frees.Of(of).Each, func(o effect.Owned) bool {
		return !f.freesPart(l, o.Path, free)
	}) {
		return
	}
	f.loops[begin] = free
	for _, i := range l.Takes {
		f.within[i] = true
	}
}

// freesPart reports whether each turn of a loop frees what is at a path of its element, once.
func (f *Func) freesPart(l *ir.Each, path []int, free *freeing) bool {
	elems := turn{}
	for _, e := range l.Elems {
		elems.add(e, path, l)
	}
	var ends func(b *ssa.BasicBlock, freed, tested bool) bool
	seen, was := map[*ssa.BasicBlock]bool{}, map[*ssa.BasicBlock]bool{}
	ends = func(b *ssa.BasicBlock, freed, tested bool) bool {
		if b == l.Head {
			return freed
		}
		if seen[b] {
			return was[b] == freed
		}
		seen[b], was[b] = true, freed
		for _, i := range b.Instrs {
			n, ok := f.frees(i, elems, free)
			if !ok || n > 0 && freed {
				return false
			}
			free.bare = free.bare || n > 0 && !tested
			freed = freed || n > 0
		}
		something := -1 // the way on which an element is that, of a test for nil
		if i, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If); ok {
			if x, way := ir.NilTest(i); elems[x] == Same {
				something = way
			}
		}
		for k, s := range b.Succs {
			if !ends(s, freed || something == 1-k, tested || something >= 0) {
				return false
			}
		}
		return true
	}
	return len(elems) > 0 && ends(l.Body, false, false)
}

// FreesEach reports whether an instruction begins a loop that frees each element of what it ranges over, and
// whether that may be repeated.
func (f *Func) FreesEach(i ssa.Instruction) (yes, again bool) {
	l := f.loops[i]
	return l != nil, l != nil && l.again
}

// FreedThere reports whether an instruction takes an element in such a loop.
func (f *Func) FreedThere(i ssa.Instruction) bool { return f.within[i] }

// ToleratesNil reports whether an instruction that frees all in a slice or a map does so if an element is
// nothing.
func (f *Func) ToleratesNil(i ssa.Instruction) bool {
	l := f.loops[i]
	return l != nil && !l.bare
}

// A turn is how values of a turn of a loop, or their addresses, lead to what is at a path of its element.
type turn map[ssa.Value]Reach

// add adds a value from which a path leads there, and what is made of it.
func (t turn) add(v ssa.Value, path []int, l *ir.Each) {
	if t[v] != None {
		return
	}
	if t[v] = Outer; len(path) == 0 {
		t[v] = Same
	}
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.FieldAddr:
			if len(path) > 0 && path[0] == i.Field {
				t.add(i, path[1:], l)
			}
		case *ssa.Field:
			if len(path) > 0 && path[0] == i.Field {
				t.add(i, path[1:], l)
			}
		case *ssa.UnOp:
			switch v.(type) {
			case *ssa.IndexAddr, *ssa.FieldAddr, *ssa.Alloc:
				t.add(i, path, l)
			}
		case *ssa.Store: // a variable of the turn
			a, ok := i.Addr.(*ssa.Alloc)
			if ok && i.Val == v && i.Block() == l.Body && a.Block() == l.Body && len(ir.Stores(a)) == 1 {
				t.add(a, path, l)
			}
		}
	}
}

// frees counts how often an instruction frees what is at the path of an element. It is false if it does
// anything else with it than read it.
func (f *Func) frees(i ssa.Instruction, elems turn, free *freeing) (n int, ok bool) {
	if _, debug := i.(*ssa.DebugRef); debug || f.In.IR.Marks(i) {
		return 0, true
	}
	if !slices.ContainsFunc(i.Operands(nil), func(op *ssa.Value) bool { return elems[*op] != None }) {
		return 0, true
	}
	switch i := i.(type) {
	case *ssa.BinOp:
		return 0, true
	case *ssa.Store:
		return 0, elems[i.Addr] != None && elems[i.Val] != None
	case *ssa.UnOp, *ssa.FieldAddr, *ssa.Field: // or another part
		v := i.(ssa.Value)
		return 0, elems[*i.Operands(nil)[0]] == Outer || len(*v.Referrers()) == 0 || elems[v] != None
	case *ssa.Call:
		if elems[i.Call.Value] != None && !i.Call.IsInvoke() {
			return 0, false
		}
		s := f.Summary(&i.Call)
		for k, a := range calls.Operands(&i.Call) {
			if elems[a] == None {
				continue
			}
			p := s.Param(k)
			if p.Borrows() && !s.Gives(k) {
				continue
			}
			if elems[a] == Outer || p.Freed.Cond != effect.Always || p.Escapes.Cond != effect.Never || p.Retained || s.Gives(k) {
				return 0, false
			}
			free.again = free.again && p.Repeatable
			n++
		}
		return n, true
	}
	return 0, false
}
