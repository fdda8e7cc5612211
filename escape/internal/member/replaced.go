package member

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// This file is about what is put in place of something that a struct owns: an item of a slice that was used
// just before, and not freed; and what is given to a setter, which frees what it had before it takes a
// reference to that: both may be one.

// replaced returns what a function does wrong where it gives fields of structs something else.
func replaced(f *own.Func, methods map[*types.Named][]*method) (out []Finding) {
	decl := f.SSA
	for decl.Parent() != nil {
		decl = decl.Parent()
	}
	fn := calls.Declared(decl)
	if fn == nil {
		return nil
	}
	Each(f.SSA, func(i ssa.Instruction) {
		s, ok := i.(*ssa.Store)
		if !ok {
			return
		}
		fd := Finding{SSA: f.SSA, Method: fn}
		var to *ssa.FieldAddr
		switch a := s.Addr.(type) {
		case *ssa.IndexAddr:
			load, ok := a.X.(*ssa.UnOp)
			if !ok || !losesItem(f, s) {
				return
			}
			to, _ = load.X.(*ssa.FieldAddr)
			fd.Item, fd.Lost = true, s.Pos()
		case *ssa.FieldAddr:
			fd.Lost, fd.Early = early(f, s)
			to = a
		}
		if to == nil || !fd.Lost.IsValid() {
			return
		}
		if fd.Type = Named(to.X.Type()); fd.Type == nil || !slices.ContainsFunc(methods[fd.Type], func(m *method) bool {
			return len(m.freed[m.index(fieldOf(to))]) > 0
		}) {
			return // nobody says that the field owns
		}
		fd.Fields = []string{fieldOf(to).Name()}
		out = append(out, fd)
	})
	return out
}

// losesItem reports whether a store gives an item of a slice something else, which was used in front of that,
// and is neither freed nor put anywhere in the function.
func losesItem(f *own.Func, s *ssa.Store) bool {
	if c, ok := s.Val.(*ssa.Const); ok && c.Value == nil || f.In.Frees.Of(s.Val.Type()) == nil {
		return false
	}
	used, gone := false, false
	Each(f.SSA, func(i ssa.Instruction) {
		load, ok := i.(*ssa.UnOp)
		if !ok || load.Op != token.MUL || !same(load.X, s.Addr) {
			return
		}
		for _, u := range *load.Referrers() {
			switch u := u.(type) {
			case *ssa.DebugRef, *ssa.BinOp, *ssa.FieldAddr:
			case *ssa.Call:
				if f.Marks(u) {
					continue
				}
				if _, builtin := u.Call.Value.(*ssa.Builtin); builtin {
					gone = true
					continue
				}
				for k, a := range calls.Operands(&u.Call) {
					gone = gone || a == ssa.Value(load) && !f.Summary(&u.Call).Param(k).Borrows()
					used = used || a == ssa.Value(load) && ir.Before(u, s)
				}
			default:
				gone = true
			}
		}
	})
	return used && !gone
}

// early returns where a function takes the first reference to a parameter that a store puts into a field, and
// where it frees what was there, if that comes first and it does not compare the two.
func early(f *own.Func, s *ssa.Store) (taken, freed token.Pos) {
	p := source(s.Val)
	if p == nil || !f.In.Counted(p.Type()) {
		return 0, 0
	}
	old := func(v ssa.Value) bool {
		load, ok := v.(*ssa.UnOp)
		return ok && same(load.X, s.Addr)
	}
	var free, retain *ssa.Call
	known := true
	Each(f.SSA, func(i ssa.Instruction) {
		switch i := i.(type) {
		case *ssa.BinOp:
			known = known && !(source(i.X) == p && old(i.Y) || source(i.Y) == p && old(i.X))
		case *ssa.Call:
			if _, builtin := i.Call.Value.(*ssa.Builtin); builtin || f.Marks(i) {
				return
			}
			all := calls.Operands(&i.Call)
			if len(all) != 1 {
				return
			}
			switch does := f.Summary(&i.Call).Param(0); {
			case does.Retained && source(all[0]) == p && retain == nil:
				retain = i
			case does.Freed.Cond == effect.Always && old(all[0]):
				free = i
			}
		}
	})
	if !known || free == nil || retain == nil || !ir.Leads(free, retain) || ir.Leads(retain, free) {
		return 0, 0
	}
	return retain.Pos(), free.Pos()
}

// source returns the parameter that a value is, as some type; nil if it is none.
func source(v ssa.Value) *ssa.Parameter {
	for {
		switch x := v.(type) {
		case *ssa.Parameter:
			return x
		case *ssa.TypeAssert:
			v = x.X
		case *ssa.ChangeInterface:
			v = x.X
		case *ssa.MakeInterface:
			v = x.X
		case *ssa.Extract:
			v = x.Tuple
		default:
			return nil
		}
	}
}
