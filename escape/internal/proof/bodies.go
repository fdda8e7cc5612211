package proof

// What a body says of an operand or a condition where it stands, without a graph.

import (
	"go/token"
	"go/types"
	"iter"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// nonNil reports whether an error is one for sure in block b. A nil pointer in an interface makes no nil, but
// readers take it for one, so no branch is ruled out for that. A type parameter may be an interface.
func nonNil(v ssa.Value, b *ssa.BasicBlock) bool {
	switch x := v.(type) {
	case *ssa.Alloc:
		return true
	case *ssa.MakeInterface:
		_, pointer := x.X.Type().Underlying().(*types.Pointer)
		return !pointer && !anyType(x.X.Type()) || nonNil(x.X, b)
	case *ssa.Call:
		if f := x.Call.StaticCallee(); f != nil && f.Object() != nil {
			if name := f.Object().(*types.Func).FullName(); name == "errors.New" || name == "fmt.Errorf" {
				return true
			}
		}
	}
	return tested(v, b, token.NEQ)
}

// guards returns the conditions that were true, or false, wherever b runs: behind one edge of each alone.
func guards(b *ssa.BasicBlock) iter.Seq2[ssa.Value, bool] {
	return func(yield func(ssa.Value, bool) bool) {
		for ; b != nil && b.Idom() != nil; b = b.Idom() {
			if len(b.Preds) != 1 {
				continue
			}
			p := b.Preds[0]
			i, ok := p.Instrs[len(p.Instrs)-1].(*ssa.If)
			if ok && p.Succs[0] != p.Succs[1] && !yield(i.Cond, p.Succs[0] == b) {
				return
			}
		}
	}
}

// nilTest returns what a condition compares with nil, and whether it is true where that is nil.
func nilTest(cond ssa.Value) (x ssa.Value, isNil, ok bool) {
	cmp, ok := cond.(*ssa.BinOp)
	if !ok || !isNilConst(cmp.Y) || cmp.Op != token.EQL && cmp.Op != token.NEQ {
		return nil, false, false
	}
	return cmp.X, cmp.Op == token.EQL, true
}

// tested reports whether b runs only where v was found to be nil, or not to be nil, as op says.
func tested(v ssa.Value, b *ssa.BasicBlock, op token.Token) bool {
	for cond, is := range guards(b) {
		if x, isNil, ok := nilTest(cond); ok && x == v && (isNil == is) == (op == token.EQL) {
			return true
		}
	}
	return false
}

func isNilConst(v ssa.Value) bool { c, ok := v.(*ssa.Const); return ok && c.Value == nil }

// zeroReturns reports whether a function that is given nil, or zero, does nothing but look at that, hand it
// to functions that do no more, and return.
func (c *checker) zeroReturns(fn *ssa.Function, p *ssa.Parameter) bool {
	b := fn.Blocks[0]
	for range fn.Blocks {
		to := 0
		for _, i := range b.Instrs {
			switch i := i.(type) {
			case *ssa.DebugRef, *ssa.Field, *ssa.BinOp, *ssa.RunDefers, *ssa.Jump:
			case *ssa.Call:
				callee := i.Call.StaticCallee()
				if callee == nil || len(i.Call.Args) != 1 || i.Call.Args[0] != ssa.Value(p) ||
					!c.effect(origin(callee)).param(0).NilOK {
					return false
				}
			case *ssa.If:
				x, isNil, ok := nilTest(i.Cond)
				if !ok {
					return false
				}
				if _, loads := fieldOf(x, p); loads != 0 {
					return false
				}
				if !isNil {
					to = 1
				}
			case *ssa.Return:
				return true
			default:
				return false
			}
		}
		b = b.Succs[to]
	}
	return false
}

// fieldOf returns the path of the field of p that v is, or is the address of, and how many times a pointer
// was followed from p; -1: v is something else. An element of a slice in a field is a part of the field.
func fieldOf(v ssa.Value, p *ssa.Parameter) (path string, loads int) {
	for {
		switch x := v.(type) {
		case *ssa.FieldAddr:
			path, v = step(x.Field)+path, x.X
		case *ssa.Field:
			path, v = step(x.Field)+path, x.X
		case *ssa.IndexAddr:
			path, v = index+path, x.X
			if load, ok := x.X.(*ssa.UnOp); ok && !toArray(x.X) {
				path, v = behind+path, load.X
			}
		case *ssa.UnOp:
			loads, v = loads+1, x.X
		case *ssa.Alloc: // what was loaded into a variable is still part of what it was loaded from
			if v = spilled(x); v == nil {
				return "", -1
			}
			if load, ok := v.(*ssa.UnOp); ok {
				v = load.X
			}
		default:
			if v != ssa.Value(p) {
				return "", -1
			}
			return path, loads
		}
	}
}

// again reports whether block b may free v again: it is in a loop, and v is not an element of which the loop
// counts up the index, once.
func again(v ssa.Value, b *ssa.BasicBlock) bool {
	var head *ssa.BasicBlock
	for n := 0; n < maxPath; n++ {
		switch x := v.(type) {
		case *ssa.FieldAddr:
			v = x.X
		case *ssa.Field:
			v = x.X
		case *ssa.UnOp:
			v = x.X
		case *ssa.Alloc:
			v = spilled(x)
		case *ssa.IndexAddr:
			head, n = counted(x), maxPath
		}
	}
	return repeats(b, map[*ssa.BasicBlock]bool{head: true})
}

// repeats reports whether b can be reached from itself without going through heads of loops.
func repeats(b *ssa.BasicBlock, heads map[*ssa.BasicBlock]bool) bool {
	next := func(x *ssa.BasicBlock) []*ssa.BasicBlock {
		if heads[x] {
			return nil
		}
		return x.Succs
	}
	return reachable(next, b.Succs...)[b]
}

// counted returns the head of the loop that ranges over the slice, or the array, of which x is an element;
// nil: none does, or it may begin again.
func counted(x *ssa.IndexAddr) *ssa.BasicBlock {
	next, ok := x.Index.(*ssa.BinOp)
	if !ok || next.Op != token.ADD {
		return nil
	}
	phi, ok := next.X.(*ssa.Phi)
	one, plain := next.Y.(*ssa.Const)
	if !ok || !plain || one.Value == nil || one.Value.String() != "1" {
		return nil
	}
	for n, e := range phi.Edges {
		first, ok := e.(*ssa.Const)
		if e != ssa.Value(next) && (!ok || first.Value.String() != "-1" || inLoop(phi.Block().Preds[n])) {
			return nil
		}
	}
	head := phi.Block()
	i, ok := head.Instrs[len(head.Instrs)-1].(*ssa.If)
	if !ok || len(head.Succs[0].Preds) != 1 || !head.Succs[0].Dominates(x.Block()) {
		return nil
	}
	less, ok := i.Cond.(*ssa.BinOp)
	if !ok || less.Op != token.LSS || less.X != ssa.Value(next) {
		return nil
	}
	if n, ok := less.Y.(*ssa.Call); ok && n.Call.Value.Name() == "len" && n.Call.Args[0] == x.X {
		return head
	}
	n, ok := less.Y.(*ssa.Const)
	if !ok || !toArray(x.X) || n.Int64() != partType(x.X.Type(), "").Underlying().(*types.Array).Len() {
		return nil
	}
	return head
}

// onlyIf finds the operand on which it depends whether operand i is freed.
func (f *family) onlyIf(i int) int {
	found := 0
	for in := range f.instrs() {
		c := callOf(in)
		if c == nil || !f.freesParam(c, i) {
			continue
		}
		cond := 0
		if _, call := in.(*ssa.Call); call && in.Parent() == f.root {
			cond = conditionOf(f.root, in.Block())
		}
		if cond == 0 || found != 0 && cond != found {
			return 0
		}
		found = cond
	}
	return found
}

// freesParam reports whether a call may free operand i.
func (f *family) freesParam(c ssa.CallInstruction, i int) bool {
	k := f.resolve(c)
	for n, a := range k.args {
		if p := f.param(k, n); k.sum != nil && !k.ruledOut(p) &&
			f.some(f.frees(p, f.of(a)), func(e elem) bool { return e.obj.kind == paramObj && e.obj.index == i }) {
			return true
		}
	}
	return false
}

// conditionOf returns the operand of fn that is true, or false, wherever b runs.
func conditionOf(fn *ssa.Function, b *ssa.BasicBlock) int {
	for cond, is := range guards(b) {
		q, ok := cond.(*ssa.Parameter)
		if n := slices.Index(fn.Params, q) + 1; ok && n > 0 {
			return map[bool]int{true: n, false: -n}[is]
		}
	}
	return 0
}
