package proof

// Paths name the parts of an object: one rune for each step, so that one path is the beginning
// of another only if the other leads through it.

import (
	"go/types"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"
)

const (
	derived  = "'" // a part of a resource, or of an operand of the root
	address  = "&" // behind derived, of an operand that points to a struct: where one of its fields is
	numbers  = "#" // the numbers of a resource that a line of its library says a slice views: no handles
	index    = "[" // the elements of a slice, an array or a map; or, before a constant, one of an array
	keys     = "]" // the keys of a map
	behind   = "@" // of a part of a result: what a pointer or a slice there leads to
	anywhere = "*" // any part of an object, where it is not known which or there are too many to tell apart
)

// step returns the path of a field.
func step(field int) string { return string(rune(0x100 + field)) }

// overlap reports whether one of two paths leads through the other.
func overlap(p, q string) bool { return partOf(p, q) || partOf(q, p) }

// partOf reports whether path p is q, or leads through it.
func partOf(p, q string) bool { return q == anywhere || strings.HasPrefix(p, q) }

// fixedIndex is behind index what says which element of an array it is.
const fixedIndex = 0x10000

// indexStep returns the step from a slice, or a pointer to an array, to an element. Of an array whose
// elements have no parts, and of which no slice is made, one with a constant index is told apart: who has a
// slice may begin elsewhere, or give the elements another order. With parts, that of any element would not
// lead through that of this one.
func (c *checker) indexStep(i *ssa.IndexAddr) string {
	k, ok := i.Index.(*ssa.Const)
	if !ok || !toArray(i.X) {
		return index
	}
	array := i.X.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Array)
	if n := k.Int64(); !c.hasParts(array.Elem()) && 0 <= n && n < maxParts && !c.slices(i.Parent(), array) {
		return index + string(rune(fixedIndex+n))
	}
	return index
}

// hasParts reports whether values of a type have parts that this package can name: a struct of another one
// with unexported fields has none.
func (c *checker) hasParts(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Struct:
		n, named := types.Unalias(t).(*types.Named)
		if !named || n.Obj().Pkg() == c.pkg {
			return true
		}
		for f := range u.Fields() {
			if f.Exported() {
				return true
			}
		}
		return false
	case *types.Array:
		return true
	}
	return false
}

// slices reports whether fn, or a function that it is a literal of, or one in these, makes a slice of an
// array of a type, other than those which stand for the elements of a literal, or for arguments.
func (c *checker) slices(fn *ssa.Function, array types.Type) bool {
	for fn.Parent() != nil {
		fn = fn.Parent()
	}
	sliced := c.sliced[fn]
	if sliced == nil {
		sliced = &typeutil.Map{}
		c.sliced[fn] = sliced
		inside := func(fn *ssa.Function) []*ssa.Function { return fn.AnonFuncs }
		for i := range instrsOf(slices.Collect(maps.Keys(reachable(inside, fn)))...) {
			if s, ok := i.(*ssa.Slice); ok && toArray(s.X) && !isBacking(s.X) {
				sliced.Set(s.X.Type().Underlying().(*types.Pointer).Elem().Underlying(), true)
			}
			if retypes(i) {
				sliced.Set(types.Typ[types.UnsafePointer], true)
			}
		}
	}
	return sliced.At(array) != nil || sliced.At(types.Typ[types.UnsafePointer]) != nil
}

// isBacking reports whether v is an array that nobody can name.
func isBacking(v ssa.Value) bool {
	a, ok := v.(*ssa.Alloc)
	return ok && (a.Comment == "slicelit" || a.Comment == "varargs")
}

// indexed reports whether a path leads to an element of a slice, an array or a map.
func indexed(p string) bool { return strings.Contains(p, index) || p == anywhere }

// alike reports whether two paths differ in nothing but constant indices.
func alike(p, q string) bool {
	return strings.Map(noFixed, p) == strings.Map(noFixed, q)
}

func noFixed(r rune) rune {
	if r >= fixedIndex {
		return -1
	}
	return r
}

// several reports whether a path may stand for several places, of which a store writes one.
func several(p string) bool {
	for _, step := range strings.Split(p, index)[1:] {
		if r, _ := utf8.DecodeRuneInString(step); r < fixedIndex || r == utf8.RuneError {
			return true
		}
	}
	return p == anywhere || strings.Contains(p, keys)
}

// elem returns the number of an element. Of an object with many parts no more are told apart,
// nor below maxPath.
func (f *family) elem(o *object, path string) int {
	if strings.Contains(path, anywhere) || utf8.RuneCountInString(path) > maxPath {
		path = anywhere
	}
	id, ok := f.elemID[elem{o, path}]
	if !ok && len(o.ids) >= maxParts && path != anywhere {
		return f.elem(o, anywhere)
	}
	if !ok {
		id = len(f.elems)
		f.elems = append(f.elems, elem{o, path})
		f.content = append(f.content, nil)
		f.elemID[elem{o, path}] = id
		o.ids = append(o.ids, id)
		f.changed = true
		f.tooBig = f.tooBig || id > maxElems
	}
	return id
}

// retypes reports whether an instruction may give memory another type, or lead beside what it is the address
// of: whoever has that may write any field.
func retypes(i ssa.Instruction) bool {
	if x, ok := i.(*ssa.Convert); ok {
		return isUnsafe(x.Type()) || isUnsafe(x.X.Type())
	}
	k := callOf(i)
	if k == nil {
		return false
	}
	b, ok := k.Common().Value.(*ssa.Builtin)
	return ok && b.Name() == "Slice"
}
