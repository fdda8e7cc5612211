package memory

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about results that lie in variables while deferred calls run. A pointer to what has parts that
// nobody else reads or sets there is as good as returned where it is put. Where a panic ends in a return the
// caller has that as well, or nothing, and the function has lost sight of it: so it is nothing there. What is
// returned in an interface, and freed as that is, is returned itself.

// findReturned finds the loads of such results, and what was stored.
func (f *Func) findReturned() {
	for _, r := range ir.Returns(f.SSA) {
		for _, v := range r.Results {
			if m, ok := v.(*ssa.MakeInterface); ok && len(*m.Referrers()) == 1 && f.In.Frees.Boxes(m.X.Type(), m.Type()) {
				f.returned[m], f.partOf[m] = m.X, r
			}
			load, ok := v.(*ssa.UnOp)
			if !ok || !f.HasParts(load) || !onlyReturned(load.X) {
				continue
			}
			var last *ssa.Store
			for _, i := range r.Block().Instrs {
				if s, ok := i.(*ssa.Store); ok && s.Addr == load.X {
					last = s
				}
			}
			switch {
			case last != nil:
				f.returned[load], f.partOf[last] = f.read(last.Val), r
			case r.Block() == f.SSA.Recover:
				f.returned[load] = ssa.NewConst(nil, load.Type())
			}
		}
	}
}

// empty reports whether a load reads a result in which there is nothing.
func (f *Func) empty(load *ssa.UnOp) bool {
	c, ok := f.returned[load].(*ssa.Const)
	return ok && c.Value == nil
}

// onlyReturned reports whether a variable is read to be returned, and for nothing else; what puts something
// into it does so in a block that returns.
func onlyReturned(v ssa.Value) bool {
	a, ok := v.(*ssa.Alloc)
	if !ok {
		return false
	}
	for _, i := range *a.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.Store:
			_, returns := i.Block().Instrs[len(i.Block().Instrs)-1].(*ssa.Return)
			if i.Addr != ssa.Value(a) || !returns {
				return false
			}
		case *ssa.UnOp:
			if slices.ContainsFunc(*i.Referrers(), func(u ssa.Instruction) bool {
				_, returned := u.(*ssa.Return)
				_, debug := u.(*ssa.DebugRef)
				return !returned && !debug
			}) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// Results lists what a return returns: what was put into a variable before deferred calls run, if it lies in
// one.
func (f *Func) Results(r *ssa.Return) []ssa.Value {
	out := r.Results
	for k, v := range r.Results {
		if put := f.returned[v]; put != nil {
			out = slices.Concat(out[:k], []ssa.Value{put}, out[k+1:])
		}
	}
	return out
}
