package effect

import (
	"go/types"
	"slices"
)

// This file is about values whose type does not say by itself what frees them: those that have their free
// from a struct or an interface that is embedded, and handles of a basic type.

// findEmbedded returns the method that an interface, or a struct of another package, has from one embedded
// in it, of which a spec says that it frees what it is called on: that is the whole value then. So it is of a
// struct of this package that embeds one of it, if nothing else in it is freed; others are taken apart here.
func (f *Frees) findEmbedded(n *types.Named) *Free {
	_, boxed := n.Underlying().(*types.Interface)
	named := func(m *types.Func) *Free {
		if m.Pkg() == nil {
			return nil
		}
		for _, fr := range f.by(m.Pkg()).all {
			if fr.Func == m && fr.method() && (boxed || fr.level != Inferred) && f.usable(fr) {
				return fr.free()
			}
		}
		return nil
	}
	switch u := n.Underlying().(type) {
	case *types.Interface:
		for m := range u.Methods() {
			if free := named(m); free != nil {
				return free
			}
		}
	case *types.Struct:
		embedded := func(v *types.Var) bool { return v.Embedded() }
		if !slices.ContainsFunc(slices.Collect(u.Fields()), embedded) {
			return nil
		}
		for m := range types.NewMethodSet(types.NewPointer(n)).Methods() {
			if path := m.Index(); len(path) > 1 {
				path = path[:len(path)-1]
				by := m.Obj().(*types.Func).Origin()
				free := named(by)
				if free != nil && (n.Obj().Pkg() != f.pkg || by.Pkg() == f.pkg && f.alone(n, path)) {
					free.Embedded = path
					return free
				}
			}
		}
	}
	return nil
}

// alone reports whether the structs on a path of embedded fields have nothing beside it that is freed.
func (f *Frees) alone(t types.Type, path []int) bool {
	for _, k := range path {
		u := pointee(t).Underlying().(*types.Struct)
		for i := range u.NumFields() {
			if of := u.Field(i).Type(); i != k && (f.Resource(of) || f.Divisible(of)) {
				return false
			}
		}
		t = u.Field(k).Type()
	}
	return true
}

// Embeds reports whether field k of what t is, or points to, leads to the struct from which it has its free:
// it stands for the whole value there.
func (f *Frees) Embeds(t types.Type, k int) bool {
	free := f.Of(t)
	return free != nil && len(free.Embedded) > 0 && free.Embedded[0] == k
}

// findBasic returns how handles of a basic type are freed. They look alike, whoever made them: one is freed
// by a function of the package that made it.
func (f *Frees) findBasic(t types.Type) *Free {
	all := &Free{made: map[*types.Package]*Free{}, Repeatable: true}
	if f.pkg == nil {
		return nil
	}
	for _, q := range append([]*types.Package{f.pkg}, f.pkg.Imports()...) {
		for _, fr := range f.by(q).basic {
			if fr.Frees(t) && f.usable(fr) {
				all.made[q] = fr.free()
				all.Repeatable = all.Repeatable && fr.Repeatable
				break
			}
		}
	}
	if len(all.made) == 0 {
		return nil
	}
	return all
}

// All lists what releases a value, of a slice or a map what releases the parts of its elements.
func (free *Free) All() []*Free {
	if free.Each == nil {
		return []*Free{free}
	}
	var all []*Free
	for _, o := range free.Each {
		all = append(all, o.Free)
	}
	return all
}

// Made returns how what packages made is freed; nil if no function is known that frees all of it.
func (free *Free) Made(by []*types.Package) *Free {
	if free.Each != nil {
		var all []Owned
		for _, o := range free.Each {
			made := o.Made(by)
			if made == nil {
				return nil
			}
			all = append(all, Owned{o.Path, made})
		}
		return each(all)
	}
	if free.made == nil {
		return free
	}
	var found *Free
	for _, q := range by {
		if free.made[q] == nil || found != nil && found != free.made[q] {
			return nil
		}
		found = free.made[q]
	}
	return found
}
