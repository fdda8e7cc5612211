package escape

// Which types are resources, and how their values are freed.

import (
	"go/types"
	"slices"

	"github.com/lastuse/lastuse/escape/spec"
)

// A freer is a way to free values of a type.
type freer struct {
	fn         *types.Func
	recv       bool
	repeatable bool
	nilOK      bool
	disarms    bool
	insists    bool // what it frees must hold something
	usable     bool // may stand in an inserted statement: no condition, no other operands
	pointer    bool // the operand is a pointer
	declared   bool // by a spec or directive
	resets     bool // the value may be used again
}

// freersOf returns the ways to free a value of type t, the first in the spec
// first.
func (p *pkg) freersOf(t types.Type) []*freer {
	t = types.Unalias(t)
	if pt, ok := t.(*types.Pointer); ok {
		t = types.Unalias(pt.Elem())
	}
	key := t
	if n, ok := t.(*types.Named); ok {
		key = n.Origin()
	}
	if v := p.frees.At(key); v != nil {
		return v.([]*freer)
	}
	var out []*freer
	switch t.(type) {
	case *types.Named, *types.Basic, *types.TypeParam:
	default:
		if _, ok := t.Underlying().(*types.Interface); !ok {
			p.frees.Set(key, out)
			return out
		}
	}
	p.frees.Set(key, out) // against recursion
	seen := map[*types.Func]bool{}
	add := func(f *types.Func, operand spec.Operand) {
		f = f.Origin()
		if seen[f] {
			return
		}
		fr := p.newFreer(f, operand)
		if fr == nil {
			return
		}
		seen[f] = true
		out = append(out, fr)
	}
	if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil {
		for _, f := range p.declaredFreers(n.Obj().Pkg()) {
			if f.Frees(t) {
				add(f.Func, f.Operand)
			}
		}
	} else if _, ok := t.(*types.Basic); ok {
		for _, f := range p.set.Freers(p.types) {
			if f.Frees(t) {
				add(f.Func, f.Operand)
			}
		}
	}
	// Methods, promoted ones included: directives and inference.
	ms := types.NewMethodSet(types.NewPointer(t))
	if types.IsInterface(t) {
		ms = types.NewMethodSet(t)
	}
	var methods []*types.Func
	for i := range ms.Len() {
		if f, ok := ms.At(i).Obj().(*types.Func); ok {
			methods = append(methods, f)
		}
	}
	slices.SortFunc(methods, func(a, b *types.Func) int { return int(a.Pos() - b.Pos()) })
	for _, m := range methods {
		if p.mayFree(m) {
			add(m, spec.Operand{Kind: spec.Recv})
		}
	}
	// Functions of the type's package that were inferred to free it.
	if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil && n.Obj().Pkg() != p.types {
		for _, f := range p.reached(n.Obj().Pkg()) {
			if f.Frees(t) {
				add(f.Func, f.Operand)
			}
		}
	}
	p.frees.Set(key, out)
	return out
}

// newFreer describes the way to free that f is with this operand; nil if it is none.
func (p *pkg) newFreer(f *types.Func, operand spec.Operand) *freer {
	s := p.summaryOf(f)
	i := operand.Index
	if operand.Kind == spec.Recv {
		i = -1
	}
	e := s.arg(i)
	if e.Freed.K == Never {
		return nil
	}
	sig := f.Signature()
	fr := &freer{fn: f, recv: operand.Kind == spec.Recv, repeatable: e.Repeatable, nilOK: e.NilOK, disarms: s.Disarms, insists: e.Insists, declared: s.Decided, resets: e.Resets}
	n := sig.Params().Len()
	fr.usable = e.Freed.K == Always && ((fr.recv && n == 0) || (!fr.recv && n == 1 && !sig.Variadic()))
	fr.pointer = isPointer(operand.Type(sig))
	if f.Pkg() != p.types && !f.Exported() {
		fr.usable = false
	}
	return fr
}

// freersFor returns the ways to free o as a value of type t. Handles of a basic type look
// alike, whoever made them: those that functions of another package returned are freed by
// functions of that package alone.
func (w *flow) freersFor(o *object, t types.Type) []*freer {
	t = types.Unalias(t)
	if _, basic := t.(*types.Basic); !basic {
		return w.p.freersOf(t)
	}
	sites := []*object{o}
	if o.group != nil {
		sites = o.group.objs
	}
	var makers []*types.Package
	for _, s := range sites {
		q := w.p.types
		switch {
		case s.def.op == opResult && s.def.args[0].fn != nil:
			q = s.def.args[0].fn.Pkg()
		case s.def.op == opPhi, s.coll:
			continue
		}
		if !slices.Contains(makers, q) {
			makers = append(makers, q)
		}
	}
	switch {
	case len(makers) > 1:
		return nil
	case len(makers) == 0 || makers[0] == w.p.types:
		return w.p.freersOf(t)
	}
	var out []*freer
	for _, f := range w.p.declaredFreers(makers[0]) {
		if f.Func.Pkg() != makers[0] || !f.Frees(t) {
			continue
		}
		if fr := w.p.newFreer(f.Func.Origin(), f.Operand); fr != nil {
			out = append(out, fr)
		}
	}
	return out
}

// mayFree keeps the search for destructors from asking for the summary of a
// function of this package that is not decided yet.
func (p *pkg) mayFree(m *types.Func) bool {
	m = m.Origin()
	if m.Pkg() == p.types && p.decls[m] != nil && p.sums[m] == nil {
		_, ok := p.set.Lookup(spec.FullName(m))
		return ok
	}
	return true
}

// A declaredFreer is a way to free something with who says so.
type declaredFreer struct {
	spec.Freer
	decided bool
	level   spec.Level
}

// declaredFreers lists the functions that specs and directives name, those of this
// package and those of the packages that declare them, for freeing values of types
// of package q: the first in the spec first.
func (p *pkg) declaredFreers(q *types.Package) []declaredFreer {
	if have, ok := p.freersFor[q]; ok {
		return have
	}
	var all []declaredFreer
	for _, r := range p.freerPackages(q) {
		for _, f := range p.set.Freers(r) {
			all = append(all, declaredFreer{f, true, f.Line.Level})
		}
		for _, f := range p.reached(r) {
			if f.decided {
				all = append(all, f)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b declaredFreer) int { return int(b.level) - int(a.level) })
	p.freersFor[q] = all
	return all
}

// reached lists the functions of another package that free something, as its fact
// says. The list is in the package's own order, inferred ones last.
func (p *pkg) reached(q *types.Package) []declaredFreer {
	if have, ok := p.freersOver[q]; ok || q == p.types {
		return have
	}
	var all []declaredFreer
	if r := p.facts.reach(q); r != nil && len(r.Freers) > 0 {
		byName := map[string]*types.Func{}
		for f := range spec.Declared(q) {
			byName[spec.FullName(f)] = f
		}
		for _, name := range r.Freers {
			f := byName[name]
			if f == nil {
				continue // not exported: the compiler's export data may lack it
			}
			s := p.summaryOf(f)
			add := func(o spec.Operand, e ArgEffect) {
				if e.Freed.K != Never {
					all = append(all, declaredFreer{spec.Freer{Func: f, Operand: o, Repeatable: e.Repeatable}, s.Decided, s.Level})
				}
			}
			if f.Signature().Recv() != nil {
				add(spec.Operand{Kind: spec.Recv}, s.arg(-1))
			}
			for i := range f.Signature().Params().Len() {
				add(spec.Operand{Kind: spec.Arg, Index: i}, s.arg(i))
			}
		}
	}
	p.freersOver[q] = all
	return all
}

// freerPackages lists where a function that frees a type of package q may be
// declared: q, this package, and what this package imports.
func (p *pkg) freerPackages(q *types.Package) []*types.Package {
	out := []*types.Package{q}
	if p.types != q {
		out = append(out, p.types)
	}
	for _, i := range p.types.Imports() {
		if i != q {
			out = append(out, i)
		}
	}
	return out
}

// isResource reports whether some function frees values of type t.
func (p *pkg) isResource(t types.Type) bool {
	if t == nil {
		return false
	}
	return len(p.freersOf(t)) > 0
}

// isHolder reports whether the free of type t is inferred: a method that frees
// what its receiver holds, which others may free as well.
func (p *pkg) isHolder(t types.Type) bool {
	return p.isResource(t) && !p.isDeclared(t)
}

// splits reports whether a struct type is followed field by field: it holds a
// resource and is none.
func (p *pkg) splits(t types.Type) bool {
	if t == nil {
		return false
	}
	if _, ok := t.Underlying().(*types.Struct); !ok {
		return false
	}
	if isPointer(t) || p.isDeclared(t) {
		return false
	}
	return p.holdsResource(t)
}

// holdsResource reports whether a value of type t may own a resource.
func (p *pkg) holdsResource(t types.Type) bool {
	if t == nil {
		return false
	}
	t = types.Unalias(t)
	if v := p.holds.At(t); v != nil {
		return v.(bool)
	}
	p.holds.Set(t, false) // against recursion
	h := false
	if p.isResource(t) {
		h = true
	}
	if !h {
		switch u := t.Underlying().(type) {
		case *types.Pointer:
			h = p.holdsResource(u.Elem())
		case *types.Slice:
			h = p.holdsResource(u.Elem())
		case *types.Array:
			h = p.holdsResource(u.Elem())
		case *types.Map:
			h = p.holdsResource(u.Elem()) || p.holdsResource(u.Key())
		case *types.Chan:
			h = p.holdsResource(u.Elem())
		case *types.Struct:
			for i := range u.NumFields() {
				h = h || p.holdsResource(u.Field(i).Type())
			}
		}
	}
	p.holds.Set(t, h)
	return h
}
