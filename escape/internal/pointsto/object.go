package pointsto

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// This file is about objects: what pointers lead to that a call returned or that were given
// to the function, as far as it has parts. Such a pointer is as good as the address of a
// variable of this function, and its parts are slots, as long as nobody else gets at it. What a
// call returned, nobody has yet. Of what was given, the caller must know that: it
// believes what a summary says of parts only where it knows of all that lead there.

// findObjects finds the objects of a function.
func (f *Func) findObjects() {
	for _, p := range f.SSA.Params {
		f.objects[p] = f.hasParts(p)
	}
	for _, n := range f.Graph.Nodes {
		for _, i := range n.Instrs {
			c, ok := i.(*ssa.Call)
			if !ok || f.in.IR.Marks(i) {
				continue
			}
			if _, ok := c.Call.Value.(*ssa.Builtin); ok {
				continue
			}
			for k, r := range f.Summary(&c.Call).Results {
				if v := Result(c, k); v != nil && len(r.Parts) > 0 {
					f.objects[v] = f.hasParts(v)
				}
			}
		}
	}
}

// hasParts reports whether v is a pointer to what has parts.
func (f *Func) hasParts(v ssa.Value) bool {
	p, ok := v.Type().Underlying().(*types.Pointer)
	return ok && !f.in.Owns(v.Type()) && len(f.in.paths(p.Elem())) > 0
}

// inMemory reports whether v is the address of a variable, or of an object.
func (f *Func) inMemory(v ssa.Value) bool { return InMemory(v) || f.objects[v] }

// isLent reports whether what v leads to is the caller's: what is stored there leaves.
func isLent(v ssa.Value) bool {
	_, param := v.(*ssa.Parameter)
	return param
}
