package plan

import (
	"go/types"

	"github.com/lastuse/lastuse/escape/internal/calls"
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
	by   []calls.Offer
}

// promises lists the methods of interfaces of the package that may free, as far as types tell.
func promises(in *Input) (out []*promise) {
	for _, name := range in.Types.Scope().Names() {
		of, ok := in.Types.Scope().Lookup(name).(*types.TypeName)
		if !ok || of.IsAlias() {
			continue
		}
		i, ok := of.Type().Underlying().(*types.Interface)
		if !ok || !i.IsMethodSet() {
			continue
		}
		for m := range i.ExplicitMethods() {
			if _, said := in.Set.Lookup(spec.FullName(m)); said || m.Signature().Params().Len() > 0 {
				continue
			}
			if by := calls.Offers(in.Types, i, m); len(by) > 0 {
				out = append(out, &promise{of, m, by})
			}
		}
	}
	return out
}

// keeps notes that a method of an interface frees what is in there, if that is so, and reports whether it is.
func (s *solver) keeps(p *promise) bool {
	some, found := false, &effect.Found{Func: p.free, Repeatable: true, Resets: true}
	for _, o := range p.by {
		t := o.Of.Type()
		switch free := s.frees.Of(t); {
		case free != nil && free.Func == o.By:
			some, found.Repeatable = true, found.Repeatable && free.Repeatable
			if found.Count == nil {
				found.Count = s.frees.Count(t)
			}
		case s.frees.Named(t) || s.owns(t) || !s.table.Func(o.By).Param(0).Borrows():
			return false
		}
	}
	if !some || s.frees.Of(p.of.Type()) != nil {
		return false
	}
	s.frees.Infer(found)
	return true
}
