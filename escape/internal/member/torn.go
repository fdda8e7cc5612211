package member

import (
	"fmt"
	"go/types"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// This file is about lines of specs that the code contradicts: a line says how a type is freed, with what its
// fields own, and what ends another type frees one of these fields, or another method of the type frees one
// that the method in the line leaves alone. Which of them is right nobody knows.

// Torn lists the fields that two types or methods end, by a line and by a body, each once: the method is the
// one that no line speaks of, or that is named behind the first one, and Lost is where it frees.
func Torn(pkg []*own.Func, frees *effect.Frees) (out []Finding) {
	seen := map[*types.Var]bool{}
	for _, f := range pkg {
		fn := calls.Declared(f.SSA)
		if fn == nil || fn.Signature().Recv() == nil {
			continue
		}
		of := Named(fn.Signature().Recv().Type())
		free := frees.Of(types.NewPointer(of))
		beside := free != nil && free.Func != nil && free.Said.IsValid() && free.Func != fn && fn.Signature().Params().Len() == 0
		if !beside && (free == nil || free.Func != fn) && !named(fn, of, frees) {
			continue
		}
		Each(f.SSA, func(i ssa.Instruction) {
			for _, a := range freedBy(f, i) {
				if seen[fieldOf(a)] {
					continue
				}
				n, said := Named(a.X.Type()), frees.Of(a.X.Type())
				if said == nil || !said.Said.IsValid() || setBy(f, a) {
					continue
				}
				if n == of && (!beside || sees(f, said.Func, a.Field, nil)) || n != of && !LooksAt(f, said.Func, a.Field) {
					continue
				}
				seen[fieldOf(a)] = true
				out = append(out, Finding{SSA: f.SSA, Method: fn, Type: n, Fields: []string{fieldOf(a).Name()}, Lost: i.Pos(),
					Said: fmt.Sprintf("%s:%d", filepath.Base(said.Said.Filename), said.Said.Line)})
			}
		})
	}
	return out
}

// named reports whether a method of a struct is named as what ends it.
func named(fn *types.Func, of *types.Named, frees *effect.Frees) bool {
	return IsStruct(of) && fn.Signature().Params().Len() == 0 && isEnd(of, fn, frees)
}

// freedBy returns the fields of somebody else's structs that a call frees.
func freedBy(f *own.Func, i ssa.Instruction) (out []*ssa.FieldAddr) {
	c, ok := i.(ssa.CallInstruction)
	if !ok || f.Marks(i) {
		return nil
	}
	if _, builtin := c.Common().Value.(*ssa.Builtin); builtin {
		return nil
	}
	for k, v := range calls.Operands(c.Common()) {
		load, ok := v.(*ssa.UnOp)
		if !ok || f.Summary(c.Common()).Param(k).Freed.Cond == effect.Never {
			continue
		}
		if a, ok := load.X.(*ssa.FieldAddr); ok && Named(a.X.Type()) != nil {
			switch a.X.(type) {
			case *ssa.FieldAddr, *ssa.IndexAddr, *ssa.Alloc: // a part of another struct, or made here
			default:
				out = append(out, a)
			}
		}
	}
	return out
}

// setBy reports whether a function gives a field something else, or nothing.
func setBy(f *own.Func, field *ssa.FieldAddr) (yes bool) {
	Each(f.SSA, func(i ssa.Instruction) {
		s, ok := i.(*ssa.Store)
		yes = yes || ok && fieldOf(s.Addr) == fieldOf(field)
	})
	return yes
}

// sees reports whether a method looks at a field of its receiver, or another one of the type that it calls.
func sees(f *own.Func, fn *types.Func, field int, seen []*types.Func) bool {
	if slices.Contains(seen, fn) {
		return false
	}
	seen = append(seen, fn)
	if LooksAt(f, fn, field) {
		return true
	}
	return slices.ContainsFunc(*f.SSA.Prog.FuncValue(fn).Params[0].Referrers(), func(i ssa.Instruction) bool {
		c, ok := i.(ssa.CallInstruction)
		if !ok || f.Marks(i) {
			return false
		}
		m := calls.Called(c.Common())
		return m == nil || m.Signature().Recv() == nil || sees(f, m, field, seen)
	})
}

// LooksAt reports whether a method looks at a field of its receiver, or has no body here.
func LooksAt(f *own.Func, fn *types.Func, field int) bool {
	m := f.SSA.Prog.FuncValue(fn)
	if m == nil || len(m.Blocks) == 0 || len(m.Params) == 0 {
		return true
	}
	return slices.ContainsFunc(*m.Params[0].Referrers(), func(i ssa.Instruction) bool {
		a, ok := i.(*ssa.FieldAddr)
		return ok && a.Field == field
	})
}
