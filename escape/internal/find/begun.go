package find

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/ir"
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
		if put := r.filled(s, at); put != nil {
			r.add(Finding{Kind: Leak, On: Begun, State: own.Owned, Must: true, Site: s, Pos: fr.At.Pos(), Other: put.Pos(),
				Field: fieldOf(put.Addr).Name()})
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

// filled returns a store that surely gives a field of a value something that the value owns then, wherever a
// block is reached; nil if there is none.
func (r *finder) filled(s *pointsto.Site, at *ssa.BasicBlock) *ssa.Store {
	for _, v := range r.g.Values {
		if !slices.Equal(r.f.Holds(v), []pointsto.Hold{{Site: s, As: pointsto.Whole}}) || v.Referrers() == nil {
			continue
		}
		for _, i := range *v.Referrers() {
			a, ok := i.(*ssa.FieldAddr)
			if !ok || a.X != v {
				continue
			}
			for _, j := range *a.Referrers() {
				put, ok := j.(*ssa.Store)
				if !ok || put.Addr != a || !put.Block().Dominates(at) || !frees(r.f, s, a.Field) {
					continue
				}
				if of := owned(r.f, put); of != nil && !r.f.Freed(of) && (!of.Begun || r.used(s, put, at)) {
					return put
				}
			}
		}
	}
	return nil
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

// owned returns the site of what a store puts somewhere, which the function surely owns in front of it;
// nil if that is not so.
func owned(f *own.Func, put *ssa.Store) *pointsto.Site {
	v := put.Val
	if i, ok := v.(*ssa.MakeInterface); ok {
		v = i.X
	}
	holds := f.Holds(v)
	if len(holds) != 1 || holds[0].As != pointsto.Whole || holds[0].Site.Param >= 0 {
		return nil
	}
	n, at, _ := f.Graph.Where(put)
	for _, g := range f.Groups {
		k := slices.Index(g.Sites, holds[0].Site)
		if k < 0 || g.Why() != "" {
			continue
		}
		var front *own.Point
		for _, p := range g.Points(n) {
			if p.At <= at {
				front = p
			}
		}
		if front != nil && front.Status(own.Token(2*k)) == own.Owned {
			return holds[0].Site
		}
	}
	return nil
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
