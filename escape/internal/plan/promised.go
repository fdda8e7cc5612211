package plan

import (
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/effect"
	"github.com/lastuse/lastuse/escape/spec"
)

// This file is about interfaces of the package of which no line says what frees a value in them. If each type
// of the package that implements one frees its values by the same method, or owns nothing and does nothing in
// it, that is what the method is for, and who makes a value and returns it in the interface leaves it to
// the caller to call that. Types of others may do something else there, so nothing follows for what the value
// is good for behind such a call, and the proof takes it for no free.

// A promise is a method of an interface of the package that frees what is in there, if all offers keep it.
type promise struct {
	of   *types.TypeName
	free *types.Func
	by   []offer
}

// An offer is a type that implements an interface, and the method that it has for one of it.
type offer struct {
	of *types.TypeName
	by *types.Func
}

// promises lists the methods of interfaces of the package that may free, as far as types tell.
func promises(in *Input) (out []*promise) {
	var all []*types.TypeName
	for _, name := range in.Types.Scope().Names() {
		if n, ok := in.Types.Scope().Lookup(name).(*types.TypeName); ok && !n.IsAlias() {
			all = append(all, n)
		}
	}
	for _, of := range all {
		i, ok := of.Type().Underlying().(*types.Interface)
		if !ok || !i.IsMethodSet() {
			continue
		}
		for m := range i.ExplicitMethods() {
			if _, said := in.Set.Lookup(spec.FullName(m)); said || m.Signature().Params().Len() > 0 {
				continue
			}
			if p := (&promise{of, m, offers(all, i, m)}); len(p.by) > 0 {
				out = append(out, p)
			}
		}
	}
	return out
}

// offers lists what types have for method m of an interface, beside those that embed it.
func offers(all []*types.TypeName, i *types.Interface, m *types.Func) (out []offer) {
	for _, n := range all {
		p := types.NewPointer(n.Type())
		o, _, _ := types.LookupFieldOrMethod(p, true, m.Pkg(), m.Name())
		fn, ok := o.(*types.Func)
		if ok && !types.IsInterface(n.Type()) && !types.IsInterface(fn.Signature().Recv().Type()) && types.Implements(p, i) {
			out = append(out, offer{n, fn.Origin()})
		}
	}
	return out
}

// keeps notes that a method of an interface frees what is in there, if that is so, and reports whether it is.
func (s *solver) keeps(p *promise) bool {
	some, found := false, &effect.Found{Func: p.free, Repeatable: true, Resets: true}
	for _, o := range p.by {
		t := o.of.Type()
		switch free := s.frees.Of(t); {
		case free != nil && free.Func == o.by:
			some, found.Repeatable = true, found.Repeatable && free.Repeatable
			if found.Count == nil {
				found.Count = s.frees.Count(t)
			}
		case s.frees.Named(t) || s.owns(t) || !s.table.Func(o.by).Param(0).Borrows():
			return false
		}
	}
	if !some || s.frees.Of(p.of.Type()) != nil {
		return false
	}
	s.frees.Infer(found)
	return true
}
