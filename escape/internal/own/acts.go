package own

import (
	"go/token"
	"go/types"
	"slices"

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
	in     *Input
	closed map[ssa.Value]bool
	useful map[*ssa.Phi]bool // whether somebody reads it
}

// acts lists what an instruction does to an operand, which is an origin.
func (r *reader) acts(i ssa.Instruction, of ssa.Value) []Act {
	one := func(op Op, to ssa.Value) []Act { return []Act{{Instr: i, Op: op, Of: of, To: to}} }
	if handsOn(i, of) {
		return one(Keep, nil)
	}
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
		switch {
		case r.slot(of) && i.X == of:
			return one(Copy, i)
		case inMemory(of) && !r.slot(of):
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

// part is for what is computed of a value: it shares its memory, if its type allows that.
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
	var out []Act
	act := func(op Op, to ssa.Value) { out = append(out, Act{Instr: s, Op: op, Of: of, To: to}) }
	cell := origin(s.Addr)
	local := inMemory(cell) && r.isClosed(cell)
	if origin(s.Val) == of {
		switch {
		case !local || r.slot(cell) && s.Addr != cell:
			act(Keep, nil)
		case r.slot(cell):
			act(Copy, cell)
		default:
			act(Wrap, cell)
		}
	}
	if cell == of {
		switch {
		case r.slot(cell) && s.Addr == cell: // it holds something else now
		case inMemory(cell) && !r.slot(cell):
			act(Read, nil)
		default:
			act(Keep, nil) // what it leads to is changed
		}
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
	s := r.summary(c)
	for k, a := range operands(c) {
		if origin(a) != of {
			continue
		}
		switch p := s.Param(k); {
		case p.Retained, r.slot(of) && k < len(c.Args) && nillable(pointee(of.Type())):
			act(Keep, nil, always) // who has the address of a pointer may set it
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

// operands lists the operands of a call as summaries count them: the variables that a
// literal captures follow its parameters.
func operands(c *ssa.CallCommon) []ssa.Value {
	if c.IsInvoke() {
		return append([]ssa.Value{c.Value}, c.Args...)
	}
	if m, ok := c.Value.(*ssa.MakeClosure); ok {
		return append(slices.Clone(c.Args), m.Bindings...)
	}
	return c.Args
}

// summary returns what a call does, be it of a literal.
func (r *reader) summary(c *ssa.CallCommon) *effect.Summary {
	v := c.Value
	if m, ok := v.(*ssa.MakeClosure); ok {
		v = m.Fn
	}
	if f, ok := v.(*ssa.Function); ok && f.Parent() != nil {
		if s := r.in.Literal(f); s != nil {
			return s
		}
		return &effect.Summary{Unknown: true}
	}
	return r.in.Effect(c)
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

// deferred calls that only free, or only read, are known; all others keep what they are
// given. What a literal frees is what its variable holds then: it must be what that holds now.
func (r *reader) deferred(d *ssa.Defer, of ssa.Value) []Act {
	out := r.call(d, &d.Call, of)
	if d.Parent().Synthetic == "range-over-func yield" { // it is deferred by the function around
		return []Act{{Instr: d, Op: Keep, Of: of}}
	}
	reads := !slices.ContainsFunc(out, func(a Act) bool { return a.Op != Read })
	for k := range out {
		switch {
		case reads:
			out[k].Op = Await
		case len(out) == 1 && out[k].Op == Free && out[k].When.Cond == effect.Always && r.once(of):
			out[k].Op = Later
		default:
			out[k].Op, out[k].To, out[k].When = Keep, nil, effect.When{Cond: effect.Always}
		}
	}
	return out
}

// pointee returns the type that a pointer leads to.
func pointee(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

func nillable(t types.Type) bool {
	_, pointer := t.Underlying().(*types.Pointer)
	return pointer || types.IsInterface(t)
}
