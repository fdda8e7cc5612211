package plan

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/member"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about values that are made of what the function ends by a name of its own: a handle that wraps
// a descriptor which a deferred call closes where the function fails. What frees the handle would free that
// once more, and who does not call it has lost nothing.

// shared returns the call by which the function ends what a site is made of, or may when it returns, if what
// frees the site looks at that; nil if there is none.
func shared(f *own.Func, s *pointsto.Site) ssa.CallInstruction {
	c := memory.CallOf(s.Value)
	if c == nil || f.Marks(c) {
		return nil
	}
	does := f.Summary(&c.Call)
	for k, v := range calls.Operands(&c.Call) {
		if f.In.Owns(v.Type()) && does.Param(k).Escapes.Cond != effect.Never && wraps(f, s.Value.Type(), v.Type()) {
			if i := endsApart(f, v, c); i != nil {
				return i
			}
		}
	}
	return nil
}

// wraps reports whether what frees a struct looks at a field of it in which a value of some type is.
func wraps(f *own.Func, t, of types.Type) bool {
	u, ok := memory.Pointee(t).Underlying().(*types.Struct)
	free := f.In.Frees.Of(t)
	if !ok || free == nil || free.Func == nil {
		return false
	}
	for k := range u.NumFields() {
		if types.Identical(u.Field(k).Type(), of) && member.LooksAt(f, free.Func, k) {
			return true
		}
	}
	return false
}

// endsApart returns a call besides another one that frees a value, or is deferred and may do that, if it does
// not run only where that one fails; nil if there is none.
func endsApart(f *own.Func, v ssa.Value, besides *ssa.Call) ssa.CallInstruction {
	if v.Referrers() == nil {
		return nil
	}
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.MakeInterface:
			if c := endsApart(f, i, besides); c != nil {
				return c
			}
		case ssa.CallInstruction:
			_, builtin := i.Common().Value.(*ssa.Builtin)
			if failed, known := f.Failed(besides, i.Block()); failed && known || builtin || f.Marks(i) || i == ssa.CallInstruction(besides) {
				continue
			}
			_, late := i.(*ssa.Defer)
			for k, a := range calls.Operands(i.Common()) {
				p := f.Summary(i.Common()).Param(k)
				if a == v && (p.Freed.Cond != effect.Never || late && !p.Borrows()) {
					return i
				}
			}
		}
	}
	return nil
}
