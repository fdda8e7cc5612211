package escape

// Reference counts: when an earlier free is known to give memory back.

import (
	"go/types"
	"slices"
)

// counted reports whether values of type t are reference counted: whether one of
// their methods takes one more reference.
func (p *pkg) counted(t types.Type) bool {
	if t == nil {
		return false
	}
	if v := p.counts.At(t); v != nil {
		return v.(bool)
	}
	var ms *types.MethodSet
	if base := deref(t); types.IsInterface(base) {
		ms = types.NewMethodSet(base)
	} else {
		ms = types.NewMethodSet(types.NewPointer(base))
	}
	found := false
	for m := range ms.Methods() {
		if f, ok := m.Obj().(*types.Func); ok && f.Signature().Params().Len() == 0 {
			found = found || p.summaryOf(f).arg(-1).Retained
		}
	}
	p.counts.Set(t, found)
	return found
}

// shared reports whether o is reference counted and something else may hold a
// reference: then an earlier free need not give back anything. What takes o and
// makes a buffer, or takes it beside another one, may keep it.
func (w *flow) shared(o *object) bool {
	if !w.p.counted(o.def.typ0()) {
		return false
	}
	for at := range o.events {
		switch {
		case at.op != opCall && at.op != opDefer:
			if at.op == opAppend || at.op == opStore {
				return true
			}
			continue
		case at.call.sum.Unknown:
			return true
		}
		for _, r := range at.call.results {
			if w.p.holdsResource(r.typ0()) {
				return true
			}
		}
		for j, a := range at.args {
			if _, ours := o.members[a]; !ours && at.call.params[j] >= -1 && w.p.holdsResource(a.typ0()) {
				return true
			}
		}
	}
	return false
}

// allocates reports whether call v is known to allocate: it makes a buffer, and not
// merely one more reference to what it is given.
func (w *flow) allocates(v *value) bool {
	for i, r := range v.call.results {
		if i >= len(v.call.sum.Res) || !v.call.sum.Res[i].Owned {
			continue
		}
		if !w.p.counted(r.typ0()) {
			return true
		}
		if !slices.ContainsFunc(v.args, func(a *value) bool { return w.p.holdsResource(a.typ0()) }) {
			return true
		}
	}
	return false
}
