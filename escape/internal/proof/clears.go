package proof

// What a callee leaves in the fields of memory that it is lent: zero, or what nobody knows.

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// cleared returns the parts of memory that a callee which does p may give zero, of what v leads to.
func (f *family) cleared(v ssa.Value, p Param) (out set) {
	for _, path := range p.Clears {
		for e := range f.leads(f.along(f.of(v), path)) {
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

// spoiled returns the fields of which nobody knows what a callee leaves there that does p to what leads to s:
// those of structs that it frees as a whole.
func (f *family) spoiled(p Param, s set) (out set) {
	if !p.Frees {
		return nil
	}
	whole := s
	if len(p.Parts) > 0 {
		whole = nil
		for _, path := range p.Parts {
			whole.union(f.load(f.along(s, path)))
		}
	}
	for id := range whole.all() {
		e := f.elems[id]
		if e.obj.kind != memObj || f.some(f.content[id], elem.resource) {
			continue // it has a resource
		}
		if t := partType(e.obj.typ, strings.Map(noFixed, e.path)); t == nil || !isStruct(t) {
			continue // it is elements
		}
		for _, q := range e.obj.ids {
			if path := f.elems[q].path; path != e.path && partOf(path, e.path) {
				out.add(q)
			}
		}
	}
	return out
}
