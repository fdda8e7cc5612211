package memory

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about values that a function puts together: of a struct of which a line of a spec says by
// which method it is freed, as a whole. In the package of the struct such a value is begun. In another, which
// can only set what the package shows, it is a frame: a view of what it is given, and no more, since no
// function of its package made it. If somebody frees it, he frees a view.

// Begins reports whether v is such a value, by its address: a literal, what new gives, or a variable whose
// address is returned. Its fields are set one by one, and nobody has it before the function hands it on.
func (f *Func) Begins(v ssa.Value) bool { return f.putTogether(v) == begun }

// Frame returns the literal of which v is the address of a field, if that is a frame.
func (f *Func) Frame(v ssa.Value) ssa.Value {
	if a, ok := v.(*ssa.FieldAddr); ok && f.putTogether(a.X) == frame {
		return a.X
	}
	return nil
}

// together says how a variable is put together.
type together uint8

const (
	apart together = iota // it is not
	begun
	frame
)

func (f *Func) putTogether(v ssa.Value) together {
	a, ok := v.(*ssa.Alloc)
	if !ok || !a.Heap {
		return apart
	}
	is, ok := f.begun[a]
	if !ok {
		is = f.begins(a)
		f.begun[a] = is
	}
	return is
}

func (f *Func) begins(a *ssa.Alloc) together {
	n, ok := types.Unalias(Pointee(a.Type())).(*types.Named)
	if !ok || !f.In.Owns(a.Type()) || f.In.Frees.Parts(a.Type()) != nil {
		return apart
	}
	if _, ok := n.Underlying().(*types.Struct); !ok {
		return apart
	}
	literal, out, given := a.Comment == "complit", a.Comment == "new", false
	for _, i := range *a.Referrers() {
		switch i := i.(type) {
		case *ssa.FieldAddr:
			given = given || slices.ContainsFunc(ir.Stores(i), func(s *ssa.Store) bool { return !effect.Plain(s.Val.Type()) })
		case *ssa.Store:
			if _, first := Literal(i); i.Addr == a && !first {
				return apart
			}
		case *ssa.UnOp:
			if i.Op == token.MUL && slices.ContainsFunc(*i.Referrers(), func(u ssa.Instruction) bool { return !f.In.IR.Marks(u) }) {
				return apart
			}
		case *ssa.Return:
			out = true
		}
	}
	switch ours := n.Obj().Pkg() == f.SSA.Pkg.Pkg; {
	case ours && (literal || out):
		return begun
	case !ours && literal && given && !f.In.Counted(a.Type()):
		return frame
	}
	return apart
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
