package escape

import (
	"go/types"
	"slices"
	"strings"

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

// cFunction returns the name of the C function that cgo made f for.
func cFunction(f *types.Func) (string, bool) {
	name := f.Name()
	if c, ok := strings.CutPrefix(name, "_C2func_"); ok {
		name = "_Cfunc_" + c
	}
	switch c, ok := strings.CutPrefix(name, "_Cfunc_"); {
	case !ok || f.Signature().Recv() != nil:
		return "", false
	case c == "_CMalloc":
		return "malloc", true
	default:
		return c, true
	}
}
