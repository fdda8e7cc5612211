package pointsto

import (
	"go/constant"
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/memory"
)

// This file is about what is done to parts of variables and values.

// fieldActs lists what an instruction does to a part.
func (f *Func) fieldActs(i ssa.Instruction, of *memory.Field) []Act {
	one := func(op Op, to ssa.Value) []Act { return []Act{{Instr: i, Op: op, Of: of, To: to}} }
	keep := one(Keep, nil)
	switch i := i.(type) {
	case *ssa.UnOp:
		switch r := f.Reaches(i.X, of); {
		case !of.Memory || i.Op != token.MUL:
			return keep
		case r == memory.Same:
			return one(Copy, i)
		case r == memory.Outer:
			_, path, _ := f.Resolve(i.X)
			return one(Copy, f.Field(i, of.Path[len(path):]))
		case r == memory.Some:
			return f.taken(i, i, of)
		}
		return f.derived(i, of)
	case *ssa.Field:
		if of.Path[0] != i.Field {
			return nil
		}
		return one(Copy, f.Field(i, of.Path[1:]))
	case *ssa.Index:
		if c, ok := i.Index.(*ssa.Const); !ok || i.X != of.Root {
			return one(Unwrap, i)
		} else if n, _ := constant.Int64Val(c.Value); of.Path[0] != int(n) {
			return nil
		}
		return one(Copy, f.Field(i, of.Path[1:]))
	case *ssa.Phi, *ssa.ChangeType:
		if !of.Memory {
			return one(Copy, f.Field(i.(ssa.Value), of.Path))
		}
	case *ssa.MakeInterface:
		if !of.Memory {
			return one(Wrap, i)
		}
	case *ssa.BinOp:
		return one(Read, nil)
	case *ssa.Return:
		return one(Leave, nil)
	case *ssa.Store:
		return f.storeField(i, of)
	case *ssa.Call:
		return f.call(i, &i.Call, of)
	case *ssa.Defer:
		return f.deferred(i, of)
	}
	return keep
}

// storeField is what a store does to a part: it is set, or is a part of a value that is stored.
func (f *Func) storeField(s *ssa.Store, of *memory.Field) []Act {
	one := func(op Op, to ssa.Value) []Act { return []Act{{Instr: s, Op: op, Of: of, To: to}} }
	if s.Val != of.Root || of.Memory {
		if f.Sets(s, of) && f.Reaches(s.Val, of) == memory.None {
			return nil
		}
		return one(Keep, nil)
	}
	if c := f.Container(s.Addr); c != nil {
		return one(Wrap, c)
	}
	root, path, sure := f.Resolve(s.Addr)
	switch to := f.Field(root, slices.Concat(path, of.Path)); {
	case !f.InMemory(root) || !f.isClosed(root) || memory.IsLent(root):
		return one(Keep, nil)
	case to != nil && sure:
		return one(Copy, to)
	}
	return one(Wrap, root)
}
