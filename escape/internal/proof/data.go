package proof

// Handles that are data: numbers, texts, and what is made of these. Who has data may make a handle of it, and
// who can write it makes one another.

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"
)

// data reports whether the handle may be made of numbers.
func (w *walker) data() bool { return w.site != nil && w.site.data }

// forged reports whether v may be the resource although nobody handed it on: handles that are data can be
// made of other data, counted to, or read from a text. A constant of a type that others use as well is taken
// for theirs.
func (w *walker) forged(v ssa.Value) bool {
	if !w.data() {
		return false
	}
	if i, ok := v.(*ssa.MakeInterface); ok {
		v = i.X
	}
	is := w.f.of(v)
	if p, ok := v.Type().Underlying().(*types.Pointer); ok && types.Identical(p.Elem(), w.site.typ) {
		is = w.f.load(is)
	} else if !types.Identical(v.Type(), w.site.typ) {
		return false
	}
	if c, ok := v.(*ssa.Const); ok {
		_, basic := c.Type().(*types.Basic)
		return !basic && c.Value != nil && c.Value.String() != "0"
	}
	known := false
	for e := range w.f.leads(is) {
		switch {
		case e.obj.kind == unknownObj, e.obj.kind == siteObj && e.path != "":
			return true
		case e.obj.kind != zeroObj:
			known = true
		}
	}
	return !known
}

// isData reports whether a handle is a number, a text, or made of these alone where this package may do so.
func (c *checker) isData(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&types.IsConstType != 0 && u.Info()&types.IsBoolean == 0
	case *types.Array:
		return c.isData(u.Elem())
	case *types.Struct:
		return c.hasParts(t) && !anyField(u, func(t types.Type) bool { return !c.isData(t) })
	}
	return false
}

// rewrites reports whether who is lent v may make handles in it others that are data of type t. It may write
// the numbers that v leads to. What leads to handles as such is written as is said, or seen, of the callee,
// but for handles of which no part is taken to be one: see noHandle.
func (c *checker) rewrites(v ssa.Value, t types.Type) bool {
	if i, ok := v.(*ssa.MakeInterface); ok {
		v = i.X
	}
	return !c.off[Callbacks] && (small(t) || !names(v.Type(), t, &typeutil.Map{}))
}

// dataIn reports whether an element has a handle that who is lent v may make another one.
func (f *family) dataIn(id int, v ssa.Value) bool {
	return f.inPlace(id) && f.some(f.content[id], func(e elem) bool {
		return e.resource() && e.obj.data && f.c.rewrites(v, e.obj.typ)
	})
}

// inPlace reports whether what is in an element may be written there: an interface has a copy.
func (f *family) inPlace(id int) bool {
	e := f.elems[id]
	t := partType(e.obj.typ, strings.Map(noFixed, e.path))
	return e.obj.kind == memObj && (t == nil || !types.IsInterface(t))
}

// rewritten reports whether who is lent v may make what is followed another one.
func (w *walker) rewritten(s *set, v ssa.Value) bool {
	if !w.data() || !w.f.c.rewrites(v, w.site.typ) {
		return false
	}
	for id := range w.f.reach(w.f.of(v)).all() {
		if w.inside(s, id) && w.f.inPlace(id) {
			return true
		}
	}
	return false
}

// small reports whether noHandle holds for each part of a type.
func small(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Array:
		return small(u.Elem())
	case *types.Struct:
		return !anyField(u, func(t types.Type) bool { return !small(t) })
	}
	return noHandle(t, true)
}

// names reports whether a value of type t may lead to one of type of, as such.
func names(t, of types.Type, seen *typeutil.Map) bool {
	if types.Identical(t, of) {
		return true
	} else if seen.Set(t, true) != nil {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Signature: // who calls it writes nothing that it holds
		return true
	case *types.Struct:
		return anyField(u, func(t types.Type) bool { return names(t, of, seen) })
	case *types.Map:
		return names(u.Key(), of, seen) || names(u.Elem(), of, seen)
	case interface{ Elem() types.Type }:
		return names(u.Elem(), of, seen)
	}
	return false
}

// anyField reports whether the type of a field of a struct is so.
func anyField(s *types.Struct, is func(types.Type) bool) bool {
	return slices.ContainsFunc(slices.Collect(s.Fields()), func(f *types.Var) bool { return is(f.Type()) })
}
