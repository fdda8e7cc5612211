package memory

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about deferred literals that undo what their function made where it fails: if the error that
// is returned is not nil they free what is in a variable, in fields of it or of what it leads to, or each
// element, make that nothing if it is a result, and do no more. What was put into the error last says at each
// exit whether one does.

// An undo is what such a literal does.
type undo struct {
	by    *ssa.Defer
	err   ssa.Value         // the variable that it tests
	frees []ssa.Value       // the slots that it frees
	in    []*ssa.BasicBlock // where it frees each
	loops []*freeing        // that free each element of one
	again bool              // each may be freed again
	stays bool              // they are no results, and keep what they had
	then  *ssa.BasicBlock   // where the error is not nil
}

// Undoes reports whether a deferred call is an undo of a variable or a part of it, whether it frees what is
// in v, and may do that again.
func (f *Func) Undoes(i ssa.Instruction, v ssa.Value) (yes, frees, again bool) {
	u := f.undoOf(i)
	if u == nil || !slices.ContainsFunc(u.frees, func(s ssa.Value) bool { return RootOf(s) == RootOf(v) }) {
		return false, false, false
	}
	return true, slices.Contains(u.frees, v), u.again
}

// AtEnd returns when a deferred call does what it does in a block that leaves the function, or where a panic
// does if that is nil. What an undo may leave is not this function's then either: it is returned.
func (f *Func) AtEnd(i ssa.Instruction, b *ssa.BasicBlock) effect.Cond {
	u := f.undoOf(i)
	switch {
	case b == nil || !i.Block().Dominates(b): // a panic may come before
		return effect.Maybe
	case u == nil:
		return effect.Always
	}
	r, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
	if !ok || !effect.HasError(f.SSA.Signature) {
		return effect.Maybe
	}
	switch load, ok := r.Results[len(r.Results)-1].(*ssa.UnOp); {
	case !ok || load.X != u.err:
		return effect.Maybe
	case f.Fails(r):
		return effect.Always
	}
	if c, ok := f.Last(r).(*ssa.Const); u.stays && !(ok && c.IsNil()) {
		return effect.Maybe
	}
	return effect.Never
}

// Undone reports whether what a return gives of v is nothing if it gives an error, as an undo frees it then.
func (f *Func) Undone(r *ssa.Return, v ssa.Value) bool {
	if root, ok := RootOf(v).(*ssa.UnOp); ok && InMemory(root.X) {
		path := []int(nil)
		if p, ok := v.(*Field); ok {
			path = p.Path
		}
		v = f.Field(root.X, path)
	}
	for _, u := range f.undos {
		if u != nil && slices.Contains(u.frees, v) && u.by.Block().Dominates(r.Block()) &&
			f.AtEnd(u.by, r.Block()) == effect.Never {
			return true
		}
	}
	return false
}

// findUndone finds the loads of what an undo has freed where the function fails: there is nothing. Else one
// of a pointer is what that leads to.
func (f *Func) findUndone() {
	for _, b := range f.SSA.Blocks {
		for _, d := range b.Instrs {
			u := f.undoOf(d)
			for k := 0; u != nil && k < len(u.frees); k++ {
				for _, load := range f.results(RootOf(u.frees[k])) {
					switch to := f.pointer(load.X); {
					case f.AtEnd(d, load.Block()) == effect.Always, to != nil && load.Block() == f.SSA.Recover:
						f.returned[load] = ssa.NewConst(nil, load.Type())
					case to != nil:
						instrs := load.Block().Instrs
						f.returned[load], f.partOf[load] = to, instrs[len(instrs)-1]
					}
				}
			}
		}
	}
}

// results lists the loads by which returns read a variable, or a pointer to it.
func (f *Func) results(v ssa.Value) (out []*ssa.UnOp) {
	for _, r := range ir.Returns(f.SSA) {
		for _, w := range r.Results {
			if load, ok := w.(*ssa.UnOp); ok && load.Op == token.MUL && (load.X == v || f.pointer(load.X) == v) {
				out = append(out, load)
			}
		}
	}
	return out
}

// undoOf returns what a deferred call undoes; nil if it is another one.
func (f *Func) undoOf(i ssa.Instruction) *undo {
	d, ok := i.(*ssa.Defer)
	if !ok {
		return nil
	}
	u, ok := f.undos[d]
	if !ok {
		f.undos[d] = nil // what it asks of itself, while it is asked
		u = f.findUndo(d)
		f.undos[d] = u
	}
	return u
}

// undone reports whether a literal is deferred as an undo.
func (f *Func) undone(m *ssa.MakeClosure) bool {
	return len(*m.Referrers()) == 1 && f.undoOf((*m.Referrers())[0]) != nil
}

func (f *Func) findUndo(d *ssa.Defer) *undo {
	m, ok := d.Call.Value.(*ssa.MakeClosure)
	if !ok || len(d.Call.Args) > 0 || len(*m.Referrers()) != 1 || ir.Circles(d.Block()) {
		return nil
	}
	fn := m.Fn.(*ssa.Function)
	entry := fn.Blocks[0]
	test, ok := entry.Instrs[len(entry.Instrs)-1].(*ssa.If)
	if !ok || fn.Parent() != f.SSA {
		return nil
	}
	var outer func(addr ssa.Value) ssa.Value // the slot or variable of f at an address in the literal
	outer = func(addr ssa.Value) ssa.Value {
		root, path, sure := f.Resolve(addr)
		switch v := root.(type) {
		case *ssa.FreeVar:
			if sure {
				return f.Field(m.Bindings[slices.Index(fn.FreeVars, v)], path)
			}
		case *ssa.FieldAddr: // of what a pointer leads to
			if load, ok := v.X.(*ssa.UnOp); ok {
				if to := f.pointer(outer(load.X)); to != nil {
					return f.Field(to, []int{v.Field})
				}
			}
		}
		return nil
	}
	load, way := ir.NilLoad(test)
	if load == nil || !effect.IsError(load.Type()) {
		return nil
	}
	u := &undo{by: d, err: outer(load.X), again: true, then: entry.Succs[way]}
	if u.err == nil || !f.lifted.Steady(u.err) {
		return nil
	}
	var zeroed []ssa.Value
	for _, b := range fn.Blocks {
		for _, i := range b.Instrs {
			switch i := i.(type) {
			case *ssa.DebugRef, *ssa.Jump, *ssa.Return, *ssa.FieldAddr, *ssa.IndexAddr, *ssa.UnOp, *ssa.BinOp, *ssa.Phi:
			case *ssa.If:
				if load, _ := ir.NilLoad(i); load == nil && !u.turns(b) {
					return nil
				}
			case *ssa.Store:
				c, ok := i.Val.(*ssa.Const)
				if !ok || c.Value != nil || !u.always(b, nil) {
					return nil
				}
				v := outer(i.Addr)
				zeroed = append(zeroed, v, f.pointer(v))
			case *ssa.Call:
				if !f.Marks(i) && (len(zeroed) > 0 || !u.free(f, i, outer)) {
					return nil
				}
			default:
				return nil
			}
		}
	}
	u.stays = len(zeroed) == 0
	for k, v := range u.frees {
		given := func(addr ssa.Value) bool { return outer(addr) == v }
		result := len(f.results(RootOf(v))) > 0
		if !u.always(u.in[k], given) || result == u.stays || result && !slices.Contains(zeroed, RootOf(v)) {
			return nil
		}
	}
	return u
}

// free notes what a call in the literal frees; it is false if the call does anything else.
func (u *undo) free(f *Func, i *ssa.Call, outer func(ssa.Value) ssa.Value) bool {
	ops := calls.Operands(&i.Call)
	if len(ops) != 1 {
		return false
	}
	at, p := ops[0], effect.Param{}
	elem := func(l *freeing) bool { return slices.Contains(l.Elems, at) }
	if _, builtin := i.Call.Value.(*ssa.Builtin); !builtin {
		p = f.Summary(&i.Call).Param(0)
	} else if f.findFreeing(i, at.Type()); f.loops[i] != nil {
		u.loops = append(u.loops, f.loops[i])
		p.Freed.Cond, p.Repeatable = effect.Always, f.loops[i].again
	}
	if slices.ContainsFunc(u.loops, elem) {
		return true
	}
	if load, ok := at.(*ssa.UnOp); ok && load.Op == token.MUL && load.Block() == i.Block() {
		at = load.X
	}
	frees := func(s ssa.Value, p effect.Param) bool {
		u.frees, u.in, u.again = append(u.frees, s), append(u.in, i.Block()), u.again && p.Repeatable
		return !slices.Contains(u.frees[:len(u.frees)-1], s) && p.Freed.Cond == effect.Always && p.Escapes.Cond == effect.Never
	}
	v := outer(at)
	if to := f.pointer(v); to != nil {
		v = to
	}
	if v == nil || len(p.Parts) == 0 {
		return v != nil && frees(v, p)
	}
	return f.Fields(v) != nil && !slices.ContainsFunc(f.Fields(v), func(q *Field) bool { return !frees(q, p.At(q.Text())) })
}

// always reports whether a block runs whenever the error is not nil, and what is at an address is not nil.
func (u *undo) always(b *ssa.BasicBlock, at func(addr ssa.Value) bool) bool {
	for b != u.then {
		p := b.Idom()
		if p == nil {
			return false
		}
		if i, ok := p.Instrs[len(p.Instrs)-1].(*ssa.If); ok {
			load, way := ir.NilLoad(i)
			own := load != nil && at != nil && at(load.X) && p.Succs[way] == b
			past := !slices.ContainsFunc(p.Succs, func(q *ssa.BasicBlock) bool {
				return q != b && !slices.Equal(q.Succs, []*ssa.BasicBlock{b})
			})
			if !own && !past && !u.turns(p) {
				return false
			}
		} else if len(b.Preds) != 1 && !u.turns(b) {
			return false
		}
		b = p
	}
	return true
}

// turns reports whether a block is the head of a loop that frees each element.
func (u *undo) turns(b *ssa.BasicBlock) bool {
	return slices.ContainsFunc(u.loops, func(l *freeing) bool { return l.Head == b })
}
