package spec

import (
	"cmp"
	"go/types"
	"iter"
	"slices"
	"strings"
	"sync"
)

// A Freer is a way to free values of a type: a function with a freed operand.
type Freer struct {
	Func       *types.Func
	Operand    Operand // bound: Recv, or Arg with an Index
	Repeatable bool
	Cond       Cond
	Line       *Line
}

// Type returns the type that f frees, without the pointer if it is one.
func (f Freer) Type() types.Type { return deref(f.Operand.Type(f.Func.Signature())) }

// Frees reports whether f frees values of type t, ignoring one pointer on
// either side. Instances of a generic type match the type they come from.
func (f Freer) Frees(t types.Type) bool {
	a, b := f.Type(), deref(t)
	if types.Identical(a, b) {
		return true
	}
	m, ok1 := a.(*types.Named)
	n, ok2 := b.(*types.Named)
	return ok1 && ok2 && m.Origin() == n.Origin()
}

func deref(t types.Type) types.Type {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		return types.Unalias(p.Elem())
	}
	return t
}

// A freerCache remembers what Freers said of a package: a program asks for each
// type, and looking is slow. The answers hold as long as no line is added.
type freerCache struct {
	mu sync.Mutex
	of map[*types.Package][]Freer
}

// Freers returns the functions and methods declared in pkg that free something
// according to s, the first in the spec first: by level, then in the order in
// which their lines were read, then by name. Callers do not change the result.
func (s *Set) Freers(pkg *types.Package) []Freer {
	c := s.freers
	if c == nil {
		return s.findFreers(pkg)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.of[pkg]; ok {
		return have
	}
	if c.of == nil {
		c.of = map[*types.Package][]Freer{}
	}
	found := s.findFreers(pkg)
	c.of[pkg] = found
	return found
}

// findFreers is quick for a package that no line with a freed operand names.
func (s *Set) findFreers(pkg *types.Package) []Freer {
	if !s.frees(pkg.Path()) {
		return nil
	}
	var all []Freer
	for f := range Declared(pkg) {
		l, ok := s.Lookup(FullName(f))
		if !ok || !l.frees() {
			continue
		}
		for _, c := range Bind(l.Clauses, f.Signature()) {
			if c.Effect == Freed {
				all = append(all, Freer{Func: f, Operand: c.Operand, Repeatable: c.Repeatable, Cond: c.Cond, Line: l})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Freer) int {
		return cmp.Or(
			cmp.Compare(b.Line.Level, a.Line.Level),
			cmp.Compare(a.Line.order, b.Line.order),
			cmp.Compare(FullName(a.Func), FullName(b.Func)),
		)
	})
	return all
}

// frees reports whether the line has a freed operand.
func (l *Line) frees() bool {
	return slices.ContainsFunc(l.Clauses, func(c Clause) bool { return c.Effect == Freed })
}

// frees reports whether some line with a freed operand may name a function of
// the package with this import path.
func (s *Set) frees(path string) bool {
	tables := s.tables[:]
	if s.std {
		for _, lib := range embeddedLibs {
			if lib.about(path) {
				tables = append(slices.Clone(tables), lib.table())
			}
		}
	}
	return slices.ContainsFunc(tables, func(t *table) bool { return t.mentions(path, (*Line).frees) })
}

// Absent returns the first line that was added which names a method of a type as its free that the type does
// not have, as a version of its library may not; nil if there is none.
func (s *Set) Absent(n *types.Named) *Line {
	if n.Obj().Pkg() == nil {
		return nil
	}
	has := map[string]bool{}
	for m := range n.Origin().Methods() {
		has[FullName(m)] = true
	}
	of := n.Obj().Pkg().Path() + "." + n.Obj().Name() + ")."
	for _, l := range s.Lines() {
		free := slices.ContainsFunc(l.Clauses, func(c Clause) bool { return c.Effect == Freed && c.Operand.Kind == Recv })
		if free && !l.IsGlob() && !has[l.Name] && strings.HasPrefix(strings.TrimLeft(l.Name, "(*"), of) {
			return l
		}
	}
	return nil
}

// OfModule reports whether the lastuse.spec of a module, the main one or not, may
// name functions of the package with this import path.
func (s *Set) OfModule(path string) bool {
	every := func(*Line) bool { return true }
	return s.tables[Dependency].mentions(path, every) || s.tables[Module].mentions(path, every)
}

// mentions reports whether some line that want accepts may name a function of
// the package with this import path. The table may be nil.
func (t *table) mentions(path string, want func(*Line) bool) bool {
	if t == nil {
		return false
	}
	mentions := func(l *Line) bool {
		if !want(l) {
			return false
		}
		name := strings.TrimPrefix(strings.TrimPrefix(l.Name, "("), "*")
		if l.IsGlob() {
			name = strings.TrimSuffix(name, "*")
			return strings.HasPrefix(name, path+".") || strings.HasPrefix(path+".", name)
		}
		return strings.HasPrefix(name, path+".")
	}
	for _, l := range t.exact {
		if mentions(l) {
			return true
		}
	}
	return slices.ContainsFunc(t.globs, mentions)
}

// Declared yields the functions of a package: those at package level and the
// methods of its types, interfaces included, each once, in name order.
func Declared(pkg *types.Package) iter.Seq[*types.Func] {
	return func(yield func(*types.Func) bool) {
		scope := pkg.Scope()
		for _, name := range scope.Names() {
			switch obj := scope.Lookup(name).(type) {
			case *types.Func:
				if !yield(obj) {
					return
				}
			case *types.TypeName:
				n, ok := obj.Type().(*types.Named)
				if !ok || obj.IsAlias() {
					continue
				}
				for m := range n.Methods() {
					if !yield(m) {
						return
					}
				}
				if i, ok := n.Underlying().(*types.Interface); ok {
					for m := range i.ExplicitMethods() {
						if !yield(m) {
							return
						}
					}
				}
			}
		}
	}
}
