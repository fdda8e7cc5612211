package escape

// Raw pointers that outlive the last use of their buffer.

import (
	"go/types"
	"slices"
	"strings"
)

// cMemory reports whether t is a pointer to memory of C's: the address itself,
// which no handle of Go's keeps alive.
func cMemory(t types.Type) bool {
	p, ok := t.Underlying().(*types.Pointer)
	if !ok {
		return false
	}
	switch e := types.Unalias(p.Elem()).(type) {
	case *types.Basic:
		return true
	case *types.Named:
		return strings.HasPrefix(e.Obj().Name(), "_Ctype_")
	}
	return false
}

func rawType(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && (b.Kind() == types.UnsafePointer || b.Kind() == types.Uintptr)
}

// raw reports whether member m of o was reached through a raw pointer.
func (o *object) raw(m *value) bool {
	for i := 0; m != nil && m != o.def && i < 100; i++ {
		if rawType(m.typ0()) {
			return !rawType(o.def.typ0())
		}
		m = o.from[m]
	}
	return false
}

// rawLast returns a use through a raw pointer after which the buffer is not
// used otherwise, nil if there is none.
func (w *flow) rawLast(o *object) *value {
	if rawType(o.def.typ0()) || cMemory(o.def.typ0()) {
		return nil
	}
	isRaw := func(at *value) bool {
		any := false
		for _, a := range at.args {
			if _, ok := o.members[a]; ok {
				if !o.raw(a) {
					return false
				}
				any = true
			}
		}
		return any
	}
	var raws []*value
	for at := range o.events {
		if isRaw(at) && (at.op == opCall || at.op == opUse) {
			raws = append(raws, at)
		}
	}
	slices.SortFunc(raws, func(a, b *value) int { return int(a.pos - b.pos) })
	if len(raws) == 0 {
		return nil
	}
	ends := append(w.takeovers(o), o.def.where())
	for at := range o.events {
		if !isRaw(at) {
			ends = append(ends, at)
		}
	}
	// What is used, or goes on under another name.
	later := newFinder(o.def.where(), ends, func(v *value) turn {
		switch {
		case v == o.def.where():
			return leave
		case len(o.events[v]) > 0 && !isRaw(v), w.becomes(o, v):
			return found
		}
		return goOn
	})
	for _, at := range raws {
		if !later.from(at.blk, at.at+1) {
			return at
		}
	}
	return nil
}

// becomes reports whether v is a phi that takes over o.
func (w *flow) becomes(o *object, v *value) bool {
	return v.op == opPhi && w.owner[v] && slices.ContainsFunc(v.args, func(a *value) bool { return origin(a) == o.def })
}
