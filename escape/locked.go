package escape

// What is left as it is: files that nobody edits, and lines that say so.

import (
	"go/ast"
	"go/token"
	"strings"

	"github.com/lastuse/lastuse/escape/internal/pointsto"
	"github.com/lastuse/lastuse/escape/spec"
)

// kept returns the reason of a //lastuse:keep on the line of pos.
func (p *subject) kept(pos token.Pos) string {
	f := p.file(pos)
	if f == nil {
		return ""
	}
	m, ok := p.keeps[f]
	if !ok {
		m = spec.Keeps(p.fset, f)
		p.keeps[f] = m
	}
	return m[p.fset.PositionFor(pos, false).Line]
}

// lockedBy says why a file is not edited; "" if it is.
func (p *subject) lockedBy(f *ast.File) string {
	for _, im := range f.Imports {
		if im.Path.Value == `"C"` {
			return "a cgo file is not edited"
		}
	}
	if ast.IsGenerated(f) {
		switch {
		case fromCgo(f) && p.cgo:
			return ""
		case fromCgo(f):
			return "a cgo file is not edited"
		}
		return "a generated file is not edited"
	}
	return ""
}

// fromCgo reports whether f is cgo's translation of a file that imports "C".
func fromCgo(f *ast.File) bool {
	for _, g := range f.Comments {
		if g.Pos() < f.Package && strings.Contains(g.Text(), "cmd/cgo") {
			return true
		}
	}
	return false
}

// spared says why what a site makes is left alone; "" if it is not.
func (p *subject) spared(s *pointsto.Site) string {
	if why := p.kept(s.Pos()); why != "" {
		return "//lastuse:keep " + why
	}
	return p.expected(s)
}
