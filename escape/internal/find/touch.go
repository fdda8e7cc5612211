package find

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// This file is about calls that are given what has a part, of which that part is gone: a method of the owner
// that a destructor calls behind the free of a field. It uses that if it is seen to look there.

// besides reports whether what happens to a token is a call that gets what has it as a part, and is not seen
// to look at the part.
func (r *finder) besides(m own.Meeting) bool {
	c, ok := m.Act.Instr.(ssa.CallInstruction)
	part, field := m.Of.(*memory.Field)
	if !ok || !field || !part.Memory || r.f.Marks(m.Act.Instr) {
		return false
	}
	for k, a := range calls.Operands(c.Common()) {
		if r.f.Reaches(a, m.Of) != memory.Outer {
			continue
		}
		fn := c.Common().StaticCallee()
		_, from, _ := r.f.Resolve(a)
		if fn != nil && k < len(fn.Params) && touches(fn.Params[k], part.Path[len(from):], map[ssa.Value]bool{}, 1) {
			return false
		}
		return true
	}
	return false
}

// touches reports whether something is seen to be done with the field at a path of what a pointer leads to,
// here or in what it is handed to, so many calls deep: what is farther away runs on some day, perhaps, and by
// then knows that the owner is closed.
func touches(v ssa.Value, path []int, seen map[ssa.Value]bool, deep int) bool {
	if seen[v] || v.Referrers() == nil {
		return false
	}
	seen[v] = true
	return slices.ContainsFunc(*v.Referrers(), func(i ssa.Instruction) bool {
		switch i := i.(type) {
		case *ssa.FieldAddr:
			return i.Field == path[0] && (len(path) == 1 || touches(i, path[1:], map[ssa.Value]bool{}, deep))
		case *ssa.UnOp:
			return i.Op == token.MUL // all of it
		case *ssa.Phi:
			return touches(i, path, seen, deep)
		case *ssa.Store:
			return i.Val == v && slices.ContainsFunc(reads(i.Addr), func(w ssa.Value) bool { return touches(w, path, seen, deep) })
		case ssa.CallInstruction:
			fn := i.Common().StaticCallee()
			for k, a := range calls.Operands(i.Common()) {
				if a == v && fn != nil && k < len(fn.Params) && deep > 0 && touches(fn.Params[k], path, seen, deep-1) {
					return true
				}
			}
		}
		return false
	})
}

// reads lists the loads of a variable, in its function and in literals that capture it.
func reads(addr ssa.Value) (out []ssa.Value) {
	if !memory.InMemory(addr) {
		return nil
	}
	for _, i := range *addr.Referrers() {
		switch i := i.(type) {
		case *ssa.UnOp:
			out = append(out, i)
		case *ssa.MakeClosure:
			out = append(out, reads(i.Fn.(*ssa.Function).FreeVars[slices.Index(i.Bindings, addr)])...)
		}
	}
	return out
}
