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
		if within(x.Path, path) || within(path, x.Path) {
			return Param{Escapes: When{Cond: Always}}
		}
	}
	p.Parts = nil
	return p
}

// within reports whether one path leads into another.
func within(path, in string) bool {
	rest, ok := strings.CutPrefix(path, in)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

// Rest returns the effect on what is no part of the operand, where its parts are told apart: what frees
// it frees parts.
func (p Param) Rest() Param {
	if len(p.Parts) > 0 {
		p.Parts, p.Freed, p.Repeatable = nil, When{}, false
	}
	return p
}

// Part returns what is said of a part of a result.
func (r Result) Part(path string) (Result, bool) { return find(r.Parts, path) }

// Together returns the effect on an operand whose parts are not told apart.
func (p Param) Together() Param {
	if p.Turned {
		p.Escapes, p.Stays = When{}, Stays{}
	}
	for _, x := range p.Parts {
		if !x.Is.Borrows() && (x.Is.Freed != p.Freed || x.Is.Escapes != p.Escapes || x.Is.Retained) {
			p.Escapes = When{Cond: Always}
		}
	}
	p.Parts = nil
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
