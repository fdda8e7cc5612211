package escape

// What the analyzer knows about the package at hand and about the functions
// it calls: specs, directives, facts, and the summaries inferred so far.

import (
	"go/ast"
	"go/build/constraint"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/lastuse/lastuse/escape/spec"
)

// A Reach is the fact that a package declares or imports a resource type.
// Packages without it are skipped in constant time.
type Reach struct {
	Freers []string // functions, not methods, that free an argument
}

// AFact marks Reach as a fact about a package.
func (*Reach) AFact() {}

func (r *Reach) String() string { return "reach" }

type pkg struct {
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
	types *types.Package
	set   *spec.Set
	facts facts
	cgo   bool // cgo's translations are edited like other files

	decls map[*types.Func]*ast.FuncDecl
	sums  map[*types.Func]*Summary // functions of this package, so far
	cache map[*types.Func]*Summary // callees, as callers see them
	busy  map[*types.Func]bool     // being computed: read optimistically
	frees typeutil.Map             // type → []*freer
	holds typeutil.Map             // type → bool

	counts typeutil.Map       // type → bool: reference counted
	tags   map[*ast.File]bool // file is not part of every build
	keeps  map[*ast.File]map[int]string

	freeing map[*types.Func]ArgEffect // methods that free all that their receiver owns
	held    map[*types.Named]*holding // what structs of this package own
}

// facts is what the analyzer asks of other packages.
type facts interface {
	summary(f *types.Func) *Summary
	reach(p *types.Package) *Reach
}

type passFacts struct{ pass *analysis.Pass }

func (p passFacts) summary(f *types.Func) *Summary {
	var s Summary
	if f.Pkg() != nil && p.pass.ImportObjectFact(f, &s) {
		return &s
	}
	return nil
}

func (p passFacts) reach(q *types.Package) *Reach {
	var r Reach
	if p.pass.ImportPackageFact(q, &r) {
		return &r
	}
	return nil
}

func newPkg(fset *token.FileSet, files []*ast.File, info *types.Info, tp *types.Package, set *spec.Set, f facts) *pkg {
	return &pkg{
		fset: fset, files: files, info: info, types: tp, set: set, facts: f,
		decls: map[*types.Func]*ast.FuncDecl{},
		sums:  map[*types.Func]*Summary{},
		cache: map[*types.Func]*Summary{},
		busy:  map[*types.Func]bool{},
		tags:  map[*ast.File]bool{},
		keeps: map[*ast.File]map[int]string{},

		freeing: map[*types.Func]ArgEffect{},
	}
}

func (p *pkg) qualifier(q *types.Package) string {
	if q == p.types {
		return ""
	}
	return q.Name()
}

// line prints a position for people: base name and line of the source as it was
// written, which line directives name where cgo or a generator made the file.
func (p *pkg) line(pos token.Pos) string {
	q := p.fset.Position(pos)
	return filepath.Base(q.Filename) + ":" + itoa(q.Line)
}

func itoa(n int) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}

func (p *pkg) funcName(f *types.Func) string {
	sig := f.Signature()
	if r := sig.Recv(); r != nil {
		t := types.TypeString(deref(r.Type()), p.qualifier)
		if i := strings.IndexByte(t, '['); i > 0 {
			t = t[:i]
		}
		if isPointer(r.Type()) {
			return "(*" + t + ")." + f.Name()
		}
		return t + "." + f.Name()
	}
	if f.Pkg() != nil && f.Pkg() != p.types {
		return f.Pkg().Name() + "." + f.Name()
	}
	if c, ok := cFunction(f); ok {
		return "C." + c
	}
	return f.Name()
}

// cgoCheck reports whether f is a check of pointers that cgo puts around calls.
func cgoCheck(f *types.Func) bool {
	return f.Signature().Recv() == nil && (f.Name() == "_cgoCheckPointer" || f.Name() == "_cgoCheckResult")
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

func (p *pkg) file(pos token.Pos) *ast.File {
	for _, f := range p.files {
		if f.FileStart <= pos && pos <= f.FileEnd {
			return f
		}
	}
	return nil
}

// everyBuild reports whether the constant is the same in every build.
func (p *pkg) everyBuild(c *types.Const) bool {
	if c.Pkg() != p.types {
		return false
	}
	f := p.file(c.Pos())
	if f == nil {
		return false
	}
	tagged, ok := p.tags[f]
	if !ok {
		tagged = p.tagged(f)
		p.tags[f] = tagged
	}
	return !tagged
}

func (p *pkg) tagged(f *ast.File) bool {
	for _, g := range f.Comments {
		if g.Pos() > f.Package {
			break
		}
		for _, c := range g.List {
			if constraint.IsGoBuild(c.Text) || constraint.IsPlusBuild(c.Text) {
				return true
			}
		}
	}
	name := strings.TrimSuffix(filepath.Base(p.fset.PositionFor(f.Package, false).Filename), ".go")
	name = strings.TrimSuffix(name, "_test")
	if i := strings.LastIndexByte(name, '_'); i >= 0 {
		return knownSystem[name[i+1:]]
	}
	return false
}

// knownSystem are the file name suffixes that restrict a file to some builds.
var knownSystem = func() map[string]bool {
	m := map[string]bool{}
	for _, s := range strings.Fields("aix android darwin dragonfly freebsd illumos ios js linux netbsd openbsd plan9 solaris wasip1 windows " +
		"386 amd64 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64 s390x wasm") {
		m[s] = true
	}
	return m
}()

// neverReturns are functions of the standard library after which nothing runs.
var neverReturns = map[string]bool{
	"os.Exit": true, "runtime.Goexit": true, "syscall.Exit": true,
	"log.Fatal": true, "log.Fatalf": true, "log.Fatalln": true,
	"log.Panic": true, "log.Panicf": true, "log.Panicln": true,
	"(*log.Logger).Fatal": true, "(*log.Logger).Fatalf": true, "(*log.Logger).Fatalln": true,
	"(*log.Logger).Panic": true, "(*log.Logger).Panicf": true, "(*log.Logger).Panicln": true,
	"(*testing.common).Fatal": true, "(*testing.common).Fatalf": true, "(*testing.common).FailNow": true,
	"(*testing.common).Skip": true, "(*testing.common).Skipf": true, "(*testing.common).SkipNow": true,
	"(testing.TB).Fatal": true, "(testing.TB).Fatalf": true, "(testing.TB).FailNow": true,
	"(testing.TB).Skip": true, "(testing.TB).Skipf": true, "(testing.TB).SkipNow": true,
}

// summaryOf returns what a call of f does.
func (p *pkg) summaryOf(f *types.Func) *Summary {
	f = f.Origin()
	if s := p.cache[f]; s != nil {
		return s
	}
	sig := f.Signature()
	name := spec.FullName(f)
	own := f.Pkg() == p.types && p.decls[f] != nil && p.decls[f].Body != nil
	var base *Summary
	switch {
	case own:
		base = p.sums[f]
		if base == nil {
			// In the same cycle of calls and not decided yet: for now such a
			// call does not return, so that what the other paths show holds.
			base = blank(sig)
			base.NoReturn = p.busy[f]
		}
	case cgoCheck(f):
		base = blank(sig)
	default:
		base = p.facts.summary(f)
	}
	line, ok := p.set.Lookup(name)
	if ok && base != nil && base.Decided && line.Level < spec.Directive && !own {
		ok = false // the dependency's directive beats our lastuse.spec
	}
	if base == nil {
		base = worst(sig, p.funcName(f)+", which may keep it")
	}
	s := base
	if ok {
		s = p.applySpec(base, sig, line)
	}
	if neverReturns[name] {
		c := *s
		c.NoReturn = true
		s = &c
	}
	if !own || p.sums[f] != nil {
		p.cache[f] = s
	}
	return s
}

// applySpec lays the clauses of a spec line over what is inferred: operands
// with a clause are as it says, others stay.
func (p *pkg) applySpec(base *Summary, sig *types.Signature, line *spec.Line) *Summary {
	s := *base
	s.Args = slices.Clone(base.Args)
	s.Res = slices.Clone(base.Res)
	s.Unknown = false
	s.Decided = true
	index := func(o spec.Operand) int {
		if o.Kind == spec.Recv {
			return 0
		}
		if s.Recv {
			return o.Index + 1
		}
		return o.Index
	}
	when := func(c spec.Cond) When {
		switch c.Kind {
		case spec.ArgTrue:
			return When{K: IfTrue, Arg: int8(index(c.Arg))}
		case spec.ArgFalse:
			return When{K: IfFalse, Arg: int8(index(c.Arg))}
		case spec.OnSuccess:
			return When{K: OnSuccess}
		case spec.OnError:
			return When{K: OnError}
		}
		return When{K: Always}
	}
	cleanArg, cleanRes := map[int]bool{}, map[int]bool{}
	named := map[int]bool{} // operands that a result aliases: borrowed, if nothing else is said
	for _, c := range spec.Bind(line.Clauses, sig) {
		if c.Operand.Kind == spec.Result {
			i := c.Operand.Index
			if !cleanRes[i] {
				cleanRes[i] = true
				s.Res[i] = ResEffect{Armed: base.Res[i].Armed}
			}
			switch c.Effect {
			case spec.Owned:
				s.Res[i].Owned = true
			case spec.Views:
				s.Res[i].Views |= 1 << index(c.Of)
				named[index(c.Of)] = true
			case spec.Is:
				s.Res[i].Is |= 1 << index(c.Of)
				s.Res[i].Must = true
				named[index(c.Of)] = true
			}
			continue
		}
		i := index(c.Operand)
		if !cleanArg[i] {
			cleanArg[i] = true
			s.Args[i] = ArgEffect{NilOK: base.Args[i].NilOK}
		}
		a := &s.Args[i]
		switch c.Effect {
		case spec.Freed:
			a.Freed = when(c.Cond)
			a.Repeatable = a.Repeatable || c.Repeatable
		case spec.Escapes:
			a.Escapes = when(c.Cond)
			a.Via = p.specName(line)
		case spec.Retained:
			a.Retained = true
		}
	}
	for i := range named {
		if !cleanArg[i] && i < len(s.Args) {
			s.Args[i] = ArgEffect{NilOK: base.Args[i].NilOK}
		}
	}
	// What the line says goes nowhere does not leave in an error either. For other
	// results a line may be silent because the body is seen.
	for i := range s.Res {
		if cleanRes[i] || !isError(sig.Results().At(i).Type()) {
			continue
		}
		for j := range s.Args {
			if cleanArg[j] || named[j] {
				s.Res[i].Views &^= 1 << j
				s.Res[i].Is &^= 1 << j
			}
		}
	}
	return &s
}

func (p *pkg) specName(l *spec.Line) string { return "as the spec says of " + l.Name }

// A freer is a way to free values of a type.
type freer struct {
	fn         *types.Func
	recv       bool
	repeatable bool
	nilOK      bool
	disarms    bool
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
		s := p.summaryOf(f)
		i := operand.Index
		if operand.Kind == spec.Recv {
			i = -1
		}
		e := s.arg(i)
		if e.Freed.K == Never {
			return
		}
		seen[f] = true
		sig := f.Signature()
		fr := &freer{fn: f, recv: operand.Kind == spec.Recv, repeatable: e.Repeatable, nilOK: e.NilOK, disarms: s.Disarms, declared: s.Decided, resets: e.Resets}
		n := sig.Params().Len()
		fr.usable = e.Freed.K == Always && ((fr.recv && n == 0) || (!fr.recv && n == 1 && !sig.Variadic()))
		fr.pointer = isPointer(operand.Type(sig))
		if f.Pkg() != p.types && !f.Exported() {
			fr.usable = false
		}
		out = append(out, fr)
	}
	if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil {
		for _, q := range p.freerPackages(n.Obj().Pkg()) {
			for _, f := range p.set.Freers(q) {
				if f.Frees(t) {
					add(f.Func, f.Operand)
				}
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
	// Functions of the type's package that a directive names.
	if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil && n.Obj().Pkg() != p.types {
		if r := p.facts.reach(n.Obj().Pkg()); r != nil {
			for _, name := range r.Freers {
				f, ok := n.Obj().Pkg().Scope().Lookup(name).(*types.Func)
				if !ok {
					continue
				}
				for i := range f.Signature().Params().Len() {
					o := spec.Operand{Kind: spec.Arg, Index: i}
					if (spec.Freer{Func: f, Operand: o}).Frees(t) {
						add(f, o)
					}
				}
			}
		}
	}
	p.frees.Set(key, out)
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

// interesting reports whether the package can reach a resource type at all.
func (p *pkg) interesting(own []*spec.Line) bool {
	if len(own) > 0 || p.set.Freers(p.types) != nil {
		return true
	}
	for _, q := range p.types.Imports() {
		if p.facts.reach(q) != nil || p.set.Freers(q) != nil {
			return true
		}
	}
	return p.ownsC()
}

// ownsC reports whether a spec speaks of what a C function that the package calls
// makes or frees.
func (p *pkg) ownsC() bool {
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
