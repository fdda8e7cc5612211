package effect

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/lastuse/lastuse/escape/spec"
)

// A Free is how a value of a type is released.
type Free struct {
	Func       *types.Func
	Method     bool            // its receiver is what it frees; else its only parameter
	Repeatable bool            // freeing again is harmless
	Parts      map[string]bool // of one that is inferred: see [Found]
	Each       []Owned         // of a slice or a map: what of each element is released, in a loop
	Resets     bool            // the value may be used again behind it, as far as is known
	Said       token.Position  // the line that says so; zero if none does
	Embedded   []int           // the fields that lead to the struct from which the value has the method

	made map[*types.Package]*Free // of handles of a basic type: how those of each package are released
}

// An Owned is a part of an element, or all of it where the path is empty, and how it is released.
type Owned struct {
	Path []int
	*Free
}

// A Found is a method of the package that was found to free parts of its receiver, and to do nothing
// else. It is a free of what owns no other parts. One of an interface frees what is in there.
type Found struct {
	Func       *types.Func
	Parts      map[string]bool // the parts; whether each may hold nothing
	Others     []string        // parts that it leaves alone
	Repeatable bool
	Resets     bool       // it sets fields to nothing: who calls it may go on with the value
	Count      *types.Var // of a value that is counted: the field that has the number; it has no parts
}

// Frees knows which function frees values of which type, as a package can write it.
type Frees struct {
	set   *spec.Set
	pkg   *types.Package
	facts *Facts
	known typeutil.Map // *Free by type: see Of
	lists map[*types.Package]*freers
	found []*Found
	helps []*types.Func // see [Frees.Help]
	paths typeutil.Map  // [][]int by type: see Paths
}

// A freer is a way to free something, and who says so.
type freer struct {
	spec.Freer
	level int
	parts map[string]bool
	reset bool
}

// freers are the functions of a package that free something, the first in its order first.
type freers struct {
	all []freer
	of  map[*types.TypeName][]freer // by the name of what they free

	basic []freer // functions that free handles of a basic type, as a line says
}

// NewFrees returns what a package knows of frees: by the lines of a set, and by what the
// packages that it imports say of themselves.
func NewFrees(set *spec.Set, pkg *types.Package, facts *Facts) *Frees {
	return &Frees{set: set, pkg: pkg, facts: facts, lists: map[*types.Package]*freers{}}
}

// Of returns the function that frees values of type t, and nil if there is none that a
// statement could call: it must free on every call, take nothing else, and be the first
// in the spec that does.
func (f *Frees) Of(t types.Type) *Free {
	if have, ok := f.known.At(t).(*Free); ok {
		return have
	}
	var found *Free
	f.known.Set(t, found) // what a slice of itself asks, while it is asked
	found = f.find(t)
	f.known.Set(t, found)
	return found
}

// Does returns what a call does to the receiver.
func (i *Found) Does() Param {
	p := Param{Freed: When{Cond: Always}, Repeatable: i.Repeatable}
	for path := range i.Parts {
		p.Parts = Put(p.Parts, path, Param{Freed: p.Freed, Repeatable: i.Repeatable})
	}
	for _, path := range i.Others {
		p.Parts = Put(p.Parts, path, Param{})
	}
	return p
}

// Infer adds a method that was found to free what it is called on.
func (f *Frees) Infer(free *Found) {
	f.found = append(f.found, free)
	f.known, f.paths = typeutil.Map{}, typeutil.Map{}
	delete(f.lists, f.pkg)
}

// Help adds a method that frees parts of what it is called on and does nothing else, but leaves others to a
// method that calls it, or is called beside it.
func (f *Frees) Help(fn *types.Func) { f.helps = append(f.helps, fn) }

// Helps reports whether a method is such a one.
func (f *Frees) Helps(fn *types.Func) bool { return slices.Contains(f.helps, fn) }

// Found returns what was found of a method; nil if that is no free.
func (f *Frees) Found(fn *types.Func) *Found {
	for _, i := range f.found {
		if i.Func == fn {
			return i
		}
	}
	return nil
}

// Promises reports whether a method is one of an interface of which it was found what frees what is in there.
func (f *Frees) Promises(m *types.Func) bool {
	if f == nil || m.Signature().Recv() == nil || !types.IsInterface(m.Signature().Recv().Type()) {
		return false
	}
	free := f.Of(m.Signature().Recv().Type())
	return free != nil && f.Found(free.Func) != nil
}

// Count returns the field that counts who has a value of type t, if that was found; else nil.
func (f *Frees) Count(t types.Type) *types.Var {
	free := f.Of(t)
	if free == nil || free.Func == nil {
		return nil
	}
	if found := f.Found(free.Func); found != nil {
		return found.Count
	}
	return nil
}

// Silent reports whether a function is known to free, and to do nothing else.
func (f *Frees) Silent(fn *types.Func) bool {
	return fn.Pkg() != nil && slices.ContainsFunc(f.by(fn.Pkg()).all, func(fr freer) bool { return fr.Func == fn })
}

// Parts returns the parts of which values of type t are made, and whether each may hold nothing, if what
// frees them was inferred here; else nil.
func (f *Frees) Parts(t types.Type) map[string]bool {
	if free := f.Of(t); free != nil {
		return free.Parts
	}
	return nil
}

// Resource reports whether values of type t own memory that some function frees.
func (f *Frees) Resource(t types.Type) bool { return f.Of(t) != nil }

// IsText reports whether a type is a string: what is read of its memory leads nowhere.
func IsText(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// Boxes reports whether an interface of type i that has a value of type t is freed as that is: by a method of
// the same name, which frees all of it.
func (f *Frees) Boxes(t, i types.Type) bool {
	whole, boxed := f.Of(t), f.Of(i)
	return whole != nil && boxed != nil && whole.Method && boxed.Method &&
		whole.Func.Id() == boxed.Func.Id() && types.IsInterface(boxed.Func.Signature().Recv().Type())
}

// Spares reports whether the free of values of type t does nothing to a zero value: they are structs, and it
// may be repeated, so what it finds freed it leaves alone.
func (f *Frees) Spares(t types.Type) bool {
	free := f.Of(t)
	_, is := t.Underlying().(*types.Struct)
	return is && free != nil && free.Func != nil && free.Repeatable
}

// Collects reports whether values of type t are slices or maps that may own their elements.
func (f *Frees) Collects(t types.Type) bool {
	free := f.Of(t)
	return free != nil && free.Each != nil
}

func (f *Frees) find(t types.Type) *Free {
	if free := f.findNamed(t); free != nil {
		return free
	}
	var elem types.Type
	switch u := types.Unalias(t).Underlying().(type) {
	case *types.Slice:
		elem = u.Elem()
	case *types.Map:
		elem = u.Elem()
	case *types.Basic:
		return f.findBasic(types.Unalias(t))
	default:
		return nil
	}
	return each(f.owned(elem))
}

// owned lists what of an element is released; nil if it has nothing, or slices and maps in it.
func (f *Frees) owned(elem types.Type) (out []Owned) {
	if hasItself(elem, nil) {
		return nil
	}
	paths := [][]int{nil}
	if f.Of(elem) == nil {
		paths = f.Paths(elem)
	}
	for _, path := range paths {
		free := f.Of(At(elem, path))
		if free.Each != nil || !Sayable(elem, path, f.pkg) {
			return nil
		}
		out = append(out, Owned{path, free})
	}
	return out
}

// each returns how a slice or a map is freed; nil if nothing of an element is.
func each(all []Owned) *Free {
	if len(all) == 0 {
		return nil
	}
	return &Free{Each: all, Repeatable: !slices.ContainsFunc(all, func(o Owned) bool { return !o.Repeatable })}
}

func (f *Frees) findNamed(t types.Type) *Free {
	named := types.Unalias(t)
	if p, ok := named.(*types.Pointer); ok {
		named = types.Unalias(p.Elem())
	}
	n, ok := named.(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return nil
	}
	var all []freer
	for _, r := range f.from(n.Obj().Pkg()) {
		all = append(all, f.by(r).of[n.Origin().Obj()]...)
	}
	sortFreers(all)
	if k := slices.IndexFunc(all, f.usable); k >= 0 {
		return all[k].free()
	}
	return f.findEmbedded(n)
}

// usable reports whether a statement could call what frees: on every call, and nothing else.
func (f *Frees) usable(fr freer) bool {
	sig := fr.Func.Signature()
	alone := fr.method() && sig.Params().Len() == 0 || !fr.method() && sig.Params().Len() == 1 && !sig.Variadic()
	return fr.Cond.Kind == spec.Always && alone && (fr.Func.Pkg() == f.pkg || fr.Func.Exported())
}

func (fr freer) method() bool { return fr.Operand.Kind == spec.Recv }

func (fr freer) free() *Free {
	free := &Free{Func: fr.Func, Method: fr.method(), Repeatable: fr.Repeatable, Parts: fr.parts, Resets: fr.reset}
	if fr.Line != nil {
		free.Said = fr.Line.Pos
	}
	return free
}

// from lists the packages whose functions may free values of types of package q: q, this package and what it
// imports.
func (f *Frees) from(q *types.Package) []*types.Package {
	out := []*types.Package{q}
	if f.pkg != nil {
		for _, r := range append([]*types.Package{f.pkg}, f.pkg.Imports()...) {
			if r != q {
				out = append(out, r)
			}
		}
	}
	return out
}

// by returns the functions of a package that free something: a higher level first, then as its specs list
// them, and what it says of itself.
func (f *Frees) by(r *types.Package) *freers {
	if have, ok := f.lists[r]; ok {
		return have
	}
	out := &freers{of: map[*types.TypeName][]freer{}}
	for _, fr := range f.set.Freers(r) {
		out.all = append(out.all, freer{fr, int(fr.Line.Level), nil, false})
	}
	if r != f.pkg {
		out.all = append(out.all, f.saidBy(r)...)
	} else {
		for _, i := range f.found {
			out.all = append(out.all, freer{spec.Freer{Func: i.Func, Operand: spec.Operand{Kind: spec.Recv},
				Repeatable: i.Repeatable}, Inferred, i.Parts, i.Resets})
		}
	}
	sortFreers(out.all)
	for _, fr := range out.all {
		t := fr.Type()
		if n, ok := t.(*types.Named); ok {
			name := n.Origin().Obj()
			out.of[name] = append(out.of[name], fr)
		}
		if _, ok := t.Underlying().(*types.Basic); ok && fr.level != Inferred && !fr.method() {
			out.basic = append(out.basic, fr)
		}
	}
	f.lists[r] = out
	return out
}

func sortFreers(all []freer) {
	slices.SortStableFunc(all, func(a, b freer) int { return b.level - a.level })
}

// saidBy lists what another package says of itself.
func (f *Frees) saidBy(r *types.Package) (all []freer) {
	for _, fn := range f.facts.frees(r) {
		said := f.facts.Of(fn)
		if said == nil {
			continue
		}
		for i, p := range said.Summary.Params {
			fr := spec.Freer{Func: fn, Operand: spec.Operand{Kind: spec.Arg, Index: i}, Repeatable: p.Repeatable}
			if said.Summary.Recv {
				fr.Operand.Index--
				if i == 0 {
					fr.Operand = spec.Operand{Kind: spec.Recv}
				}
			}
			if p.Freed.Cond == Always {
				all = append(all, freer{fr, said.Level, nil, said.Level == Inferred})
			}
		}
	}
	return all
}
