package proof

// What a callee leaves in the fields of memory that it is lent: zero, or what nobody knows.

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// cleared returns the parts of memory that a callee which does p may give zero, of what its operand leads to.
func (f *family) cleared(s set, p Param) (out set) {
	for _, path := range p.Clears {
		for e := range f.leads(f.along(s, path)) {
			for _, q := range e.obj.ids {
				if e.obj.kind == memObj && partOf(f.elems[q].path, e.path) {
					out.add(q)
				}
			}
		}
	}
	return out
}

// passesOn notes that parts of operand v of a call may be given zero, as parts of an operand of the root.
func (f *family) passesOn(o *object, v ssa.Value, parts []string) {
	root := f.root.Params[o.index]
	_, pointer := root.Type().Underlying().(*types.Pointer)
	at, loads := fieldOf(v, root)
	for _, path := range parts {
		switch {
		case !pointer:
			f.params[o.index].Stores = true
		case loads == 0:
			f.params[o.index].clears(at + path)
		case loads == 1 && at != "":
			f.params[o.index].clears(at + behind + path)
		default:
			f.params[o.index].Stores = true
		}
	}
}

// spoiled returns the parts of which nobody knows what a callee leaves there that does p to v: those of what
// it frees as a whole. Elements of a slice that is freed stay, but for what a body is seen to store there.
func (f *family) spoiled(p Param, v ssa.Value) (out set) {
	list, ok := v.Type().Underlying().(*types.Slice)
	if !p.Frees || ok && !f.c.hasParts(list.Elem()) {
		return nil
	}
	s := f.of(v)
	whole := s
	if len(p.Parts) > 0 {
		whole = f.inParts(s, p.Parts)
	}
	for id := range whole.all() {
		e := f.elems[id]
		if e.obj.kind != memObj || f.some(f.content[id], elem.resource) {
			continue // it has a resource
		}
		for _, q := range e.obj.ids {
			if path := f.elems[q].path; path != e.path && partOf(path, e.path) {
				out.add(q)
			}
		}
	}
	return out
}
