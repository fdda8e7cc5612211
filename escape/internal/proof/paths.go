package proof

// Paths name the parts of an object: one rune for each step, so that one path is the beginning
// of another only if the other leads through it.

import (
	"strings"
	"unicode/utf8"
)

const (
	derived  = "'" // a part of a resource, or of an operand of the root
	index    = "[" // the elements of a slice, an array or a map, together
	anywhere = "*" // any part of an object, where it is not known which or there are too many to tell apart
)

// step returns the path of a field.
func step(field int) string { return string(rune(0x100 + field)) }

// overlap reports whether one of two paths leads through the other.
func overlap(p, q string) bool { return partOf(p, q) || partOf(q, p) }

// partOf reports whether path p is q, or leads through it.
func partOf(p, q string) bool { return q == anywhere || strings.HasPrefix(p, q) }

// several reports whether a path may stand for several places, of which a store writes one.
func several(p string) bool { return strings.Contains(p, index) || p == anywhere }

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
