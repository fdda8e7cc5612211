package effect

import (
	"fmt"
	"go/types"
	"slices"
)

// This file is about the parts of types: fields, and elements by a constant index, that have room for
// what is freed. A path to one is the numbers of the fields and elements on the way.

// mostParts bounds the parts of a type.
const mostParts = 16

// Named reports whether the name of a variable of a type may give a free its name: it has room
// for a handle, or a part has, or it points to such a one.
func (f *Frees) Named(t types.Type) bool { return f.Resource(t) || f.Divisible(t) }

// Divisible reports whether a value of a type, or what it points to, has parts that may own.
func (f *Frees) Divisible(t types.Type) bool {
	return len(f.Paths(t)) > 0 || len(f.Paths(pointee(t))) > 0
}

// Leads reports whether of is true of the type of a field of a struct, of its elements, or of what it or they
// point to.
func Leads(t types.Type, of func(types.Type) bool) bool {
	u, ok := t.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for f := range u.Fields() {
		t := f.Type()
		for range mostParts { // types may be made of themselves
			e, ok := t.Underlying().(interface{ Elem() types.Type })
			if of(t) || !ok {
				break
			}
			t = e.Elem()
		}
		if of(t) {
			return true
		}
	}
	return false
}

func pointee(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// Paths lists the paths in a type that lead to a handle; nil if they are too many.
func (f *Frees) Paths(t types.Type) [][]int {
	if have, ok := f.paths.At(t).([][]int); ok {
		return have
	}
	var out [][]int
	add := func(k int, t types.Type) {
		if f.Resource(t) {
			out = append(out, []int{k})
			return
		}
		for _, p := range f.Paths(t) {
			out = append(out, append([]int{k}, p...))
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for k := range u.NumFields() {
			add(k, u.Field(k).Type())
		}
	case *types.Array:
		for k := range min(u.Len(), mostParts+1) {
			add(int(k), u.Elem())
		}
	}
	if len(out) > mostParts || f.Resource(t) && f.Parts(t) == nil {
		out = nil
	}
	f.paths.Set(t, out)
	return out
}

// hasItself reports whether values of a type may have others of it in fields, slices and maps, not by
// pointers alone; around are the types that it is in.
func hasItself(t types.Type, around []types.Type) bool {
	t = types.Unalias(t)
	if slices.Contains(around, t) {
		return true
	}
	if _, named := t.(*types.Named); named {
		around = append(slices.Clip(around), t)
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if hasItself(f.Type(), around) {
				return true
			}
		}
	case *types.Array:
		return hasItself(u.Elem(), around)
	case *types.Slice:
		return hasItself(u.Elem(), around)
	case *types.Map:
		return hasItself(u.Elem(), around)
	}
	return false
}

// At returns the type at a path in a type.
func At(t types.Type, path []int) types.Type {
	for _, k := range path {
		switch u := t.Underlying().(type) {
		case *types.Struct:
			t = u.Field(k).Type()
		case *types.Array:
			t = u.Elem()
		}
	}
	return t
}

// Sayable reports whether package pkg can name a path in a type: it cannot name what others do not export.
func Sayable(t types.Type, path []int, pkg *types.Package) bool {
	for n, k := range path {
		if u, ok := At(t, path[:n]).Underlying().(*types.Struct); ok {
			if f := u.Field(k); !f.Exported() && f.Pkg() != pkg {
				return false
			}
		}
	}
	return true
}

// PathText returns a path in a type as the source has it behind a name.
func PathText(t types.Type, path []int) (out string) {
	for _, k := range path {
		switch u := t.Underlying().(type) {
		case *types.Struct:
			out += "." + u.Field(k).Name()
		case *types.Array:
			out += fmt.Sprintf("[%d]", k)
		}
		t = At(t, []int{k})
	}
	return out
}
