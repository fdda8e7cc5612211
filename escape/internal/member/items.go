package member

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about maps in fields: what is put into one there, and by functions that are given it.

// A taker of items is a parameter, which is a map that its function puts something into.
type itemTaker struct {
	fn *types.Func
	k  int
}

// items counts what functions of the package put into maps that are in fields.
func items(put map[*types.Var]*stores, pkg []*own.Func, frees *effect.Frees) {
	into := map[itemTaker]*stores{}
	for _, f := range pkg {
		Each(f.SSA, func(i ssa.Instruction) {
			u, ok := i.(*ssa.MapUpdate)
			if !ok || !frees.Resource(u.Map.Type()) {
				return
			}
			var to *stores
			if field := loaded(u.Map); field != nil {
				to = at(put, field, u)
			} else if k := parameter(f.SSA, u.Map); k >= 0 {
				t := itemTaker{calls.Declared(f.SSA), k}
				if into[t] == nil {
					into[t] = &stores{first: u.Pos()}
				}
				to = into[t]
			}
			switch {
			case to == nil:
			case given(f, u.Value):
				to.owned++
			default:
				to.other++
			}
		})
	}
	for _, f := range pkg {
		Each(f.SSA, func(i ssa.Instruction) {
			c, ok := i.(*ssa.Call)
			if !ok {
				return
			}
			fn := calls.Called(&c.Call)
			for k, a := range calls.Operands(&c.Call) {
				from, field := into[itemTaker{fn, k}], loaded(a)
				if fn == nil || from == nil || field == nil {
					continue
				}
				to := at(put, field, c)
				to.owned, to.other = to.owned+from.owned, to.other+from.other
				to.first = from.first
			}
		})
	}
}

// Each calls do for the instructions of a function.
func Each(f *ssa.Function, do func(ssa.Instruction)) {
	for _, b := range f.Blocks {
		for _, i := range b.Instrs {
			do(i)
		}
	}
}

// loaded returns the field in which a value was; nil if it was in none.
func loaded(v ssa.Value) *types.Var {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return nil
	}
	return fieldOf(load.X)
}

// parameter returns the number of the parameter that a value is; -1 if it is none.
func parameter(f *ssa.Function, v ssa.Value) int {
	for k, p := range f.Params {
		if p == v && calls.Declared(f) != nil {
			return k
		}
	}
	return -1
}

// given reports whether what is put somewhere is that one's: the function made it, or takes a reference.
func given(f *own.Func, v ssa.Value) bool {
	if h := f.Holds(v); len(h) == 1 && h[0].As == pointsto.Whole && h[0].Site.Param < 0 {
		return true
	}
	yes := false
	Each(f.SSA, func(i ssa.Instruction) {
		c, ok := i.(*ssa.Call)
		if !ok || f.Marks(i) {
			return
		}
		if _, builtin := c.Call.Value.(*ssa.Builtin); builtin {
			return
		}
		all := calls.Operands(&c.Call)
		yes = yes || len(all) == 1 && same(all[0], v) && f.Summary(&c.Call).Param(0).Retained
	})
	return yes
}

// same reports whether two values are read alike: in one place, if nothing is stored there between.
func same(a, b ssa.Value) bool {
	if a == b {
		return true
	}
	switch x := a.(type) {
	case *ssa.UnOp:
		y, ok := b.(*ssa.UnOp)
		return ok && x.Op == y.Op && same(x.X, y.X)
	case *ssa.FieldAddr:
		y, ok := b.(*ssa.FieldAddr)
		return ok && x.Field == y.Field && same(x.X, y.X)
	case *ssa.IndexAddr:
		y, ok := b.(*ssa.IndexAddr)
		return ok && same(x.X, y.X) && same(x.Index, y.Index)
	}
	return false
}
