package proof

// What a free that was put in frees, as far as that can be shown without order: the callee frees and does
// nothing else, what it frees was made here, and reading its operand does not panic.

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// fresh reads a free and shows what can be shown without order: that the callee frees and
// does nothing else, and that what it frees was made here.
func (c *checker) fresh(g *graph, e *edit, at ssa.CallInstruction) *free {
	k := g.calls[at]
	x := &free{e: e, at: at, keep: e.keep, loop: e.loop != nil, met: map[*object]bool{}}
	no := func(rule Rule, words string) *free {
		c.fail(e, rule, words, at.Common().Pos())
		return nil
	}
	mayBeNil := func(why string) *free {
		e.fail(&Reason{Rule: Fresh, Words: why, Nil: true, At: c.position(at.Common().Pos())})
		return nil
	}
	if len(k.args) == 0 || slices.ContainsFunc(k.args[1:], varies) {
		return no(Same, "it is given nothing, or more than what it frees")
	}
	x.arg = k.args[0]
	lent := g.f.some(g.f.of(x.arg), func(e elem) bool { return e.obj.kind == paramObj }) // says more
	whole := g.selected(k.fn, x.arg)
	x.whole = whole
	why := g.steps(whole, at.Block(), 0)
	_, plain := at.(*ssa.Call)
	if whole != x.arg && !plain {
		why = cmp.Or(why, g.through(whole, at.Block()))
	}
	if why != "" && !lent && !c.off[Fresh] {
		return mayBeNil(why)
	}
	if e.keep { // it does nothing
		if k.fn == nil || k.fn.FullName() != "runtime.KeepAlive" {
			return no(Same, "it does not keep alive")
		}
		return nil
	}
	p := k.sum.param(0)
	switch {
	case k.sum == nil || !p.Frees || k.fn == nil:
		return no(Silent, "what is called there is not known to free")
	case p.FreesIf != 0:
		return no(Silent, "what is called there frees on a condition")
	case c.reorders(k.fn) && !c.off[Same]:
		return no(Same, "variables of the package may be initialized in another order")
	case (!p.Silent || k.sum.Recovers && !plain) && !c.off[Silent]:
		return no(Silent, k.fn.Name()+" does more than free, or may")
	}
	x.from, x.by = g.f.of(x.arg), x.arg
	if x.value = isStruct(x.arg.Type()) && len(p.Parts) > 0; x.value {
		x.by, x.from = g.f.readFrom(x.arg, at)
	}
	x.repeatable, x.parts, x.pts = p.Repeatable || c.off[Once], p.Parts, g.freed(x.from, p)
	if whole != x.arg {
		x.pts = g.freed(g.f.of(whole), p)
	}
	x.nilOK = c.off[Fresh] || p.NilOK && whole == x.arg
	if g.f.inFamily(x.from) { // what is freed is not the operand: its fields are
		x.followed = !x.nilOK && !x.value && g.through(x.arg, at.Block()) != ""
		x.nilOK = p.PartsNil && !x.followed || c.off[Fresh]
	}
	switch why := g.unless(x, p); {
	case why != "":
		return no(Fresh, why)
	case g.partsRepeat(x.from, p.Parts):
		return no(Once, sameMemory)
	case c.off[Fresh]:
		return x
	}
	some := false
	for el := range g.f.leads(x.pts) {
		made := el.resource() && fits(whole.Type(), p.Parts, el.obj.typ) && !g.f.retyped(el.obj, whole.Type())
		if some = some || made; !made && el.obj.kind != zeroObj {
			return no(Fresh, "what is freed may be "+el.words())
		}
	}
	if !some {
		return no(Fresh, "what is freed is not known")
	}
	return x
}

// fits reports whether a free of a value of type t, or of what it points to, or of parts of that, may free a
// resource of type r, and not what a field of that has.
func fits(t types.Type, parts []string, r types.Type) bool {
	all := []types.Type{t}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		all = append(all, p.Elem())
	}
	for _, path := range parts {
		all = append(all, partType(t, path))
	}
	of := r
	if p, ok := r.Underlying().(*types.Pointer); ok {
		of = p.Elem()
	}
	_, named := types.Unalias(of).(*types.Named) // of another type, a free is of something else
	return types.IsInterface(r) || slices.ContainsFunc(all, func(t types.Type) bool {
		return types.IsInterface(t) || types.Identical(r, t) || !named && types.ConvertibleTo(r, t)
	})
}

// freedAs reports whether who gets object o as a value of type t frees it as what it is.
func (f *family) freedAs(o *object, t types.Type) bool {
	return fits(t, nil, o.typ) && !f.retyped(o, t)
}

// retyped reports whether a value of interface type t may be object o as another type, which is freed another
// way.
func (f *family) retyped(o *object, t types.Type) bool {
	if !types.IsInterface(t) {
		return false
	}
	for i := range f.instrs() {
		m, ok := i.(*ssa.MakeInterface)
		if ok && !fits(m.X.Type(), nil, o.typ) && f.some(f.of(m.X), func(e elem) bool { return e == elem{o, ""} }) {
			return true
		}
	}
	return false
}

// selected returns what a method was selected on, if that is a resource: one that is promoted from embedded
// fields, or from what pointers in these lead to, is the free of the whole, which must not be nil.
func (g *graph) selected(fn *types.Func, arg ssa.Value) ssa.Value {
	if fn == nil {
		return arg
	}
	v, depth := arg, 1
	for f := fieldAt(v); f != nil; f = fieldAt(v) {
		v, depth = f.X, depth+1
	}
	if g.f.some(g.f.of(v), func(e elem) bool { return !e.resource() && e.obj.kind != zeroObj }) {
		return arg
	}
	m, index, _ := types.LookupFieldOrMethod(v.Type(), false, fn.Pkg(), fn.Name())
	if f, ok := m.(*types.Func); !ok || f.Origin() != fn.Origin() || len(index) != depth {
		return arg
	}
	return v
}

// fieldAt returns the field of which v is the address, or which v is read from.
func fieldAt(v ssa.Value) *ssa.FieldAddr {
	if load, ok := v.(*ssa.UnOp); ok && load.Op == token.MUL {
		v = load.X
	}
	f, _ := v.(*ssa.FieldAddr)
	return f
}

// fields reports whether arg may lead to memory of the family.
func (g *graph) fields(arg ssa.Value) bool {
	return g.f.inFamily(g.f.of(arg))
}

// inFamily reports whether s may lead to memory of the family.
func (f *family) inFamily(s set) bool {
	return f.some(s, func(e elem) bool { return e.obj.kind == memObj })
}

// readFrom returns the memory of which a struct that a call is given is a copy, and what leads there; nil if
// that is not known.
func (f *family) readFrom(v ssa.Value, at ssa.CallInstruction) (by ssa.Value, from set) {
	if m := f.valued(v); m != nil {
		return v, m
	}
	load, ok := v.(*ssa.UnOp)
	if _, now := at.(*ssa.Call); ok && now && f.undisturbed(load, at) && f.inMemory(load.X) {
		return load.X, f.of(load.X)
	}
	return v, nil
}

// freed returns what a free frees, which does p, of what leads to from: that itself, or what is there, or
// parts of that. What a resource views a free that a line names leaves alone.
func (g *graph) freed(from set, p Param) set {
	var out set
	for id := range from.all() {
		switch e := g.f.elems[id]; {
		case e.obj.kind != memObj:
			if out.add(id); !p.Alone {
				out.union(g.f.viewed(single(id)))
			}
		case len(p.Parts) == 0:
			out.union(g.f.load(single(id)))
		default:
			out.union(g.f.inParts(single(id), p.Parts))
		}
	}
	return out
}

func (e elem) words() string {
	switch e.obj.kind {
	case unknownObj:
		return "something that was not made here"
	case paramObj:
		return "a parameter, or a part of it"
	case siteObj:
		return "a view of something"
	}
	return "something else"
}

// through says why following pointer p in block b might panic; "" if it cannot.
func (g *graph) through(p ssa.Value, b *ssa.BasicBlock) string {
	switch p.(type) {
	case *ssa.Alloc, *ssa.FreeVar, *ssa.Global, *ssa.FieldAddr, *ssa.IndexAddr:
		return ""
	}
	if !g.notNil(p, b) && g.f.some(g.f.of(p), func(e elem) bool { return e.obj.kind != memObj }) {
		return "a pointer that leads to it may be nil"
	}
	return ""
}

// steps says why reading v as the operand of a free in block b might panic; "" if it cannot.
func (g *graph) steps(v ssa.Value, b *ssa.BasicBlock, depth int) string {
	if depth > 8 {
		return "what is freed is too deep"
	}
	through := func(p ssa.Value) string {
		return cmp.Or(g.through(p, b), g.steps(p, b, depth+1))
	}
	switch x := v.(type) {
	case *ssa.UnOp:
		return through(x.X)
	case *ssa.FieldAddr:
		return through(x.X)
	case *ssa.IndexAddr:
		if toArray(x.X) {
			return through(x.X)
		} else if _, fixed := x.Index.(*ssa.Const); fixed { // others stand in a loop over it
			return "what is freed is in a slice, which may be shorter"
		}
		return g.steps(x.X, b, depth+1)
	case *ssa.Lookup:
		return "what is freed is in a map"
	case *ssa.Field:
		return g.steps(x.X, b, depth+1)
	case *ssa.Index:
		if _, array := x.X.Type().Underlying().(*types.Array); !array {
			return "a string may be shorter"
		}
		return g.steps(x.X, b, depth+1)
	}
	return ""
}

// toArray reports whether v is a pointer to an array.
func toArray(v ssa.Value) bool {
	p, ok := v.Type().Underlying().(*types.Pointer)
	if !ok {
		return false
	}
	_, ok = p.Elem().Underlying().(*types.Array)
	return ok
}

// notNil reports whether pointer p is not nil in block b: it was tested, or read through, or the error beside
// it was tested. What paths bring that meet, and so a loop, was so at the end of each.
func (g *graph) notNil(p ssa.Value, b *ssa.BasicBlock) bool {
	return g.neverNil(p, b, map[ssa.Value]bool{})
}

// readThrough reports whether the program reads a field by pointer p on each way to block b, or there before
// anything was put in: that has panicked if p is nil.
func (g *graph) readThrough(p ssa.Value, b *ssa.BasicBlock) bool {
	uses := p.Referrers()
	if uses == nil {
		return false
	}
	put := slices.IndexFunc(b.Instrs, func(i ssa.Instruction) bool { return i.Pos().IsValid() && g.inserted(i.Pos()) })
	return slices.ContainsFunc(*uses, func(i ssa.Instruction) bool {
		if at := i.Block(); at != b && !at.Dominates(b) || at == b && indexIn(b, i) >= put {
			return false
		}
		x, ok := i.(*ssa.FieldAddr)
		return ok && !g.inserted(x.Pos()) && g.computes(x)
	})
}

// computes reports whether the program computes what an instruction computes.
func (g *graph) computes(i ssa.Instruction) bool {
	text := i.Parent().Syntax()
	return text != nil && !slices.ContainsFunc(idle(text, g.f.c.info), func(x ast.Expr) bool {
		return x.Pos() <= i.Pos() && i.Pos() < x.End()
	})
}

func (g *graph) neverNil(p ssa.Value, b *ssa.BasicBlock, seen map[ssa.Value]bool) bool {
	if seen[p] || tested(p, b, token.NEQ) || g.readThrough(p, b) {
		return true
	}
	switch p := p.(type) {
	case *ssa.Call:
		return g.calls[p].sum.result(0).made()
	case *ssa.Parameter:
		seen[p] = true
		return g.givenSome(p, b, seen)
	case *ssa.Phi:
		seen[p] = true
		for n, e := range p.Edges {
			if !g.neverNil(e, p.Block().Preds[n], seen) {
				return false
			}
		}
		return true
	}
	e, ok := p.(*ssa.Extract)
	if !ok {
		return false
	}
	call, ok := e.Tuple.(*ssa.Call)
	if !ok || !g.calls[call].sum.result(e.Index).made() {
		return false
	}
	return slices.ContainsFunc(*call.Referrers(), func(r ssa.Instruction) bool {
		err, ok := r.(*ssa.Extract)
		last := call.Call.Signature().Results().Len() - 1
		return ok && err.Index == last && isError(err.Type()) && tested(err, b, token.EQL)
	})
}
