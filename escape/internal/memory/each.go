package memory

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about loops that free each element of a slice or a map. Where such a loop begins, all that
// is in there is freed: nothing leaves the loop before its end, and each turn frees its element once.

// A freeing is a loop that frees each element.
type freeing struct {
	again bool // it may be done again
	bare  bool // it frees an element without a test that it is something
}

// FindLoops finds the loops of a function that free each element of what they range over.
func (f *Func) FindLoops() {
	for _, n := range f.Graph.Nodes {
		for _, i := range n.Instrs {
			switch i := i.(type) {
			case *ssa.Range:
				if f.In.Frees.Collects(i.X.Type()) {
					f.findFreeing(i, ir.RangeOver(i))
				}
			case *ssa.Call:
				if b, ok := i.Call.Value.(*ssa.Builtin); ok && b.Name() == "len" && f.In.Frees.Collects(i.Call.Args[0].Type()) {
					f.findFreeing(i, ir.RangeOver(i))
				}
			}
		}
	}
}

// freeing notes what begins a loop if that frees each element.
func (f *Func) findFreeing(begin ssa.Instruction, l *ir.Each) {
	if l == nil {
		return
	}
	elems := map[ssa.Value]bool{}
	for _, e := range l.Elems {
		for v := range f.copies(e, l) {
			elems[v] = true
		}
	}
	free := &freeing{again: true}
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
		nothing := nilBranch(b, elems)
		for k, s := range b.Succs {
			if !ends(s, freed || k == nothing, tested || nothing >= 0) {
				return false
			}
		}
		return true
	}
	if len(elems) == 0 || !ends(l.Body, false, false) {
		return
	}
	f.loops[begin] = free
	for _, i := range l.Takes {
		f.within[i] = true
	}
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

// copies lists an element and the variables of a turn that hold it.
func (f *Func) copies(e ssa.Value, l *ir.Each) map[ssa.Value]bool {
	out := map[ssa.Value]bool{e: true}
	for _, i := range *e.Referrers() {
		s, ok := i.(*ssa.Store)
		if !ok || s.Val != e {
			continue
		}
		if a, ok := s.Addr.(*ssa.Alloc); ok && s.Block() == l.Body && a.Block() == l.Body && len(ir.Stores(a)) == 1 {
			out[a] = true
		}
	}
	return out
}

// frees counts how often an instruction frees an element. It is false if it does anything else with it than
// read it.
func (f *Func) frees(i ssa.Instruction, elems map[ssa.Value]bool, free *freeing) (n int, ok bool) {
	if _, debug := i.(*ssa.DebugRef); debug || f.In.IR.Marks(i) {
		return 0, true
	}
	uses := false
	for _, op := range i.Operands(nil) {
		uses = uses || elems[*op]
	}
	if !uses {
		return 0, true
	}
	switch i := i.(type) {
	case *ssa.BinOp:
		return 0, true
	case *ssa.Store:
		return 0, elems[i.Addr] && elems[i.Val]
	case *ssa.UnOp, *ssa.FieldAddr, *ssa.Field:
		return 0, len(*i.(ssa.Value).Referrers()) == 0 || elems[i.(ssa.Value)]
	case *ssa.Call:
		if elems[i.Call.Value] && !i.Call.IsInvoke() {
			return 0, false
		}
		s := f.Summary(&i.Call)
		for k, a := range calls.Operands(&i.Call) {
			if !elems[a] {
				continue
			}
			p := s.Param(k)
			if p.Borrows() && !Gives(s, k) {
				continue
			}
			if p.Freed.Cond != effect.Always || p.Escapes.Cond != effect.Never || p.Retained || Gives(s, k) {
				return 0, false
			}
			free.again = free.again && p.Repeatable
			n++
		}
		return n, true
	}
	return 0, false
}

// nilBranch returns the branch at the end of a block on which an element is nothing; -1 if there is none.
func nilBranch(b *ssa.BasicBlock, elems map[ssa.Value]bool) int {
	i, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	if !ok {
		return -1
	}
	c, ok := i.Cond.(*ssa.BinOp)
	if !ok || !elems[c.X] && !elems[c.Y] {
		return -1
	}
	x, isConst := c.Y.(*ssa.Const)
	if !isConst {
		x, isConst = c.X.(*ssa.Const)
	}
	switch {
	case !isConst || !x.IsNil():
		return -1
	case c.Op == token.EQL:
		return 0
	case c.Op == token.NEQ:
		return 1
	}
	return -1
}
