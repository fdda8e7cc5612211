package proof

// Paths name the parts of an object: one rune for each step, so that one path is the beginning
// of another only if the other leads through it.

import (
	"go/types"
	"strings"
	"unicode/utf8"

	"golang.org/x/tools/go/ssa"
)

const (
	derived  = "'" // a part of a resource, or of an operand of the root
	index    = "[" // the elements of a slice, an array or a map; or, before a constant, one of an array
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

// indexStep returns the step from x, a slice or a pointer to an array, to an element. Of an array whose
// elements have no parts, one with a constant index is told apart. A slice of it may begin elsewhere, so
// through that any is reached.
func indexStep(x, i ssa.Value) string {
	c, ok := i.(*ssa.Const)
	if !ok || !toArray(x) {
		return index
	}
	switch x.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Array).Elem().Underlying().(type) {
	case *types.Struct, *types.Array:
		return index
	}
	if n := c.Int64(); 0 <= n && n < maxParts {
		return index + string(rune(fixedIndex+n))
	}
	return index
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
	return p == anywhere
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
		f.tooBig = f.tooBig || id > maxElems
	}
	return id
}
