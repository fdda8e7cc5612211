package find

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/place"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about values that are put together here and leave on some way only: constructors that fail
// half-way. What they own is nobody's then. That is so if what is in a field is surely owned where it is
// put there, on every way to where the value is given up, and if what frees the value looks at that field.
// What is freed by a name of its own as well is left out.

// begun finds that a value which is put together here is given up with something in it that it owns:
// where the first of its frees would stand.
func (r *finder) begun(s *pointsto.Site, frees []place.Free) {
	if !r.ended[s] || s.Moves == nil {
		return
	}
	for _, fr := range frees {
		if !slices.Contains(fr.Sites, s) {
			continue
		}
		at := where(fr.At)
		if at == nil {
			continue
		}
		if m, some := r.filled(s, at); some {
			of := memory.Pointee(s.Value.Type()).Underlying().(*types.Struct)
			r.add(Finding{Kind: Leak, On: Begun, State: own.Owned, Must: true, Site: s, Pos: fr.At.Pos(), Other: m.Pos,
				Field: of.Field(m.Field).Name()})
			return
		}
	}
}

// where returns the block in which a free stands.
func where(w place.Where) *ssa.BasicBlock {
	if w.Place == nil {
		return w.Return.Block()
	}
	return w.Place.Block
}

// filled returns what surely gives a field of a value something that the value owns then, wherever a block is
// reached: a store, or a call that makes it.
func (r *finder) filled(s *pointsto.Site, at *ssa.BasicBlock) (m effect.Made, some bool) {
	for _, v := range r.g.Values {
		if !slices.Equal(r.f.Holds(v), []pointsto.Hold{{Site: s, As: pointsto.Whole}}) || v.Referrers() == nil {
			continue
		}
		for _, i := range *v.Referrers() {
			switch i := i.(type) {
			case *ssa.FieldAddr:
				for _, j := range *i.Referrers() {
					put, ok := j.(*ssa.Store)
					if !ok || i.X != v || put.Addr != i || !put.Block().Dominates(at) || !frees(r.f, s, i.Field) {
						continue
					}
					if failed, known := r.f.Failed(put, at); failed || !known {
						continue // nothing was made
					}
					if of := r.f.HandsOver(put); of != nil && (!of.Begun || r.used(s, put, at)) {
						return effect.Made{Field: i.Field, Pos: put.Pos()}, true
					}
				}
			case *ssa.Call:
				if m, some := r.madeBy(s, i, v, at); some {
					return m, true
				}
			}
		}
	}
	return m, false
}

// madeBy returns a field that a call gives something, of what it is given as v, wherever a block is reached
// behind it: if that is so because the call failed, it must have made it then.
func (r *finder) madeBy(s *pointsto.Site, c *ssa.Call, v ssa.Value, at *ssa.BasicBlock) (m effect.Made, some bool) {
	_, builtin := c.Call.Value.(*ssa.Builtin)
	if builtin || r.f.Marks(c) || !c.Block().Dominates(at) {
		return m, false
	}
	failed, known := r.f.Failed(c, at)
	for k, a := range calls.Operands(&c.Call) {
		if a != v {
			continue
		}
		for _, m := range r.f.Summary(&c.Call).Param(k).Made {
			if known && (failed && m.Fails || !failed && m.Success) && frees(r.f, s, m.Field) {
				return m, true
			}
		}
	}
	return m, false
}

// used reports whether a call gets a value behind a store, and in front of a block: what was begun with
// nothing in it may have something by then.
func (r *finder) used(s *pointsto.Site, put *ssa.Store, at *ssa.BasicBlock) bool {
	for _, v := range r.g.Values {
		if v.Referrers() == nil || !slices.Equal(r.f.Holds(v), []pointsto.Hold{{Site: s, As: pointsto.Whole}}) {
			continue
		}
		for _, i := range *v.Referrers() {
			c, ok := i.(*ssa.Call)
			if ok && !r.f.Marks(i) && c.Block().Dominates(at) && ir.Before(put, c) {
				return true
			}
		}
	}
	return false
}

// frees reports whether what frees a value looks at a field of it, or another method that it calls does.
func frees(f *own.Func, s *pointsto.Site, field int) bool {
	free := f.In.Frees.Of(s.Value.Type())
	if free == nil || free.Func == nil || !free.Method {
		return false
	}
	looks := func(m *ssa.Function, follow func(*ssa.Function) bool) bool {
		if m == nil || len(m.Params) == 0 {
			return false
		}
		for _, i := range *m.Params[0].Referrers() {
			switch i := i.(type) {
			case *ssa.FieldAddr:
				if i.Field == field {
					return true
				}
			case ssa.CallInstruction:
				if fn := calls.Called(i.Common()); fn != nil && follow != nil && follow(f.SSA.Prog.FuncValue(fn)) {
					return true
				}
			}
		}
		return false
	}
	return looks(f.SSA.Prog.FuncValue(free.Func), func(m *ssa.Function) bool { return looks(m, nil) })
}
