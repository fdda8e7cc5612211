package infer

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
	"github.com/lastuse/lastuse/escape/internal/pointsto"
)

// This file is about methods that free what their receiver owns. One that does nothing else that
// anybody could see is a free of its type: whether it frees all that a value owns, who makes
// the value knows.

// IsFree reports whether a function may turn out to be a free: it is a method of a struct of its package,
// and takes nothing else.
func IsFree(f *ssa.Function) bool {
	fn := calls.Declared(f)
	if fn == nil || f.Signature.Recv() == nil || f.Signature.Params().Len() > 0 || len(f.Blocks) == 0 {
		return false
	}
	n := receiver(f)
	if n == nil || n.Obj().Pkg() != fn.Pkg() {
		return false
	}
	_, ok := n.Underlying().(*types.Struct)
	return ok
}

// receiver returns the type whose method f is.
func receiver(f *ssa.Function) *types.Named {
	t := types.Unalias(f.Signature.Recv().Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, _ := t.(*types.Named)
	return n
}

// Free returns what a method with a summary frees of its receiver if it is a free; nil if it is none.
func Free(f *own.Func, s *effect.Summary, frees *effect.Frees) *effect.Found {
	recv := s.Params[0]
	if len(recv.Parts) == 0 || recv.Freed.Cond != effect.Never || recv.Escapes.Cond != effect.Never {
		return nil
	}
	free := &effect.Found{Func: calls.Declared(f.SSA), Parts: map[string]bool{}, Repeatable: true}
	if !silent(f, free, frees) {
		return nil
	}
	for _, p := range recv.Parts {
		if p.Is.Freed.Cond != effect.Always || p.Is.Escapes.Cond != effect.Never {
			return nil
		}
		free.Parts[p.Path] = toleratesNil(f, p.Path)
		free.Repeatable = free.Repeatable && p.Is.Repeatable
	}
	for _, p := range f.Parts(f.SSA.Params[0]) {
		if _, freed := free.Parts[p.Text()]; !freed {
			free.Others = append(free.Others, p.Text())
		}
	}
	if len(free.Others) > 0 && othersFreed(f, free, frees) {
		frees.Help(free.Func)
		return nil
	}
	return free
}

// othersFreed reports whether another method that takes nothing frees some of the parts that one leaves, and
// gives none of them anything else: then neither alone ends a value.
func othersFreed(f *own.Func, free *effect.Found, frees *effect.Frees) bool {
	for m := range receiver(f.SSA).Methods() {
		fn := f.SSA.Prog.FuncValue(m)
		if fn == nil || fn == f.SSA || !IsFree(fn) {
			continue
		}
		some, gives := false, false
		for _, b := range fn.Blocks {
			for _, i := range b.Instrs {
				switch i := i.(type) {
				case *ssa.Store:
					_, nothing := i.Val.(*ssa.Const)
					gives = gives || !nothing && slices.Contains(free.Others, pathIn(i.Addr, fn.Params[0]))
				case ssa.CallInstruction:
					all := calls.Operands(i.Common())
					by := calls.Called(i.Common())
					if by == nil || len(all) != 1 {
						continue
					}
					of := frees.Of(all[0].Type())
					some = some || of != nil && of.Func == by && slices.Contains(free.Others, pathIn(all[0], fn.Params[0]))
				}
			}
		}
		if some && !gives {
			return true
		}
	}
	return false
}

// pathIn returns the text of the path from what a pointer leads to, to a field that a value is, or is read
// from, or is an element of.
func pathIn(v ssa.Value, from *ssa.Parameter) (path string) {
	for {
		switch x := v.(type) {
		case *ssa.UnOp:
			v = x.X
		case *ssa.IndexAddr:
			v = x.X
		case *ssa.FieldAddr:
			path = "." + memory.Pointee(x.X.Type()).Underlying().(*types.Struct).Field(x.Field).Name() + path
			if v = x.X; v == ssa.Value(from) {
				return path
			}
		default:
			return ""
		}
	}
}

// silent reports whether a function does nothing that anybody could see but free: it reads, tests, and
// sets fields of its receiver to nothing. Only one that does not even do that may be repeated.
func silent(f *own.Func, free *effect.Found, frees *effect.Frees) bool {
	if len(f.SSA.AnonFuncs) > 0 {
		return false
	}
	for _, b := range f.SSA.Blocks {
		for _, i := range b.Instrs {
			if f.Marks(i) {
				continue
			}
			switch i := i.(type) {
			case *ssa.DebugRef, *ssa.Jump, *ssa.If, *ssa.Return, *ssa.Phi, *ssa.FieldAddr, *ssa.Field, *ssa.Alloc,
				*ssa.Extract, *ssa.IndexAddr, *ssa.Range, *ssa.Next:
			case *ssa.BinOp:
				if i.Op != token.EQL && i.Op != token.NEQ && i.Op != token.LSS && i.Op != token.ADD {
					return false
				}
			case *ssa.UnOp:
				if i.Op != token.MUL && i.Op != token.NOT {
					return false
				}
			case *ssa.Store:
				_, nothing := i.Val.(*ssa.Const)
				_, local := i.Addr.(*ssa.Alloc)
				if !local && !(nothing && within(f.SSA.Params[0], i.Addr)) {
					return false
				}
				free.Repeatable, free.Resets = free.Repeatable && local, free.Resets || !local
			case *ssa.Call:
				if !onlyFrees(f, i, frees) {
					return false
				}
			default:
				return false
			}
		}
	}
	return true
}

// within reports whether an address is that of a field of what a pointer leads to, or of an item in one.
func within(p, addr ssa.Value) bool {
	for {
		switch a := addr.(type) {
		case *ssa.FieldAddr:
			if a.X == p {
				return true
			}
			addr = a.X
		case *ssa.IndexAddr:
			addr = a.X
			if load, ok := addr.(*ssa.UnOp); ok { // of a slice
				addr = load.X
			}
		default:
			return false
		}
	}
}

// onlyFrees reports whether a call frees its only operand, and is known to do no more: a spec says so, or
// that was inferred.
func onlyFrees(f *own.Func, c *ssa.Call, frees *effect.Frees) bool {
	if b, ok := c.Call.Value.(*ssa.Builtin); ok {
		return b.Name() == "len"
	}
	fn := calls.Called(&c.Call)
	if fn == nil || len(calls.Operands(&c.Call)) != 1 {
		return false
	}
	if frees.Helps(fn) {
		return true
	}
	s := f.Summary(&c.Call)
	return s.Params[0].Freed.Cond == effect.Always && (s.Decided || frees.Silent(fn))
}

// toleratesNil reports whether the part of the receiver at a path may hold nothing: it is of a type
// that has no nil, or each free of it stands behind a test.
func toleratesNil(f *own.Func, path string) bool {
	for _, g := range f.Groups {
		for _, s := range g.Sites {
			if s.Param != 0 || s.Part != path {
				continue
			}
			part := s.Value.(*memory.Field)
			if !effect.Nillable(part.Of()) {
				continue
			}
			for _, v := range g.Values {
				for _, i := range f.Users(v) {
					for _, a := range f.Acts(i, v) {
						if a.Op == pointsto.Free && !f.ToleratesNil(i) && (f.Collects(part) || !behindTest(f, part, i.Block())) {
							return false
						}
					}
				}
			}
		}
	}
	return true
}

// behindTest reports whether all ways into a block lead through a test that a part is not nil.
func behindTest(f *own.Func, part *memory.Field, b *ssa.BasicBlock) bool {
	on, _ := ir.NonNil(b, nil, func(x ssa.Value) bool {
		load, ok := x.(*ssa.UnOp)
		return ok && f.Origin(load.X) == ssa.Value(part)
	})
	return on
}
