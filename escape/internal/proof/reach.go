package proof

// Sets of elements: what can be reached from one, and its parts.

import (
	"go/types"
	"iter"
)

// leads returns the elements in s.
func (f *family) leads(s set) iter.Seq[elem] {
	return func(yield func(elem) bool) {
		for id := range s.all() {
			if !yield(f.elems[id]) {
				return
			}
		}
	}
}

// some reports whether s has an element that is so.
func (f *family) some(s set, is func(elem) bool) bool {
	for e := range f.leads(s) {
		if is(e) {
			return true
		}
	}
	return false
}

// only reports whether s has elements, and nothing but such.
func (f *family) only(s set, is func(elem) bool) bool {
	return !s.empty() && !f.some(s, func(e elem) bool { return !is(e) })
}

// parts returns s with what belongs to it as a whole made a part: a view.
func (f *family) parts(s set) set {
	var out set
	for id := range s.all() {
		if e := f.elems[id]; (e.obj.kind == siteObj || e.obj.kind == paramObj) && e.path != numbers && !e.field() {
			out.union(f.partsOf(e.obj))
		} else {
			out.add(id)
		}
	}
	return out
}

// partsOf returns the parts of a resource, with what it views, or of an operand of the root.
func (f *family) partsOf(o *object) set {
	out := single(f.elem(o, derived))
	for _, id := range o.ids {
		out.union(f.content[id])
	}
	return out
}

// lentParts returns what somebody may return who has s: any part of what it leads to.
func (f *family) lentParts(s set) set {
	return f.somewhere(f.parts(f.reach(s)))
}

// viewed returns s and what resources in it view.
func (f *family) viewed(s set) set {
	return f.closure(s, func(o *object) bool { return o.kind == siteObj })
}

// reach returns s and all that can be reached from it.
func (f *family) reach(s set) set { return f.closure(s, func(*object) bool { return true }) }

// handed returns s and all that who has it can reach: what a literal captures is for its body alone.
func (f *family) handed(s set) set {
	return f.closure(s, func(o *object) bool { return o.kind != litObj || !f.member[o.fn] })
}

// closure returns s and what can be reached from it through objects that are open.
func (f *family) closure(s set, open func(*object) bool) set {
	out := s.clone()
	f.closures++
	for again := true; again; {
		again = false
		for id := range out.all() { // what is added in front of id waits for the next round
			o := f.elems[id].obj
			if o.closure == f.closures || o.kind != memObj && o.kind != litObj && o.kind != siteObj || !open(o) {
				continue
			}
			o.closure = f.closures
			for _, q := range o.ids {
				if out.union(f.content[q]); o.kind != siteObj {
					out.add(q)
				}
			}
			again = true
		}
	}
	return out
}

// somewhere returns s with any part of memory in place of the one that it leads to.
func (f *family) somewhere(s set) set {
	var out set
	for id := range s.all() {
		if o := f.elems[id].obj; o.kind == memObj {
			id = f.elem(o, anywhere)
		}
		out.add(id)
	}
	return out
}

// within is inside; "" is no step.
func (f *family) within(s set, step string) set {
	if step == "" {
		return s
	}
	return f.inside(s, step)
}

// inside moves s to a part of what it leads to.
func (f *family) inside(s set, step string) set {
	var out set
	for id := range s.all() {
		switch e := f.elems[id]; e.obj.kind {
		case memObj:
			out.add(f.elem(e.obj, e.path+step))
		case siteObj, paramObj:
			if at, ok := e.addressOf(step); ok {
				out.add(f.elem(at.obj, at.path))
			} else {
				out.union(f.parts(single(id)))
			}
		default:
			out.add(id)
		}
	}
	return out
}

// ofNumbers returns s with the numbers of resources in place of their parts.
func (f *family) ofNumbers(s set) set {
	var out set
	for id := range s.all() {
		if o := f.elems[id].obj; o.kind == siteObj {
			id = f.elem(o, numbers)
		}
		out.add(id)
	}
	return out
}

// givesData reports whether what a source gives is no handle, unless memory of the family has it.
func (f *family) givesData(src source) bool {
	return src.data == anyones || src.data == library && !f.some(f.of(src.v), func(e elem) bool {
		return (e.obj.kind == siteObj || e.obj.kind == paramObj) && e.path != numbers
	})
}

// field returns what a part, by a path, of a value of a type may lead to that s says. What an interface has
// may be that value, as well as be a part of it.
func (f *family) field(s set, of types.Type, path string) set {
	var out set
	for id := range s.all() {
		e := f.elems[id]
		o := e.obj
		if o.kind == paramObj && e.path == "" && types.Identical(o.typ, of) && isNumber(of, path) {
			out.add(f.elem(o, derived+path))
			continue
		}
		is := o.kind == paramObj || o.kind == siteObj && types.Identical(of.Underlying(), o.typ.Underlying())
		has := is
		if o.kind == siteObj && types.IsInterface(o.typ) {
			has = types.Implements(of, o.typ.Underlying().(*types.Interface))
		}
		if has {
			out.union(f.partsOf(o))
		}
		if !is {
			out.add(id)
		}
	}
	return out
}
