package find

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/member"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about deferred literals that recover from a panic and free what is in a slice. They guard what
// comes behind them. If the slice is filled in front of them, one by one, by calls that make its elements,
// what is there already is lost where one of these panics.

// unguarded lists the calls in loops that fill a slice before it is guarded.
func unguarded(f *own.Func) (out []Finding) {
	member.Each(f.SSA, func(i ssa.Instruction) {
		d, ok := i.(*ssa.Defer)
		if !ok || f.Marks(i) {
			return
		}
		m, ok := d.Call.Value.(*ssa.MakeClosure)
		if !ok || !recovers(m.Fn.(*ssa.Function)) {
			return
		}
		for n, b := range m.Bindings {
			a, ok := b.(*ssa.Alloc)
			if !ok {
				continue
			}
			slice, ok := memory.Pointee(a.Type()).Underlying().(*types.Slice)
			if !ok || !freesSome(f, m.Fn.(*ssa.Function), m.Fn.(*ssa.Function).FreeVars[n], slice.Elem()) {
				continue
			}
			if c := filledBefore(f, a, d); c != nil {
				s := &pointsto.Site{Value: a, Param: -1, Begun: true}
				out = append(out, Finding{Kind: Leak, On: Unguarded, State: own.Owned, Site: s, Pos: c.Pos(), Other: d.Pos()})
			}
		}
	})
	return out
}

// recovers reports whether a literal recovers from a panic.
func recovers(fn *ssa.Function) (yes bool) {
	member.Each(fn, func(i ssa.Instruction) {
		c, ok := i.(*ssa.Call)
		if ok {
			b, builtin := c.Call.Value.(*ssa.Builtin)
			yes = yes || builtin && b.Name() == "recover"
		}
	})
	return yes
}

// freesSome reports whether a literal takes elements out of a slice that it captures, and frees such.
func freesSome(f *own.Func, fn *ssa.Function, captured ssa.Value, elem types.Type) (yes bool) {
	takes := slices.ContainsFunc(*captured.Referrers(), func(i ssa.Instruction) bool {
		load, ok := i.(*ssa.UnOp)
		return ok && slices.ContainsFunc(*load.Referrers(), func(i ssa.Instruction) bool { _, at := i.(*ssa.IndexAddr); return at })
	})
	member.Each(fn, func(i ssa.Instruction) {
		c, ok := i.(*ssa.Call)
		if !ok || !takes {
			return
		}
		for _, v := range freedBy(f, c) {
			yes = yes || types.Identical(memory.Pointee(v.Type()), memory.Pointee(elem))
		}
	})
	return yes
}

// filledBefore returns the call that makes an element of a slice in a loop that ends before a call is
// deferred.
func filledBefore(f *own.Func, a *ssa.Alloc, d *ssa.Defer) *ssa.Call {
	for _, i := range *a.Referrers() {
		load, ok := i.(*ssa.UnOp)
		if !ok || f.Marks(load) || !ir.Leads(load, d) || ir.Leads(d, load) || !ir.Circles(load.Block()) {
			continue
		}
		for _, u := range *load.Referrers() {
			at, ok := u.(*ssa.IndexAddr)
			if !ok {
				continue
			}
			for _, s := range ir.Stores(at) {
				v := s.Val
				if x, ok := v.(*ssa.UnOp); ok { // what it points to is copied
					v = x.X
				}
				if c := memory.CallOf(v); c != nil && ir.Circles(c.Block()) {
					return c
				}
			}
		}
	}
	return nil
}
