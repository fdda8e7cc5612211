package memory

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/internal/ir"
)

// This file is about objects: what pointers lead to that a call returned or that were given
// to the function, as far as it has parts. Such a pointer is as good as the address of a
// variable of this function, and its parts are slots, as long as nobody else gets at it. What a
// call returned, nobody has yet. Of what was given, the caller must know that: it
// believes what a summary says of parts only where it knows of all that lead there.

// findObjects finds the objects of a function.
func (f *Func) findObjects() {
	for _, p := range f.SSA.Params {
		f.Objects[p] = f.HasParts(p) && (!f.In.Owns(p.Type()) || f.grows(p))
	}
	for _, n := range f.Graph.Nodes {
		for _, i := range n.Instrs {
			c, ok := i.(*ssa.Call)
			if !ok || f.In.IR.Marks(i) {
				continue
			}
			if _, ok := c.Call.Value.(*ssa.Builtin); ok {
				continue
			}
			for k, r := range f.Summary(&c.Call).Results {
				if v := Result(c, k); v != nil && (len(r.Parts) > 0 || r.Leads() == 0 && f.TakenApart(v)) {
					f.Objects[v] = f.HasParts(v)
				}
			}
		}
	}
}

// HasParts reports whether v is a pointer to what has parts.
func (f *Func) HasParts(v ssa.Value) bool {
	p, ok := v.Type().Underlying().(*types.Pointer)
	return ok && len(f.In.Frees.Paths(p.Elem())) > 0
}

// InMemory reports whether v is the address of a variable, or of an object.
func (f *Func) InMemory(v ssa.Value) bool {
	return InMemory(v) && f.putTogether(v) == apart || f.Objects[v]
}

// TakenApart reports whether parts are set of what a call returned, which is made of them.
func (f *Func) TakenApart(v ssa.Value) bool {
	parts := f.In.Frees.Parts(v.Type()) != nil && v.Referrers() != nil
	return parts && slices.ContainsFunc(*v.Referrers(), func(i ssa.Instruction) bool {
		switch i := i.(type) {
		case *ssa.FieldAddr:
			return slices.ContainsFunc(ir.Stores(i), func(s *ssa.Store) bool { return !effect.Plain(s.Val.Type()) })
		case *ssa.Store:
			return f.built(i.Addr)
		}
		return false
	})
}

// built reports whether a variable of a type that is made of parts is put together here: parts of it are set,
// or nothing is, or a value of which parts are followed. Else it has what a call gave.
func (f *Func) built(v ssa.Value) bool {
	a, ok := v.(*ssa.Alloc)
	if !ok || f.In.Frees.Parts(Pointee(v.Type())) == nil {
		return false
	}
	yes, ok := f.builds[v]
	if !ok {
		all := ir.Stores(a)
		f.builds[v] = false // what it asks of itself, while it is asked
		yes = len(all) == 0 || slices.ContainsFunc(all, func(s *ssa.Store) bool {
			return s.Addr != v && !effect.Plain(s.Val.Type()) || s.Addr == v && f.inParts(s.Val)
		})
		f.builds[v] = yes
	}
	return yes
}

// inParts reports whether parts of a value are followed, and not the value.
func (f *Func) inParts(v ssa.Value) bool {
	call, n := v, 0
	switch i := v.(type) {
	case *ssa.UnOp:
		return i.Op == token.MUL && f.built(i.X)
	case *ssa.Extract:
		call, n = i.Tuple, i.Index
	}
	c, ok := call.(*ssa.Call)
	return ok && calls.Called(&c.Call) != nil && len(f.Summary(&c.Call).Results[n].Parts) > 0
}

// IsLent reports whether what v leads to is the caller's: what is stored there leaves.
func IsLent(v ssa.Value) bool {
	_, param := v.(*ssa.Parameter)
	return param
}
