package effect

import (
	"go/types"

	"github.com/lastuse/lastuse/escape/spec"
)

// A Free is how a value of a type is released.
type Free struct {
	Func       *types.Func
	Method     bool // its receiver is what it frees; else its only parameter
	Repeatable bool // freeing again is harmless
}

// Frees knows which function frees values of which type.
type Frees struct {
	set   *spec.Set
	known map[types.Type]*Free
}

// NewFrees returns what the lines of a set name as frees.
func NewFrees(set *spec.Set) *Frees { return &Frees{set: set, known: map[types.Type]*Free{}} }

// Of returns the function that frees values of type t, and nil if there is none that a
// statement could call: it must free on every call, take nothing else, and be the first
// in the spec that does.
func (f *Frees) Of(t types.Type) *Free {
	if have, ok := f.known[t]; ok {
		return have
	}
	found := f.find(t)
	f.known[t] = found
	return found
}

// Resource reports whether values of type t own memory that some function frees.
func (f *Frees) Resource(t types.Type) bool { return f.Of(t) != nil }

func (f *Frees) find(t types.Type) *Free {
	named := types.Unalias(t)
	if p, ok := named.(*types.Pointer); ok {
		named = types.Unalias(p.Elem())
	}
	n, ok := named.(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return nil
	}
	for _, fr := range f.set.Freers(n.Obj().Pkg()) {
		sig := fr.Func.Signature()
		method := fr.Operand.Kind == spec.Recv
		alone := method && sig.Params().Len() == 0 || !method && sig.Params().Len() == 1
		if fr.Cond.Kind == spec.Always && alone && fr.Frees(t) {
			return &Free{Func: fr.Func, Method: method, Repeatable: fr.Repeatable}
		}
	}
	return nil
}
