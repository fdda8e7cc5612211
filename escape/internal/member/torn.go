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
// fields own, and what ends another type frees one of these fields. Which of them is right nobody knows.

// Torn lists the fields that two types end, by a line and by a body, each once: the method is the one that
// no line speaks of, and Lost is where it frees.
func Torn(pkg []*own.Func, frees *effect.Frees) (out []Finding) {
	seen := map[*types.Var]bool{}
	for _, f := range pkg {
		fn := calls.Declared(f.SSA)
		if fn == nil || fn.Signature().Recv() == nil {
			continue
		}
		of := Named(fn.Signature().Recv().Type())
		if free := frees.Of(types.NewPointer(of)); (free == nil || free.Func != fn) && !named(fn, of, frees) {
			continue
		}
		Each(f.SSA, func(i ssa.Instruction) {
			c, ok := i.(ssa.CallInstruction)
			if !ok || f.Marks(i) {
				return
			}
			if _, builtin := c.Common().Value.(*ssa.Builtin); builtin {
				return
			}
			for k, v := range calls.Operands(c.Common()) {
				a := freedOf(f, c, k, v)
				if a == nil || seen[fieldOf(a)] {
					continue
				}
				n, said := Named(a.X.Type()), frees.Of(a.X.Type())
				if n == of || said == nil || !said.Said.IsValid() || emptied(f, a) || !LooksAt(f, said.Func, a.Field) {
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

// freedOf returns the field of somebody else's struct that operand k of a call was read from, if the call
// frees it.
func freedOf(f *own.Func, c ssa.CallInstruction, k int, v ssa.Value) *ssa.FieldAddr {
	load, ok := v.(*ssa.UnOp)
	if !ok || f.Summary(c.Common()).Param(k).Freed.Cond == effect.Never {
		return nil
	}
	a, ok := load.X.(*ssa.FieldAddr)
	if !ok || Named(a.X.Type()) == nil {
		return nil
	}
	switch a.X.(type) {
	case *ssa.FieldAddr, *ssa.IndexAddr, *ssa.Alloc:
		return nil // a part of another struct, or made here
	}
	return a
}

// emptied reports whether a function sets a field to nothing.
func emptied(f *own.Func, field *ssa.FieldAddr) (yes bool) {
	Each(f.SSA, func(i ssa.Instruction) {
		s, ok := i.(*ssa.Store)
		if ok && fieldOf(s.Addr) == fieldOf(field) {
			c, ok := s.Val.(*ssa.Const)
			yes = yes || ok && c.Value == nil
		}
	})
	return yes
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
