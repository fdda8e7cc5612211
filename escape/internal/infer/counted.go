package infer

import (
	"go/token"
	"go/types"
	"iter"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/memory"
	"github.com/lastuse/lastuse/escape/internal/own"
)

// This file is about values that count who has them: a method takes one from a field, atomically, and frees
// what the value owns where nothing is left. Who has made a value has one, so for him that is its free, as a
// whole. A method that does nothing but add one takes a reference more. A number may count other things, work
// that is left or who waits: so all that the package does with the field must be that (owners).

// Counted returns what a method is if it frees values that are counted; nil if it does not.
func Counted(f *own.Func) *effect.Found {
	if len(f.SSA.Params) != 1 || f.SSA.Signature.Results().Len() > 0 || len(f.SSA.AnonFuncs) > 0 {
		return nil
	}
	field, last := calls.LastOne(f.SSA)
	if last == nil {
		return nil
	}
	some := false
	for _, b := range f.SSA.Blocks {
		for _, i := range b.Instrs {
			c, ok := i.(ssa.CallInstruction)
			if !ok || f.Marks(i) || !freesPart(f, c.Common()) {
				continue
			}
			if _, deferred := i.(*ssa.Defer); deferred || !last.Dominates(b) {
				return nil
			}
			some = true
		}
	}
	if !some || !owners(f.In.IR.SSA, field) {
		return nil
	}
	return &effect.Found{Func: calls.Declared(f.SSA), Count: field}
}

// owners reports whether a field counts who has a value: who makes one sets it to one, and nobody does more
// with it than to add one, to take one, and to look.
func owners(p *ssa.Package, field *types.Var) bool {
	begins := false
	for f := range functions(p) {
		for _, b := range f.Blocks {
			for _, i := range b.Instrs {
				a, ok := i.(*ssa.FieldAddr)
				if !ok || memory.Pointee(a.X.Type()).Underlying().(*types.Struct).Field(a.Field) != field {
					continue
				}
				for _, u := range *a.Referrers() {
					ok, one := counts(u, a, f.Signature.Recv() != nil)
					if !ok {
						return false
					}
					begins = begins || one
				}
			}
		}
	}
	return begins
}

// functions lists the functions of a package, with methods and literals.
func functions(p *ssa.Package) iter.Seq[*ssa.Function] {
	return func(yield func(*ssa.Function) bool) {
		var each func(f *ssa.Function) bool
		each = func(f *ssa.Function) bool {
			return f == nil || yield(f) && !slices.ContainsFunc(f.AnonFuncs, func(a *ssa.Function) bool { return !each(a) })
		}
		for _, m := range p.Members {
			switch m := m.(type) {
			case *ssa.Function:
				if !each(m) {
					return
				}
			case *ssa.Type:
				if n, ok := types.Unalias(m.Type()).(*types.Named); ok {
					for fn := range n.Methods() {
						if !each(p.Prog.FuncValue(fn)) {
							return
						}
					}
				}
			}
		}
	}
}

// counts reports whether an instruction adds one to the number at an address, takes one or looks at it, and
// whether it makes it one, which a method does not.
func counts(i ssa.Instruction, at ssa.Value, method bool) (ok, one bool) {
	switch i := i.(type) {
	case *ssa.DebugRef:
		return true, false
	case *ssa.UnOp: // the number may stand elsewhere
		_, elsewhere := i.Type().Underlying().(*types.Pointer)
		for _, u := range *i.Referrers() {
			if ok, begins := counts(u, i, method); elsewhere && !ok {
				return false, false
			} else {
				one = one || elsewhere && begins
			}
		}
		return true, one
	case *ssa.Store:
		_, elsewhere := i.Val.Type().Underlying().(*types.Pointer)
		if c, ok := i.Val.(*ssa.Const); ok && c.Value == nil && !elsewhere { // of a type of its own: zero
			return i.Addr == at, false
		}
		return i.Addr == at && !method && (elsewhere || calls.IsInt(i.Val, 1)), true
	case *ssa.Call:
		fn := calls.Called(&i.Call)
		if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "sync/atomic" {
			return false, false
		}
		args := calls.Operands(&i.Call)
		switch name := fn.Name(); {
		case strings.HasPrefix(name, "Load"):
			return true, false
		case strings.HasPrefix(name, "Add"):
			return calls.IsInt(args[1], 1) || calls.IsInt(args[1], -1), !method && calls.IsInt(args[1], 1)
		case strings.HasPrefix(name, "Store"):
			return !method && calls.IsInt(args[1], 1), true
		}
	}
	return false, false
}

// freesPart reports whether a call frees what is in a field of the receiver.
func freesPart(f *own.Func, c *ssa.CallCommon) bool {
	if _, builtin := c.Value.(*ssa.Builtin); builtin {
		return false
	}
	s := f.Summary(c)
	for k, a := range calls.Operands(c) {
		if s.Param(k).Freed.Cond == effect.Always && inField(f.SSA.Params[0], a) {
			return true
		}
	}
	return false
}

// inField reports whether a value is read in a field of another one, or is the address of one, or of an
// element there.
func inField(of, v ssa.Value) bool {
	for {
		switch x := v.(type) {
		case *ssa.UnOp:
			if x.Op != token.MUL {
				return false
			}
			v = x.X
		case *ssa.FieldAddr:
			if x.X == of {
				return true
			}
			v = x.X
		case *ssa.IndexAddr:
			v = x.X
		case *ssa.Extract:
			n, ok := x.Tuple.(*ssa.Next)
			if !ok {
				return false
			}
			v = n.Iter.(*ssa.Range).X
		default:
			return false
		}
	}
}

// retains reports whether a function does nothing but take a reference more to a value that is counted.
func retains(f *own.Func, frees *effect.Frees) bool {
	if len(f.SSA.Params) != 1 || f.SSA.Signature.Recv() == nil || f.SSA.Signature.Results().Len() > 0 {
		return false
	}
	count := frees.Count(f.SSA.Params[0].Type())
	one := false
	for _, b := range f.SSA.Blocks {
		for _, i := range b.Instrs {
			c, ok := i.(*ssa.Call)
			switch {
			case !ok || f.Marks(i):
			case count != nil && calls.Adds(f.SSA, c, 1) == count:
				one = true
			case !f.Summary(&c.Call).Param(0).Borrows():
				return false
			}
			if _, store := i.(*ssa.Store); store {
				return false
			}
		}
	}
	return one
}
