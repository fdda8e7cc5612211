package memory

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// This file is about values that a function of their package puts together: of a struct of which a line of a
// spec says by which method it is freed, as a whole.

// Begins reports whether v is such a value, by its address: a literal, what new gives, or a variable whose
// address is returned. Its fields are set one by one, and nobody has it before the function hands it on.
func (f *Func) Begins(v ssa.Value) bool {
	a, ok := v.(*ssa.Alloc)
	if !ok || !a.Heap {
		return false
	}
	yes, ok := f.begun[a]
	if !ok {
		yes = f.begins(a)
		f.begun[a] = yes
	}
	return yes
}

func (f *Func) begins(a *ssa.Alloc) bool {
	n, ok := types.Unalias(Pointee(a.Type())).(*types.Named)
	if !ok || n.Obj().Pkg() != f.SSA.Pkg.Pkg || !f.In.Owns(a.Type()) || f.In.Frees.Parts(a.Type()) != nil {
		return false
	}
	if _, ok := n.Underlying().(*types.Struct); !ok {
		return false
	}
	out := a.Comment == "complit" || a.Comment == "new"
	for _, i := range *a.Referrers() {
		switch i := i.(type) {
		case *ssa.Store:
			if _, first := Literal(i); i.Addr == a && !first {
				return false
			}
		case *ssa.UnOp:
			if i.Op == token.MUL && slices.ContainsFunc(*i.Referrers(), func(u ssa.Instruction) bool { return !f.In.IR.Marks(u) }) {
				return false
			}
		case *ssa.Return:
			out = true
		}
	}
	return out
}

// Literal returns the variable in which a literal lies that a store puts into another variable, where that is
// declared; it is nil if the literal says nothing.
func Literal(s *ssa.Store) (from *ssa.Alloc, ok bool) {
	to, ok := s.Addr.(*ssa.Alloc)
	if !ok || to.Block() != s.Block() {
		return nil, false
	}
	for _, i := range *to.Referrers() {
		if at, other := i.(*ssa.Store); other && at != s && at.Addr == ssa.Value(to) {
			return nil, false
		}
	}
	if c, ok := s.Val.(*ssa.Const); ok {
		return nil, c.Value == nil
	}
	load, ok := s.Val.(*ssa.UnOp)
	if !ok {
		return nil, false
	}
	from, ok = load.X.(*ssa.Alloc)
	return from, ok && !from.Heap && from.Comment == "complit"
}
