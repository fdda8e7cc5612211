package proof

// What embedded lines for methods of interfaces are worth. The library that they speak of keeps them. Others
// may have types with such methods, too, and nobody asked them.

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lastuse/lastuse/escape/spec"
)

// promise returns what an embedded line says of a method of an interface; nil if there is none.
func (c *checker) promise(m *types.Func) *Summary {
	if c.in.Specs == nil {
		return nil
	}
	line, ok := c.in.Specs.Lookup(spec.FullName(m.Origin()))
	if !ok || line.Level != spec.Embedded {
		return nil
	}
	return written(line, m.Signature(), nil)
}

// promised returns what a line says of a method that is called on an interface, as far as it is believed: all
// of it, if what has the method was made by functions of which such lines say that their results are owned.
// Of anything else, that the method looks at what it is called on: where a type of others became the
// interface, its methods were looked into (tells). What such a method does with operands, and whether it is a
// free, the line does not say.
func (f *family) promised(com *ssa.CallCommon) *Summary {
	s := f.c.promise(com.Method)
	if s == nil || (takes(com.Method) || s.Params[0].Frees) && !f.isTheirs(com.Value) {
		return nil
	}
	return s
}

// isTheirs reports whether v is nothing but what functions made of which embedded lines say that it is owned,
// or operands of the root that are taken for that. It notes of which others it would have to be known.
func (f *family) isTheirs(v ssa.Value) bool {
	var of mask
	is := f.only(f.of(v), func(e elem) bool {
		if e.obj.kind == paramObj && e.path == "" && types.IsInterface(e.obj.typ) && !anyType(e.obj.typ) {
			of |= bit(e.obj.index)
			return !f.wrapped(e.obj)
		}
		return e.obj.kind == zeroObj || e.resource() && e.obj.vouched && !f.wrapped(e.obj)
	})
	if is {
		f.asked |= of
	}
	return is && of&^f.theirs == 0
}

// where returns what a call does, if it does less where some of its operands are what their library made.
func (f *family) where(k *call) *Summary {
	if k.sum == nil || k.sum.Where == nil {
		return k.sum
	}
	for n, a := range k.args {
		if k.sum.Theirs.has(n) && !f.isTheirs(a) {
			return k.sum
		}
	}
	return k.sum.Where
}

// optional reports whether result j of a call is an option of a library, a function that has nothing of the
// program's and that nobody else can call: what the library does with it, its lines say.
func (f *family) optional(k *call, j int) bool {
	sig, _ := k.resultType(j).Underlying().(*types.Signature)
	if sig == nil || k.fn == nil || f.c.in.Specs == nil {
		return false
	}
	line, ok := f.c.in.Specs.Lookup(spec.FullName(k.fn))
	for v := range sig.Params().Variables() {
		ok = ok && privateOf(v.Type(), k.fn.Pkg()) != nil
	}
	for _, a := range k.args {
		ok = ok && (counts(a.Type()) || isString(a.Type()))
	}
	return ok && line.Level == spec.Embedded && sig.Params().Len() > 0 && sig.Results().Len() == 0
}

// privateOf returns the type to which t is a pointer, if a package declares it for itself; else nil.
func privateOf(t types.Type, pkg *types.Package) *types.Named {
	p, _ := types.Unalias(t).(*types.Pointer)
	if p == nil {
		return nil
	}
	n, _ := types.Unalias(p.Elem()).(*types.Named)
	if n == nil || n.Obj().Pkg() != pkg || n.Obj().Exported() {
		return nil
	}
	return n
}

// settings reports whether t is options of the package of fn, or several of them, that only set floats and
// flags there: nobody else has that type, and they get nothing of what else the call is given.
func (c *checker) settings(fn *types.Func, t types.Type) bool {
	if s, ok := t.Underlying().(*types.Slice); ok {
		t = s.Elem()
	}
	sig, _ := t.Underlying().(*types.Signature)
	if sig == nil || sig.Params().Len() == 0 || sig.Results().Len() > 0 || pathOf(fn) == "" || fn.Pkg() == c.pkg {
		return false
	}
	for v := range sig.Params().Variables() {
		n := privateOf(v.Type(), fn.Pkg())
		if n == nil || !isStruct(n) {
			return false
		}
		for f := range n.Underlying().(*types.Struct).Fields() {
			b, ok := f.Type().Underlying().(*types.Basic)
			if !ok || b.Info()&(types.IsFloat|types.IsBoolean) == 0 {
				return false
			}
		}
	}
	return true
}

// wrapped reports whether resource o may be in an interface as another type than it was made as, which has
// methods of its own. What an interface has, and is found there to be, is that type again in the next one.
func (f *family) wrapped(o *object) bool {
	return f.boxed(o, func(t types.Type) bool { return !f.found(o, t) })
}

// boxed reports whether resource o is put into an interface here as a type that is so, and not the one that
// it was made as.
func (f *family) boxed(o *object, is func(types.Type) bool) bool {
	for i := range f.instrs() {
		m, ok := i.(*ssa.MakeInterface)
		if ok && !types.Identical(m.X.Type(), o.typ) && f.mayBe(m.X, o) && is(m.X.Type()) {
			return true
		}
	}
	return false
}

// mayBe reports whether v may be resource o, and no part of it.
func (f *family) mayBe(v ssa.Value, o *object) bool {
	return f.some(f.of(v), func(e elem) bool { return e == elem{o, ""} })
}

// found reports whether resource o, which is an interface, is of type t only where an assertion found that.
func (f *family) found(o *object, t types.Type) bool {
	asserted := func(v ssa.Value) bool {
		a, ok := v.(*ssa.TypeAssert)
		return ok && types.Identical(a.AssertedType, t) && f.mayBe(a, o)
	}
	some := false
	for i := range f.instrs() {
		v, ok := i.(ssa.Value)
		if some = some || ok && asserted(v); !ok || !types.Identical(v.Type(), t) || !f.mayBe(v, o) {
			continue
		}
		switch v := v.(type) {
		case *ssa.TypeAssert, *ssa.Phi, *ssa.UnOp: // who stored it had it
		case *ssa.Extract:
			if !asserted(v.Tuple) {
				return false
			}
		default:
			return false
		}
	}
	return some && types.IsInterface(o.typ)
}

// asserts reports whether a value is taken for an interface that it did not become before, and of which an
// embedded line speaks: what it does there nobody looked into.
func (c *checker) asserts(a *ssa.TypeAssert) bool {
	t, ok := a.AssertedType.Underlying().(*types.Interface)
	if !ok || c.off[Callbacks] {
		return false
	}
	for m := range t.Methods() {
		had, _, _ := types.LookupFieldOrMethod(a.X.Type(), false, m.Pkg(), m.Name())
		if had == nil && c.promise(m) != nil {
			return true
		}
	}
	return false
}

// ends reports whether a line names fn as what frees its receiver, or as what owes it one more free: who
// borrows that does not call it.
func (c *checker) ends(fn *types.Func) bool {
	return c.says(fn, spec.Freed) || c.says(fn, spec.Retained)
}

// says reports whether a line says of fn that it does something to its receiver.
func (c *checker) says(fn *types.Func, e spec.Effect) bool {
	if fn == nil || c.in.Specs == nil {
		return false
	}
	line, ok := c.in.Specs.Lookup(spec.FullName(fn.Origin()))
	return ok && slices.ContainsFunc(line.Clauses, func(cl spec.Clause) bool {
		return cl.Operand.Kind == spec.Recv && cl.Effect == e
	})
}
