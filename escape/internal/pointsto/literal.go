package pointsto

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
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
		yes = k < len(s.Params) && s.Params[k].Borrows() && f.fixed(c.by.Bindings[c.n], c.by)
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
	if f.in.Owns(of.Type()) {
		return []Act{{Instr: i, Op: Keep, Of: of, Call: c}}
	}
	out := []Act{{Instr: i, Op: Read, Of: of, Call: c}}
	if _, named := of.(*ssa.MakeClosure); named {
		return out
	}
	for n := range c.Signature().Results().Len() {
		if to := Result(i, n); to != nil && !Plain(to.Type()) {
			out = append(out, Act{Instr: i, Op: Unwrap, Of: of, To: to, Call: c})
		}
	}
	return out
}

// callee returns what a call or a deferred call calls; nil if an instruction is none.
func callee(i ssa.Instruction) ssa.Value {
	switch i := i.(type) {
	case *ssa.Call:
		return i.Call.Value
	case *ssa.Defer:
		return i.Call.Value
	}
	return nil
}

// fixed reports whether what a literal captures in v is not assigned once it is made, until v is another
// variable.
func (f *Func) fixed(v ssa.Value, by *ssa.MakeClosure) bool {
	root, _, _ := f.resolve(v)
	switch v := root.(type) {
	case *ssa.Alloc:
		return !slices.ContainsFunc(stores(v), func(s *ssa.Store) bool { return s.Parent() != by.Parent() || follows(by, s, v) })
	case *ssa.FreeVar:
		fn := v.Parent()
		k := slices.Index(fn.FreeVars, v)
		makers := *fn.Referrers()
		return len(stores(v)) == 0 && len(makers) > 0 && !slices.ContainsFunc(makers, func(i ssa.Instruction) bool {
			m, ok := i.(*ssa.MakeClosure)
			return !ok || !f.fixed(m.Bindings[k], m)
		})
	}
	return !f.objects[root] || len(stores(root)) == 0
}

// stores lists what assigns a variable, or a part of it, in its function or in literals that capture it.
func stores(addr ssa.Value) []*ssa.Store {
	var out []*ssa.Store
	for _, i := range *addr.Referrers() {
		switch i := i.(type) {
		case *ssa.Store:
			if i.Addr == addr {
				out = append(out, i)
			}
		case *ssa.FieldAddr:
			out = append(out, stores(i)...)
		case *ssa.IndexAddr:
			out = append(out, stores(i)...)
		case *ssa.MakeClosure:
			fn := i.Fn.(*ssa.Function)
			for k, b := range i.Bindings {
				if b == addr && fn.Parent() != nil {
					out = append(out, stores(fn.FreeVars[k])...)
				}
			}
		}
	}
	return out
}

// follows reports whether a way leads from one instruction to another that does not make a variable anew.
func follows(from, to ssa.Instruction, unless *ssa.Alloc) bool {
	if from.Block() == to.Block() && before(from, to) {
		return true
	}
	if to.Block() == unless.Block() {
		return false
	}
	seen := map[*ssa.BasicBlock]bool{unless.Block(): true}
	for open := []*ssa.BasicBlock{from.Block()}; len(open) > 0; {
		b := open[len(open)-1]
		open = open[:len(open)-1]
		for _, s := range b.Succs {
			if s == to.Block() {
				return true
			}
			if !seen[s] {
				seen[s] = true
				open = append(open, s)
			}
		}
	}
	return false
}
