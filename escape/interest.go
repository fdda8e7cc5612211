package escape

import (
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/spec"
)

// interesting reports whether the package can reach a resource type at all.
func (p *subject) interesting(own []*spec.Line, reaches func(*types.Package) bool) bool {
	if len(own) > 0 || p.set.Freers(p.types) != nil || p.set.OfModule(p.types.Path()) {
		return true
	}
	for _, q := range p.types.Imports() {
		if reaches(q) || p.set.Freers(q) != nil {
			return true
		}
	}
	return p.ownsC()
}

// ownsC reports whether a spec speaks of what a C function that the package calls
// makes or frees.
func (p *subject) ownsC() bool {
	scope := p.types.Scope()
	for _, name := range scope.Names() {
		f, ok := scope.Lookup(name).(*types.Func)
		if !ok {
			continue
		}
		if _, isC := cFunction(f); !isC {
			continue
		}
		line, ok := p.set.Lookup(spec.FullName(f))
		if ok && slices.ContainsFunc(line.Clauses, func(c spec.Clause) bool { return c.Effect == spec.Owned || c.Effect == spec.Freed }) {
			return true
		}
	}
	return false
}
