package pointsto

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about literals and method values. One that only reads what it captures is a view of that,
// wherever it goes and whenever it is called: what it captures is in use as long as it is. Any other is
// known only where it is called by its name.

// A capture is what a literal captures, or a method value is bound to, by its number.
type capture struct {
	by *ssa.MakeClosure
	n  int
}

// looks reports whether a literal only reads what it captures in v, which stays what it is.
func (f *Func) looks(m *ssa.MakeClosure, v ssa.Value) bool {
	for n, b := range m.Bindings {
		if b == v && !f.looksAt(capture{m, n}) {
			return false
		}
	}
	return true
}

func (f *Func) looksAt(c capture) bool {
	yes, ok := f.views[c]
	if !ok {
		fn := c.by.Fn.(*ssa.Function)
		s, k := f.Summary(&ssa.CallCommon{Value: c.by}), c.n
		if calls.Method(fn) == nil {
			k += len(fn.Params)
		}
		p := s.Param(k)
		p.Lends = false // to functions that others give it: see called
		yes = k < len(s.Params) && p.Borrows() && f.fixed(c.by.Bindings[c.n], c.by)
		f.views[c] = yes
	}
	return yes
}

// captured lists what making a literal does to what it captures.
func (f *Func) captured(m *ssa.MakeClosure, of ssa.Value) []Act {
	for n, b := range m.Bindings {
		if f.reaches(b, of) != none && !f.looksAt(capture{m, n}) {
			return []Act{{Instr: m, Op: Keep, Of: of}}
		}
	}
	return []Act{{Instr: m, Op: Part, Of: of, To: m}}
}

// called lists what calling a function does to what it is a view of: it reads that, and what it returns may
// lead to it, numbers too. What a literal returns that is called by its name its summary says.
func (f *Func) called(i ssa.Instruction, c *ssa.CallCommon, of ssa.Value) []Act {
	out := []Act{{Instr: i, Op: Read, Of: of, Call: c}}
	if _, named := of.(*ssa.MakeClosure); named {
		return out
	}
	if f.in.Owns(of.Type()) || !f.borrow(c.Args) {
		return []Act{{Instr: i, Op: Keep, Of: of, Call: c}}
	}
	for n := range c.Signature().Results().Len() {
		if to := Result(i, n); to != nil && !Plain(to.Type()) {
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
			if k >= len(s.Params) || !s.Params[k].Borrows() || gives(s, k) {
				return false
			}
		}
	}
	return true
}

// fixed reports whether what a literal captures in v is not assigned once it is made, until v is another
// variable.
func (f *Func) fixed(v ssa.Value, by *ssa.MakeClosure) bool {
	root, _, _ := f.resolve(v)
	switch v := root.(type) {
	case *ssa.Alloc:
		return !slices.ContainsFunc(ir.Stores(v), func(s *ssa.Store) bool { return s.Parent() != by.Parent() || ir.Follows(by, s, v) })
	case *ssa.FreeVar:
		fn := v.Parent()
		k := slices.Index(fn.FreeVars, v)
		makers := *fn.Referrers()
		return len(ir.Stores(v)) == 0 && len(makers) > 0 && !slices.ContainsFunc(makers, func(i ssa.Instruction) bool {
			m, ok := i.(*ssa.MakeClosure)
			return !ok || !f.fixed(m.Bindings[k], m)
		})
	}
	return !f.objects[root] || len(ir.Stores(root)) == 0
}
