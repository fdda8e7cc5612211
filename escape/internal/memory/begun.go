package memory

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// This file is about values that a function of their package puts together: of a struct of which a line of a
// spec says by which method it is freed, as a whole.

// Begins reports whether v is such a value, by its address: a literal, or what new gives, whose fields are
// set one by one. Nobody has it before the function hands it on.
func (f *Func) Begins(v ssa.Value) bool {
	a, ok := v.(*ssa.Alloc)
	if !ok || !a.Heap || a.Comment != "complit" && a.Comment != "new" {
		return false
	}
	yes, ok := f.begun[a]
	if !ok {
		yes = f.begins(a)
		f.begun[a] = yes
	}
	return yes
}

func (f *Func) begins(a *ssa.Alloc) bool {
	n, ok := types.Unalias(Pointee(a.Type())).(*types.Named)
	if !ok || n.Obj().Pkg() != f.SSA.Pkg.Pkg || !f.In.Owns(a.Type()) || f.In.Frees.Parts(a.Type()) != nil {
		return false
	}
	if _, ok := n.Underlying().(*types.Struct); !ok {
		return false
	}
	for _, i := range *a.Referrers() {
		switch i := i.(type) {
		case *ssa.Store:
			if i.Addr == a {
				return false
			}
		case *ssa.UnOp:
			if i.Op == token.MUL {
				return false
			}
		}
	}
	return true
}
