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

// zeroReturns reports whether a function that is given nil, or zero, looks at that and returns.
func zeroReturns(fn *ssa.Function, p *ssa.Parameter) bool {
	acts := func(i ssa.Instruction) bool {
		switch i.(type) {
		case *ssa.DebugRef, *ssa.Field, *ssa.BinOp, *ssa.If, *ssa.Return, *ssa.RunDefers:
			return false
		}
		return true
	}
	b := fn.Blocks[0]
	i, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	if !ok {
		return false
	}
	x, isNil, ok := nilTest(i.Cond)
	if !ok {
		return false
	}
	if _, loads := fieldOf(x, p); loads != 0 {
		return false
	}
	to := b.Succs[0]
	if !isNil {
		to = b.Succs[1]
	}
	_, returns := to.Instrs[len(to.Instrs)-1].(*ssa.Return)
	return returns && !slices.ContainsFunc(slices.Concat(b.Instrs, to.Instrs), acts)
}

// silent finds out whether a body does nothing but free parameter p and write constants over its fields, and
// whether all that it frees may be freed again.
func (c *checker) silent(fn *ssa.Function, p *ssa.Parameter, out *Param) {
	repeatable := true
	if len(fn.AnonFuncs) > 0 {
		return
	}
	for i := range instrsOf(fn) {
		fine := !inLoop(i.Block()) // else it may not come back
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.Jump, *ssa.If, *ssa.Return, *ssa.Phi:
		case *ssa.BinOp:
			fine = fine && (isNilConst(i.X) || isNilConst(i.Y) || safe(i.Op, i.X.Type()))
		case *ssa.FieldAddr, *ssa.Field:
			_, loads := fieldOf(i.(ssa.Value), p)
			fine = fine && loads >= 0
		case *ssa.UnOp:
			_, loads := fieldOf(i, p)
			fine = fine && (i.Op == token.NOT || i.Op == token.MUL && loads >= 0)
		case *ssa.Store: // of a field of what p points to, not of what that leads to
			_, loads := fieldOf(i.Addr, p)
			_, zero := i.Val.(*ssa.Const)
			fine = fine && zero && loads == 0
		case *ssa.Call:
			callee := i.Call.StaticCallee()
			if fine = fine && callee != nil && len(i.Call.Args) == 1; fine {
				field, loads := fieldOf(i.Call.Args[0], p)
				q := c.effect(origin(callee)).param(0)
				fine = loads >= 0 && !field && q.Frees && q.Silent
				repeatable = repeatable && q.Repeatable
			}
		default:
			fine = false
		}
		if !fine {
			return
		}
	}
	out.Silent, out.Repeatable = true, repeatable
}

// fieldOf reports whether v is a field of p, or the address of one, and how many times a pointer was followed
// from p; -1: v is something else.
func fieldOf(v ssa.Value, p *ssa.Parameter) (field bool, loads int) {
	for {
		switch x := v.(type) {
		case *ssa.FieldAddr:
			field, v = true, x.X
		case *ssa.Field:
			field, v = true, x.X
		case *ssa.UnOp:
			loads, v = loads+1, x.X
		default:
			if v != ssa.Value(p) {
				return false, -1
			}
			return field, loads
		}
	}
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
		if p := f.param(k, n); k.sum != nil && p.Frees && !k.ruledOut(p) &&
			f.some(f.reach(f.of(a)), func(e elem) bool { return e.obj.kind == paramObj && e.obj.index == i }) {
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
