package effect

import (
	"slices"
	"strings"
)

// A Part says what a call does to a part of an operand, or what a part of a result is: a field
// of it, or of what it points to.
type Part[T any] struct {
	Path string // as it stands behind the name: ".a", ".a[0].b"
	Is   T
}

// find returns what parts say of a path.
func find[T any](parts []Part[T], path string) (T, bool) {
	k := slices.IndexFunc(parts, func(p Part[T]) bool { return p.Path == path })
	if k < 0 {
		var none T
		return none, false
	}
	return parts[k].Is, true
}

// Put notes what is said of a path, in the order of paths.
func Put[T any](parts []Part[T], path string, is T) []Part[T] {
	k, ok := slices.BinarySearchFunc(parts, path, func(p Part[T], path string) int { return strings.Compare(p.Path, path) })
	if ok {
		parts[k].Is = is
		return parts
	}
	return slices.Insert(parts, k, Part[T]{path, is})
}

// At returns the effect on a part of the operand: what is said of that or, where nothing is, of
// the whole. What is said of a part of it, or of a larger one, is not told apart.
func (p Param) At(path string) Param {
	if is, ok := find(p.Parts, path); ok {
		return is
	}
	for _, x := range p.Parts {
		if strings.HasPrefix(x.Path, path) || strings.HasPrefix(path, x.Path) {
			return Param{Escapes: When{Cond: Always}}
		}
	}
	p.Parts = nil
	return p
}

// Together returns the effect on an operand whose parts are not told apart.
func (p Param) Together() Param {
	if len(p.Parts) > 0 {
		p.Parts, p.Escapes = nil, When{Cond: Always}
	}
	return p
}

// joinParts joins what is said of the parts of two things, at a path of either.
func joinParts[T any](a, b []Part[T], join func(path string) T) []Part[T] {
	var out []Part[T]
	for _, list := range [][]Part[T]{a, b} {
		for _, p := range list {
			out = Put(out, p.Path, join(p.Path))
		}
	}
	return out
}
