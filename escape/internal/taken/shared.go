package taken

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/member"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// This file is about variables that literals share which the function only calls: what is taken out is put
// there, or what is made is appended to a slice there. A call of such a literal may see to all of it.

// A shared is such a variable, behind an instruction that puts something there.
type shared struct {
	f     *own.Func
	cell  *ssa.Alloc
	put   *ssa.Store
	calls []*ssa.Call // of literals that share it
	all   bool        // what was put there is a slice, of which each element has to be freed
	loads []ssa.Value // by which it is what was put there, unless something else is behind that
}

// sharedIn returns the variable that a store puts something into, if literals share it, and it is done
// nothing else with; else nil.
func sharedIn(f *own.Func, put *ssa.Store, all bool) *shared {
	a, ok := put.Addr.(*ssa.Alloc)
	if !ok {
		return nil
	}
	s := &shared{f: f, cell: a, put: put, all: all}
	var others []ssa.Instruction
	shares := false
	for _, i := range *a.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef, *ssa.UnOp:
		case *ssa.Store:
			if i.Addr != ssa.Value(a) {
				return nil
			}
			if i != put && !(all && s.grows(i)) {
				others = append(others, i)
			}
		case *ssa.MakeClosure:
			shares = true
			for _, u := range *i.Referrers() {
				c, ok := u.(*ssa.Call)
				if _, debug := u.(*ssa.DebugRef); debug || ok && f.Marks(c) {
					continue
				}
				if !ok || c.Call.Value != ssa.Value(i) {
					return nil
				}
				s.calls = append(s.calls, c)
			}
		default:
			return nil
		}
	}
	for _, i := range *a.Referrers() {
		if load, ok := i.(*ssa.UnOp); ok && !f.Marks(load) && ir.Leads(put, load, others...) {
			s.loads = append(s.loads, load)
		}
	}
	if !shares {
		return nil
	}
	return s
}

// grows reports whether a store puts back what is in the variable, with something appended.
func (s *shared) grows(put *ssa.Store) bool {
	c, ok := put.Val.(*ssa.Call)
	if !ok || memory.Appended(c) == nil {
		return false
	}
	load, ok := c.Call.Args[0].(*ssa.UnOp)
	return ok && load.X == ssa.Value(s.cell)
}

// does says what an instruction does with what is in the variable, if that is known of it.
func (s *shared) does(i ssa.Instruction) (freed, gone, known bool) {
	switch i := i.(type) {
	case *ssa.Store:
		if i.Addr == ssa.Value(s.cell) {
			return false, i != s.put && !(s.all && s.grows(i)), true
		}
	case *ssa.Call:
		if slices.Contains(s.calls, i) {
			m := i.Call.Value.(*ssa.MakeClosure)
			free, _ := member.FreedBy(s.f.Func, m.Fn.(*ssa.Function).FreeVars[slices.Index(m.Bindings, ssa.Value(s.cell))])
			return free != nil, true, true
		}
		if b, ok := i.Call.Value.(*ssa.Builtin); ok && s.all && slices.Contains(s.loads, i.Call.Args[0]) {
			return false, b.Name() != "len" && !PutBack(i, i.Call.Args[0]), true
		}
	case *ssa.IndexAddr:
		if s.all && slices.Contains(s.loads, i.X) {
			return s.frees(i), true, true
		}
	}
	return false, false, false
}

// frees reports whether an element is taken out by its address, and freed.
func (s *shared) frees(at *ssa.IndexAddr) bool {
	return slices.ContainsFunc(*at.Referrers(), func(i ssa.Instruction) bool {
		load, ok := i.(*ssa.UnOp)
		return ok && slices.ContainsFunc(*load.Referrers(), func(i ssa.Instruction) bool {
			c, ok := i.(ssa.CallInstruction)
			return ok && Frees(s.f, c, load)
		})
	})
}

// shares looks for a shared variable that something is put into which was taken out, and nowhere else.
func (t *taken) shares() {
	for _, v := range t.same {
		for _, i := range *v.Referrers() {
			put, ok := i.(*ssa.Store)
			if !ok || put.Val != v || !ir.Before(t.by, put) {
				continue
			}
			if t.in = sharedIn(t.f, put, false); t.in != nil {
				t.same = append(t.same, t.in.loads...)
				return
			}
		}
	}
}

// appendedTo returns the slice in a shared variable to which an instruction appends something that it made;
// nil if it does not.
func appendedTo(f *own.Func, i ssa.Instruction) *taken {
	put, ok := i.(*ssa.Store)
	if !ok {
		return nil
	}
	c, ok := put.Val.(*ssa.Call)
	if !ok || memory.Appended(c) == nil {
		return nil
	}
	for _, e := range memory.Appended(c) {
		v := e.(*ssa.Store).Val
		if f.In.Frees.Of(v.Type()) == nil || !MadeFor(f, v, e) {
			continue
		}
		if in := sharedIn(f, put, true); in != nil && in.grows(put) {
			return &taken{f: f, by: put, from: v.Pos(), v: v, same: in.loads, in: in}
		}
	}
	return nil
}
