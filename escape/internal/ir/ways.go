package ir

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// This file is about what SSA tells by itself: ways between instructions, what
// assigns a variable, what conditions come to, what stands in a new array, and which functions are recursive.

// Before reports whether all paths to an instruction lead through another.
func Before(i, at ssa.Instruction) bool {
	if i.Block() != at.Block() {
		return i.Block().Dominates(at.Block())
	}
	return slices.Index(i.Block().Instrs, i) < slices.Index(at.Block().Instrs, at)
}

// ToItself returns the store by which a field of a variable is made to lead to the variable; nil if there is
// none.
func ToItself(v ssa.Value) *ssa.Store {
	for _, i := range *v.Referrers() {
		if s, ok := i.(*ssa.Store); ok && s.Val == v {
			if a, ok := s.Addr.(*ssa.FieldAddr); ok && a.X == v {
				return s
			}
		}
	}
	return nil
}

// reaches reports whether a way out of one block leads to another one, not through a third, which may be nil.
func reaches(from, to, without *ssa.BasicBlock) bool {
	seen := map[*ssa.BasicBlock]bool{without: true}
	for open := []*ssa.BasicBlock{from}; len(open) > 0; {
		b := open[len(open)-1]
		open = open[:len(open)-1]
		for _, s := range b.Succs {
			if s == to && s != without {
				return true
			}
			if !seen[s] {
				seen[s] = true
				open = append(open, s)
			}
		}
	}
	return false
}

// Circles reports whether a block may run again.
func Circles(b *ssa.BasicBlock) bool { return reaches(b, b, nil) }

// Again reports whether a block runs again without another one.
func Again(b, without *ssa.BasicBlock) bool { return reaches(b, b, without) }

// Leads reports whether a way leads from one instruction to another that passes none of some others.
func Leads(from, to ssa.Instruction, past ...ssa.Instruction) bool {
	stops := func(all []ssa.Instruction) (stop, there bool) {
		for _, i := range all {
			if i == to {
				return false, true
			}
			if slices.Contains(past, i) {
				return true, false
			}
		}
		return false, false
	}
	all := from.Block().Instrs
	stop, there := stops(all[slices.Index(all, from)+1:])
	if stop || there {
		return there
	}
	seen := map[*ssa.BasicBlock]bool{}
	for open := slices.Clone(from.Block().Succs); len(open) > 0; {
		b := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[b] {
			continue
		}
		seen[b] = true
		stop, there := stops(b.Instrs)
		if there {
			return true
		}
		if !stop {
			open = append(open, b.Succs...)
		}
	}
	return false
}

// Callee returns what a call or a deferred call calls; nil if an instruction is none.
func Callee(i ssa.Instruction) ssa.Value {
	switch i := i.(type) {
	case *ssa.Call:
		return i.Call.Value
	case *ssa.Defer:
		return i.Call.Value
	}
	return nil
}

// Stores lists what assigns a variable, or a part of it, in its function or in literals that capture it.
func Stores(addr ssa.Value) []*ssa.Store {
	var out []*ssa.Store
	for _, i := range *addr.Referrers() {
		switch i := i.(type) {
		case *ssa.Store:
			if i.Addr == addr {
				out = append(out, i)
			}
		case *ssa.FieldAddr:
			out = append(out, Stores(i)...)
		case *ssa.IndexAddr:
			out = append(out, Stores(i)...)
		case *ssa.MakeClosure:
			fn := i.Fn.(*ssa.Function)
			for k, b := range i.Bindings {
				if b == addr && fn.Parent() != nil {
					out = append(out, Stores(fn.FreeVars[k])...)
				}
			}
		}
	}
	return out
}

// NonNil returns whether a value is not nil in a block, where a branch that leads there from behind another
// block tells that; until may be nil.
func NonNil(b, until *ssa.BasicBlock, is func(ssa.Value) bool) (on, known bool) {
	for ; b != until && b.Idom() != nil; b = b.Idom() {
		if len(b.Preds) != 1 {
			continue
		}
		from := b.Preds[0]
		i, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		if x, way := NilTest(i); way >= 0 && is(x) {
			return from.Succs[way] == b, true
		}
	}
	return false, false
}

// Returns lists the returns of a function, and of its recover block, in the order of the blocks.
func Returns(fn *ssa.Function) (out []*ssa.Return) {
	for _, b := range fn.Blocks {
		if r, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok {
			out = append(out, r)
		}
	}
	return out
}

// NilTest returns what a branch compares with nil, and the number of the way that is taken if it is not; -1
// for any other branch.
func NilTest(i *ssa.If) (x ssa.Value, way int) {
	c, ok := i.Cond.(*ssa.BinOp)
	if !ok || c.Op != token.NEQ && c.Op != token.EQL {
		return nil, -1
	}
	x, y := c.X, c.Y
	if k, ok := x.(*ssa.Const); ok && k.IsNil() {
		x, y = y, x
	}
	if k, ok := y.(*ssa.Const); !ok || !k.IsNil() {
		return nil, -1
	}
	if c.Op == token.EQL {
		return x, 1
	}
	return x, 0
}

// NilLoad is NilTest of a branch that compares what is read of memory; nil for any other.
func NilLoad(i *ssa.If) (load *ssa.UnOp, way int) {
	x, way := NilTest(i)
	if load, ok := x.(*ssa.UnOp); ok && load.Op == token.MUL {
		return load, way
	}
	return nil, -1
}

// Always returns what a condition always is, if that is known: an interface is of the type that it was made
// of.
func Always(c ssa.Value) (fixed, on bool) {
	e, ok := c.(*ssa.Extract)
	if !ok || e.Index != 1 {
		return false, false
	}
	a, ok := e.Tuple.(*ssa.TypeAssert)
	if !ok {
		return false, false
	}
	m, ok := a.X.(*ssa.MakeInterface)
	if !ok || types.IsInterface(a.AssertedType) {
		return false, false
	}
	return true, types.Identical(a.AssertedType, m.X.Type())
}

// Recursive reports whether a function may lead back to itself, by the names that it calls; nothing is known
// of none.
func Recursive(f *ssa.Function) bool {
	seen := map[*ssa.Function]bool{}
	for open := []*ssa.Function{f}; len(open) > 0; open = open[1:] {
		if open[0] == nil {
			return true
		}
		for _, b := range open[0].Blocks {
			for _, i := range b.Instrs {
				c, ok := i.(ssa.CallInstruction)
				if !ok {
					continue
				}
				callee := c.Common().StaticCallee()
				if callee == f {
					return true
				}
				if callee != nil && !seen[callee] {
					seen[callee] = true
					open = append(open, callee)
				}
			}
		}
	}
	return false
}

// InArray lists what is stored in a new array, each element once, before it is sliced, in the same block. It
// is false if anything else is done with the array.
func InArray(a *ssa.Alloc, s *ssa.Slice) (vals []ssa.Value, stores []ssa.Instruction, ok bool) {
	indexes := map[string]bool{}
	for _, i := range *a.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.Slice:
			if i != s {
				return nil, nil, false
			}
		case *ssa.IndexAddr:
			refs := slices.DeleteFunc(slices.Clone(*i.Referrers()), func(r ssa.Instruction) bool {
				_, debug := r.(*ssa.DebugRef)
				return debug
			})
			if len(refs) != 1 || indexes[i.Index.Name()] {
				return nil, nil, false
			}
			indexes[i.Index.Name()] = true
			st, store := refs[0].(*ssa.Store)
			if _, constant := i.Index.(*ssa.Const); !constant || !store || st.Addr != i || st.Block() != s.Block() ||
				!Before(st, s) {
				return nil, nil, false
			}
			vals, stores = append(vals, st.Val), append(stores, st)
		default:
			return nil, nil, false
		}
	}
	return vals, stores, true
}
