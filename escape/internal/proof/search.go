package proof

// Functions and methods that values of a type may have.

import (
	"bytes"
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"
)

// each returns the arguments of a variadic function of which v is the slice, else v alone.
func each(v ssa.Value) []ssa.Value {
	s, ok := v.(*ssa.Slice)
	if !ok || !isBacking(s.X) || s.X.(*ssa.Alloc).Comment != "varargs" {
		return []ssa.Value{v}
	}
	var out []ssa.Value
	for _, r := range *s.X.Referrers() {
		if at, ok := r.(*ssa.IndexAddr); ok {
			for _, st := range *at.Referrers() {
				if st, ok := st.(*ssa.Store); ok {
					out = append(out, st.Val)
				}
			}
		}
	}
	return out
}

// declared returns the type of the n-th operand of a function, the receiver first.
func declared(sig *types.Signature, n int) types.Type {
	if recv := sig.Recv(); recv != nil {
		if n == 0 {
			return recv.Type()
		}
		n--
	}
	return sig.Params().At(n).Type()
}

// A search is for a function that a value of some type has, or a method that its callee may call, where
// somebody else than the package of a field may have put it there.
type search struct {
	c                          *checker
	kept, later, said, generic bool // see calls; generic: the callee does not know the type
}

// finds reports whether such a function is found. Each search asks once of a type.
func (s search) finds(t types.Type) bool {
	have := s.c.found[s]
	if have == nil {
		have = new(typeutil.Map)
		s.c.found[s] = have
	}
	is, ok := have.At(t).(bool)
	if !ok {
		is = s.looks(t, new(typeutil.Map))
		have.Set(t, is)
	}
	return is
}

// looks is finds, where types in seen are looked into already.
func (s search) looks(t types.Type, seen *typeutil.Map) bool {
	if callable(t) || anyType(t) {
		return callable(t) || (s.kept || s.said) && s.c.satisfies(t)
	}
	if seen.Set(t, true) != nil {
		return false
	}
	named, _ := types.Unalias(t).(*types.Named)
	none := func(string) bool { return false }
	if named != nil && ((s.kept || s.said) && (s.generic && s.c.ownMethod(t, s.said) || s.c.more(t, none)) ||
		s.said && named.Obj().Name() == "Value" && named.Obj().Pkg().Path() == "reflect") {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Interface:
		hands := func(m *types.Func) bool { return takes(m) || s.gives(m.Signature(), seen) }
		return s.said && (u.Empty() || slices.ContainsFunc(slices.Collect(u.Methods()), hands)) ||
			s.kept && s.c.implements(u)
	case *types.Struct:
		for f := range u.Fields() {
			if (f.Exported() || f.Pkg() == s.c.pkg) && s.looks(f.Type(), seen) {
				return true
			}
		}
	case *types.Pointer:
		named, _ := types.Unalias(u.Elem()).(*types.Named)
		own := named != nil && named.Obj().Pkg() == s.c.pkg
		return (s.said || !s.kept && own) && s.looks(u.Elem(), seen) || s.later && !own && s.c.sets(u.Elem())
	case *types.Map:
		return s.looks(u.Key(), seen) || s.looks(u.Elem(), seen)
	case interface{ Elem() types.Type }: // slices, arrays, channels
		return s.looks(u.Elem(), seen)
	}
	return false
}

// returns reports whether what a function returns, an error aside, may be such a function or have one: who
// calls it may call that as well.
func (s search) returns(sig *types.Signature) bool { return s.gives(sig, new(typeutil.Map)) }

// gives is returns, where types in seen are looked into already.
func (s search) gives(sig *types.Signature, seen *typeutil.Map) bool {
	for v := range sig.Results().Variables() {
		if !types.Identical(v.Type(), types.Universe.Lookup("error").Type()) && s.looks(v.Type(), seen) {
			return true
		}
	}
	return false
}

// ownMethod reports whether this package declares a method of t, or of a pointer to it, that others can call;
// here: or that it may call itself.
func (c *checker) ownMethod(t types.Type, here bool) bool {
	for m := range c.methodsOf(t) {
		if (here || m.Exported()) && m.Pkg() == c.pkg {
			return true
		}
	}
	return c.more(t, func(string) bool { return true })
}

// sets reports whether t is a function, or a struct with one into which this package may have put one of its
// own: it names the field, or the type.
func (c *checker) sets(t types.Type) bool {
	if _, function := t.Underlying().(*types.Signature); function {
		return true
	}
	u, ok := t.Underlying().(*types.Struct)
	named, _ := types.Unalias(t).(*types.Named)
	for i := 0; ok && i < u.NumFields(); i++ {
		f := u.Field(i)
		_, function := f.Type().Underlying().(*types.Signature)
		if function && f.Exported() && (c.mentions(f.Name()) || named != nil && c.mentions(named.Obj().Name())) {
			return true
		}
	}
	return false
}

// mentions reports whether the text of the package has a name.
func (c *checker) mentions(name string) bool {
	return slices.ContainsFunc(c.files, func(f *file) (found bool) {
		if f.text != nil { // the tree lacks bodies that are not looked into
			return bytes.Contains(f.text, []byte(name))
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && id.Name == name
			return !found
		})
		return found
	})
}

// satisfies reports whether a type that has methods of this package may be type parameter t: who is given a
// value finds them.
func (c *checker) satisfies(t types.Type) bool {
	u := types.Unalias(t).(*types.TypeParam).Constraint().Underlying().(*types.Interface)
	return len(c.away.methods) > 0 || slices.ContainsFunc(c.decls(), func(m *types.Func) bool {
		recv := m.Signature().Recv()
		return recv != nil && m.Signature().RecvTypeParams() == nil && types.Satisfies(recv.Type(), u)
	})
}

// flat reports whether t, a type parameter, a constraint or a type in one, is a number, a text or the like,
// some of these in a row, or a struct of such, and no constraint says that it has methods.
func flat(t types.Type) bool {
	switch u := types.Unalias(t).(type) {
	case *types.TypeParam:
		return flat(u.Constraint())
	case *types.Union:
		return !slices.ContainsFunc(slices.Collect(u.Terms()), func(t *types.Term) bool { return !flat(t.Type()) })
	}
	switch u := t.Underlying().(type) {
	case *types.Interface:
		return u.NumMethods() == 0 && slices.ContainsFunc(slices.Collect(u.EmbeddedTypes()), flat)
	case *types.Struct:
		return !slices.ContainsFunc(slices.Collect(u.Fields()), func(f *types.Var) bool { return !flat(f.Type()) })
	case *types.Slice:
		b, ok := u.Elem().Underlying().(*types.Basic)
		return ok && b.Kind() != types.UnsafePointer
	case *types.Basic:
		return u.Kind() != types.UnsafePointer
	}
	return false
}

// implements reports whether behind an interface may be a function, or a type that has a method of this
// package, perhaps beside others that it embeds.
func (c *checker) implements(u *types.Interface) bool {
	there := func(m *types.Func) bool { return c.away.methods[m.Name()] }
	if u.NumMethods() == 0 || slices.ContainsFunc(slices.Collect(u.Methods()), there) {
		return true
	}
	return slices.ContainsFunc(c.decls(), func(m *types.Func) bool {
		has, _, _ := types.LookupFieldOrMethod(u, false, m.Pkg(), m.Name())
		return has != nil && m.Signature().Recv() != nil && m.Exported()
	})
}
