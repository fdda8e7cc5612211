package escape

// Resources whose handles are numbers.

import (
	"go/types"
	"slices"
)

// numbered returns a resource type whose values are numbers, or structs of numbers, and which
// another package frees, if a value of type t may own one; nil if not. A package that knows the
// type and not the function that frees it takes the values for numbers, which it does not follow where they
// are put into something, so nothing is planned for them.
func (p *pkg) numbered(t types.Type) types.Type {
	return p.numberIn(t, map[types.Type]bool{})
}

func (p *pkg) numberIn(t types.Type, seen map[types.Type]bool) types.Type {
	if t == nil || seen[t] {
		return nil
	}
	seen[t] = true
	if p.isDeclared(t) {
		if n, ok := types.Unalias(t).(*types.Named); plain(t) && (!ok || slices.ContainsFunc(p.freersOf(t), func(f *freer) bool { return f.fn.Pkg() != n.Obj().Pkg() })) {
			return t
		}
		return nil // what is in it is its own affair
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return p.numberIn(u.Elem(), seen)
	case *types.Slice:
		return p.numberIn(u.Elem(), seen)
	case *types.Array:
		return p.numberIn(u.Elem(), seen)
	case *types.Chan:
		return p.numberIn(u.Elem(), seen)
	case *types.Map:
		if n := p.numberIn(u.Key(), seen); n != nil {
			return n
		}
		return p.numberIn(u.Elem(), seen)
	case *types.Struct:
		for i := range u.NumFields() {
			if n := p.numberIn(u.Field(i).Type(), seen); n != nil {
				return n
			}
		}
	}
	return nil
}
