package memory

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
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

// looks reports whether LooksAt holds for all that a literal captures in v.
func (f *Func) looks(m *ssa.MakeClosure, v ssa.Value) bool {
	for n, b := range m.Bindings {
		if b == v && !f.LooksAt(m, n) {
			return false
		}
	}
	return true
}

// LooksAt reports whether a literal only reads what it captures there, which stays what it is.
func (f *Func) LooksAt(m *ssa.MakeClosure, n int) bool {
	c := capture{m, n}
	yes, ok := f.views[c]
	if !ok {
		fn := m.Fn.(*ssa.Function)
		s, k := f.Summary(&ssa.CallCommon{Value: m}), n
		if calls.Method(fn) == nil {
			k += len(fn.Params)
		}
		p := s.Param(k)
		p.Sets.Lends = false // to functions that others give it: see called
		yes = k < len(s.Params) && p.Borrows() && f.Fixed(m.Bindings[n], m)
		f.views[c] = yes
	}
	return yes
}

// Passes reports whether a literal only reads fields of variable n that it captures which lead to no
// memory, or have nothing to do with v, an origin.
func (f *Func) Passes(m *ssa.MakeClosure, n int, v ssa.Value) bool {
	fn := m.Fn.(*ssa.Function)
	if calls.Method(fn) != nil {
		return false
	}
	p, part := v.(*Field)
	at := m.Bindings[n]
	loads, only := calls.Loads(fn.FreeVars[n], f.In.IR.Marks)
	if to := f.pointer(at); to != nil { // these are pointers
		at = to
		for _, p := range loads {
			there, ok := calls.Loads(p.Value, f.In.IR.Marks)
			loads, only = append(loads[1:], there...), only && ok
		}
	}
	_, path, _ := f.Resolve(at)
	return only && !slices.ContainsFunc(loads, func(l calls.Load) bool {
		plain := effect.Plain(l.Value.Type()) && len(l.Path) > 0
		return !plain && !(part && !starts(slices.Concat(path, l.Path), p.Path))
	})
}

// passes reports whether a literal reads other fields than p of all that it captures in v.
func (f *Func) passes(m *ssa.MakeClosure, v ssa.Value, p *Field) bool {
	for n, b := range m.Bindings {
		if b == v && !(f.Reaches(b, p) == Outer && f.Passes(m, n, p)) {
			return false
		}
	}
	return true
}

// Fixed reports whether what a literal captures in v is not assigned once it is made, until v is another
// variable.
func (f *Func) Fixed(v ssa.Value, by *ssa.MakeClosure) bool {
	root, _, _ := f.Resolve(v)
	switch v := root.(type) {
	case *ssa.Alloc:
		return !slices.ContainsFunc(ir.Stores(v), func(s *ssa.Store) bool { return s.Parent() != by.Parent() || ir.Leads(by, s, v) })
	case *ssa.FreeVar:
		fn := v.Parent()
		k := slices.Index(fn.FreeVars, v)
		makers := *fn.Referrers()
		return len(ir.Stores(v)) == 0 && len(makers) > 0 && !slices.ContainsFunc(makers, func(i ssa.Instruction) bool {
			m, ok := i.(*ssa.MakeClosure)
			return !ok || !f.Fixed(m.Bindings[k], m)
		})
	}
	return !f.Objects[root] || len(ir.Stores(root)) == 0
}
