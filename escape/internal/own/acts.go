package own

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// An Act is an operation of an instruction on one operand.
type Act struct {
	Instr ssa.Instruction
	Op    Op
	Of    ssa.Value
	To    ssa.Value       // of operations that make something of it
	When  effect.When     // of Free and Keep, by a call
	Call  *ssa.CallCommon // that does it
}

// A reader says what instructions do. It knows no state.
type reader struct {
	ir     *ir.Package
	effect func(*ssa.CallCommon) *effect.Summary
	closed map[*ssa.Alloc]bool
	useful map[*ssa.Phi]bool // whether somebody reads it
}

// origin returns the variable in memory that v is an address or a slice of, and else v.
func origin(v ssa.Value) ssa.Value {
	for {
		var x ssa.Value
		switch i := v.(type) {
		case *ssa.FieldAddr:
			x = i.X
		case *ssa.IndexAddr:
			x = i.X
		case *ssa.Slice:
			x = i.X
		}
		if x == nil {
			return v
		}
		if _, ok := origin(x).(*ssa.Alloc); !ok {
			return v
		}
		v = x
	}
}

// users lists the instructions that v is an operand of, by any address of it, except
// marks, which only name it.
func (r *reader) users(v ssa.Value) []ssa.Instruction {
	refs := v.Referrers()
	if refs == nil {
		return nil
	}
	var out []ssa.Instruction
	for _, i := range *refs {
		if _, debug := i.(*ssa.DebugRef); debug || r.ir.Marks(i) {
			continue
		}
		if a, ok := i.(ssa.Value); ok && origin(a) != a && origin(a) == origin(v) {
			out = append(out, r.users(a)...)
			continue
		}
		if len(out) == 0 || out[len(out)-1] != i { // once, though it may be several operands
			out = append(out, i)
		}
	}
	return out
}

// isClosed reports whether nothing but what is read here gets at a variable in memory.
func (r *reader) isClosed(a *ssa.Alloc) bool {
	yes, ok := r.closed[a]
	if !ok {
		yes = true
		for _, i := range r.users(a) {
			switch i := i.(type) {
			case *ssa.Store:
				yes = yes && origin(i.Val) != a
			case *ssa.UnOp:
			case *ssa.Call:
				for _, act := range r.acts(i, a) {
					yes = yes && act.Op == Read
				}
			default:
				yes = false
			}
		}
		r.closed[a] = yes
	}
	return yes
}

// acts lists what an instruction does to an operand, which is an origin.
func (r *reader) acts(i ssa.Instruction, of ssa.Value) []Act {
	one := func(op Op, to ssa.Value) []Act { return []Act{{Instr: i, Op: op, Of: of, To: to}} }
	switch i := i.(type) {
	case *ssa.Phi:
		return one(Copy, i)
	case *ssa.ChangeType:
		return one(Copy, i)
	case *ssa.ChangeInterface:
		return one(Copy, i)
	case *ssa.MakeInterface:
		return one(Wrap, i)
	case *ssa.TypeAssert:
		if i.CommaOk {
			return one(Unwrap, extract(i, 0))
		}
		return one(Unwrap, i)
	case *ssa.UnOp:
		if _, cell := of.(*ssa.Alloc); cell {
			return one(Unwrap, i)
		}
		if i.Op == token.ARROW {
			return one(Keep, nil)
		}
		return r.part(i, of)
	case *ssa.Field, *ssa.FieldAddr, *ssa.Index, *ssa.IndexAddr, *ssa.Slice, *ssa.Convert:
		return r.part(i.(ssa.Value), of)
	case *ssa.BinOp:
		return r.part(i, of)
	case *ssa.Store:
		return r.store(i, of)
	case *ssa.Call:
		return r.call(i, &i.Call, of)
	case *ssa.Defer:
		return r.deferred(i, of)
	case *ssa.Return:
		return one(Leave, nil)
	}
	return one(Keep, nil)
}

// part is for what is computed of a value: it shares its memory, unless it is of a type
// that no handle and no address has.
func (r *reader) part(v ssa.Value, of ssa.Value) []Act {
	a := Act{Instr: v.(ssa.Instruction), Op: Part, Of: of, To: v}
	const plain = types.IsBoolean | types.IsFloat | types.IsComplex
	if b, ok := v.Type().Underlying().(*types.Basic); ok && b.Info()&plain != 0 {
		a.Op, a.To = Read, nil
	}
	return []Act{a}
}

// store puts a value into a variable in memory that nobody else gets at, or anywhere.
func (r *reader) store(s *ssa.Store, of ssa.Value) []Act {
	cell, _ := origin(s.Addr).(*ssa.Alloc)
	var out []Act
	if origin(s.Val) == of {
		a := Act{Instr: s, Op: Keep, Of: of}
		if cell != nil && r.isClosed(cell) {
			a.Op, a.To = Wrap, cell
		}
		out = append(out, a)
	}
	if origin(s.Addr) == of {
		a := Act{Instr: s, Op: Read, Of: of}
		if cell == nil {
			a.Op = Keep // what it leads to is changed
		}
		out = append(out, a)
	}
	return out
}

// call lists what a call does to an operand, as its summary says.
func (r *reader) call(i ssa.Instruction, c *ssa.CallCommon, of ssa.Value) []Act {
	if b, ok := c.Value.(*ssa.Builtin); ok {
		return r.builtin(i.(*ssa.Call), b.Name(), of)
	}
	var out []Act
	act := func(op Op, to ssa.Value, w effect.When) {
		out = append(out, Act{Instr: i, Op: op, Of: of, To: to, When: w, Call: c})
	}
	always := effect.When{Cond: effect.Always}
	if !c.IsInvoke() && origin(c.Value) == of {
		act(Keep, nil, always) // it is called
	}
	s := r.effect(c)
	for k, a := range operands(c) {
		if origin(a) != of {
			continue
		}
		switch p := s.Param(k); {
		case p.Retained:
			act(Keep, nil, always)
		case p.Borrows():
			act(Read, nil, always)
		default:
			if p.Freed.Cond != effect.Never {
				act(Free, nil, p.Freed)
			}
			if p.Escapes.Cond != effect.Never {
				act(Keep, nil, p.Escapes)
			}
		}
		for n, res := range s.Results {
			to := result(i, n)
			if to == nil || k >= len(s.Params) {
				continue
			}
			if res.Is>>k&1 == 1 {
				if res.Must {
					act(Copy, to, always)
				} else {
					act(Copy, to, effect.When{Cond: effect.Maybe})
				}
			}
			if res.Views>>k&1 == 1 {
				act(Part, to, always)
			}
		}
	}
	return out
}

// operands lists the operands of a call as summaries count them.
func operands(c *ssa.CallCommon) []ssa.Value {
	if c.IsInvoke() {
		return append([]ssa.Value{c.Value}, c.Args...)
	}
	return c.Args
}

// result returns the value of a result of a call, and nil if it is dropped.
func result(i ssa.Instruction, n int) ssa.Value {
	c, ok := i.(*ssa.Call)
	if !ok {
		return nil
	}
	if c.Call.Signature().Results().Len() == 1 {
		return c
	}
	return extract(c, n)
}

// extract returns an element of a tuple, and nil if nobody takes it.
func extract(tuple ssa.Value, n int) ssa.Value {
	for _, i := range *tuple.Referrers() {
		if e, ok := i.(*ssa.Extract); ok && e.Index == n {
			return e
		}
	}
	return nil
}

func (r *reader) builtin(c *ssa.Call, name string, of ssa.Value) []Act {
	a := Act{Instr: c, Op: Keep, Of: of}
	switch name {
	case "len", "cap", "print", "println":
		a.Op = Read
	case "append":
		a.Op, a.To = Wrap, c
	}
	return []Act{a}
}

// deferred calls that only free are known; all others keep what they are given.
func (r *reader) deferred(d *ssa.Defer, of ssa.Value) []Act {
	out := r.call(d, &d.Call, of)
	for k := range out {
		if out[k].Op == Free && out[k].When.Cond == effect.Always && len(out) == 1 {
			out[k].Op = Later
		} else {
			out[k].Op, out[k].To, out[k].When = Keep, nil, effect.When{Cond: effect.Always}
		}
	}
	return out
}
