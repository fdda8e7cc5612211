package find

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/fill"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/member"
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
		if g, some := r.filled(s, at); some {
			r.add(Finding{Kind: Leak, On: Begun, State: own.Owned, Must: true, Site: s, Pos: fr.At.Pos(), Other: g.Pos,
				Field: Given{member.FieldAt(s.Value, g.Field).Name(), g.Inside}})
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

// filled returns what gives a field of a value something that the value owns then, surely or in an earlier
// turn of a loop, wherever a block is reached.
func (r *finder) filled(s *pointsto.Site, at *ssa.BasicBlock) (fill.Gift, bool) {
	var all []ssa.Value
	for _, v := range r.g.Values {
		if v.Referrers() != nil && slices.Equal(r.f.Holds(v), []pointsto.Hold{{Site: s, As: pointsto.Whole}}) {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return fill.Gift{}, false
	}
	gifts := fill.Gifts(r.f, all...)
	k := slices.IndexFunc(gifts, func(g fill.Gift) bool {
		return r.has(s, g, at) && owns(r.f, s, g)
	})
	if k < 0 {
		return fill.Gift{}, false
	}
	return gifts[k], true
}

// has reports whether a field of a value has a gift where a block is reached: what is called may have given
// it although it failed, and so may an earlier turn of a loop.
func (r *finder) has(s *pointsto.Site, g fill.Gift, at *ssa.BasicBlock) bool {
	if g.Success && g.Again(r.f) && g.Reaches(at.Instrs[0]) {
		return true
	}
	failed, known := r.f.Failed(g.At, at)
	if !known || !g.Stays(at.Instrs[len(at.Instrs)-1]) {
		return false
	}
	if g.Site != nil && g.Site.Begun && !r.used(s, g.At, at) {
		return false // there is nothing in it
	}
	return failed && g.Fails || !failed && g.Success
}

// used reports whether a call gets a value behind a store, and in front of a block: what was begun with
// nothing in it may have something by then.
func (r *finder) used(s *pointsto.Site, put ssa.Instruction, at *ssa.BasicBlock) bool {
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

// owns reports whether a field owns what it is given: what frees the value looks there, or nobody else ends
// it.
func owns(f *own.Func, s *pointsto.Site, g fill.Gift) bool {
	return frees(f, s, g.Field) || g.Through && !ends(f, s, g.Field)
}

// ends reports whether some method of a value's type calls a method without operands of what is in a field,
// which may end that. What frees the value forgets the field else.
func ends(f *own.Func, s *pointsto.Site, field int) (yes bool) {
	n := member.Named(s.Value.Type())
	if n == nil {
		return true
	}
	for m := range n.Methods() {
		fn := f.SSA.Prog.FuncValue(m)
		if fn == nil || len(fn.Params) == 0 {
			return true
		}
		for _, i := range *fn.Params[0].Referrers() {
			if a, ok := i.(*ssa.FieldAddr); ok && a.Field == field {
				yes = yes || member.EndsAt(f, a)
			}
		}
	}
	return yes
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
