package pointsto

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/memory"
)

// This file is about making literals and calling them. One that only reads what it captures views that.

// captured lists what making a literal does to what it captures.
func (f *Func) captured(m *ssa.MakeClosure, of ssa.Value) []Act {
	var out []Act
	for n, b := range m.Bindings {
		reach := f.Reaches(b, of)
		switch passes := reach != memory.None && f.Passes(m, n, of); {
		case reach == memory.None, passes && (reach == memory.Outer || out != nil):
		case passes:
			out = []Act{{Instr: m, Op: Read, Of: of}}
		case !f.LooksAt(m, n):
			return []Act{{Instr: m, Op: Keep, Of: of}}
		default:
			out = []Act{{Instr: m, Op: Part, Of: of, To: m}}
		}
	}
	return out
}

// called lists what calling a function does to what it is a view of: it reads that, and what it returns may
// lead to it, numbers too. What a literal returns that is called by its name its summary says.
func (f *Func) called(i ssa.Instruction, c *ssa.CallCommon, of ssa.Value) []Act {
	out := []Act{{Instr: i, Op: Read, Of: of, Call: c}}
	if _, named := of.(*ssa.MakeClosure); named {
		return out
	}
	if f.In.Owns(of.Type()) || !f.borrow(c.Args) {
		return []Act{{Instr: i, Op: Keep, Of: of, Call: c}}
	}
	for n := range c.Signature().Results().Len() {
		if to := memory.Result(i, n); to != nil && !effect.Plain(to.Type()) {
			out = append(out, Act{Instr: i, Op: Unwrap, Of: of, To: to, Call: c})
		}
	}
	return out
}

// callsBack reports whether a function is one that the literal is given.
func (f *Func) callsBack(fn ssa.Value) bool {
	p, ok := fn.(*ssa.Parameter)
	return ok && f.SSA.Parent() != nil && p.Parent() == f.SSA
}

// borrow reports whether functions that a literal is given only borrow what the literal gives them.
func (f *Func) borrow(args []ssa.Value) bool {
	for _, a := range args {
		if t, ok := a.(*ssa.ChangeType); ok {
			a = t.X
		}
		if _, function := a.Type().Underlying().(*types.Signature); !function {
			continue
		}
		var n int
		switch fn := a.(type) {
		case *ssa.Function:
			n = fn.Signature.Params().Len()
		case *ssa.MakeClosure:
			n = fn.Fn.(*ssa.Function).Signature.Params().Len()
			if calls.Method(fn.Fn.(*ssa.Function)) != nil {
				return false
			}
		default:
			return false
		}
		s := f.Summary(&ssa.CallCommon{Value: a})
		for k := range n {
			if k >= len(s.Params) || !s.Params[k].Borrows() || s.Gives(k) {
				return false
			}
		}
	}
	return true
}

// lent lists what literals do to what they capture that a call runs which is given them.
func (f *Func) lent(i *ssa.Call, of ssa.Value) []Act {
	var out []Act
	act := func(op Op, w effect.When) {
		out = append(out, Act{Instr: i, Op: op, Of: of, When: w, Call: &i.Call})
	}
	always := effect.When{Cond: effect.Always}
	for _, r := range f.RunsOf(i) {
		if !r.Lent {
			continue
		}
		for n, b := range r.Literal.Bindings {
			reach := f.Reaches(b, of)
			if reach == memory.None {
				continue
			}
			p, put := f.Does(r, n), f.Puts(i, b)
			sets := p.Sets.When.Cond != effect.Never
			switch {
			case p.Takes.Own && reach == memory.Same:
				act(Grow, always)
			case p.Escapes.Cond != effect.Never, sets && put == nil, reach != memory.Same && !p.Borrows():
				act(Keep, always)
			case p.Freed.Cond != effect.Never && !sets:
				act(Free, p.Freed)
				out[len(out)-1].Again = p.Repeatable
			case p.Freed.Cond != effect.Never && !put.Frees:
				act(Keep, always)
			default:
				act(Read, always)
			}
		}
	}
	return out
}
