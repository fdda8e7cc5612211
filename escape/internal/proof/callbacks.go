package proof

// Functions and methods that callees call: of values that they are handed as interfaces, and of operands that
// are functions themselves.

import (
	"go/types"
	"iter"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"
)

// taken is what a function that is not a literal of the family does to what it is called with.
func (f *family) taken(v ssa.Value) (p Param) {
	fn, ok := v.(*ssa.Function)
	if !ok {
		return anything
	}
	s := f.c.does(fn)
	if s == nil || unsaid(origin(fn)) {
		return anything
	}
	for n, q := range s.Params {
		for m := range s.Params { // nobody sees which functions these have
			if m != n && q.Gives.has(m) && (&search{c: f.c, said: s.Said}).finds(declared(fn.Signature, m)) {
				return anything
			}
		}
		p.or(q)
	}
	for n, r := range s.Results { // a number is used up by who asks
		has := !r.Known || len(r.Derived)+len(r.Is) > 0
		p.Keeps = p.Keeps || has && !counts(fn.Signature.Results().At(n).Type())
	}
	return p
}

// invoked is what a method does that is called on an interface, nil if nobody knows: where its receiver is a
// function, nobody sees which.
func (c *checker) invoked(m *types.Func) *Summary {
	s := c.effect(m)
	if s != nil && m.Signature().Recv() != nil && callable(m.Signature().Recv().Type()) {
		return nil
	}
	return s
}

// does is what a function does, or a literal of which nothing is known that it captures; nil if nobody knows.
func (c *checker) does(fn *ssa.Function) *Summary {
	if fn.Parent() == nil {
		return c.effect(origin(fn))
	}
	s, ok := c.literals[fn]
	if !ok {
		c.literals[fn] = nil // for one that leads to itself
		s = c.infer(fn)
		c.literals[fn] = s
	}
	return s
}

// callable reports whether a value of type t may be a function.
func callable(t types.Type) bool {
	_, fn := t.Underlying().(*types.Signature)
	return fn || anyType(t)
}

// calls reports whether who gets operand n of a call may call a function that it has, or a method: if it is
// kept, one that this package declares; during the call, if a line of the package's own says what that does,
// one of which nobody knows whose it is.
func (f *family) calls(k *call, n int, during bool) bool {
	kept := k.sum.param(n).Keeps
	s := &search{c: f.c, kept: kept, said: during && k.sum.Said}
	if k.fn != nil {
		t := declared(k.fn.Signature(), n)
		for e, ok := t.(interface{ Elem() types.Type }); ok; e, ok = t.(interface{ Elem() types.Type }) {
			t = e.Elem()
		}
		s.generic = anyType(t)
	}
	for _, v := range each(k.args[n]) {
		t := v.Type()
		if isNilConst(v) && (types.IsInterface(t) || callable(t)) {
			continue
		}
		i, ok := v.(*ssa.MakeInterface)
		if ok {
			t = i.X.Type()
		}
		if s.finds(t) || ok && kept && f.c.ownMethod(t) {
			return true
		}
	}
	// In memory of the family. Literals that are lent are walked.
	for id := range f.reach(f.of(k.args[n])).all() {
		if e := f.elems[id]; e.obj.kind == memObj {
			t := partType(e.obj.typ, strings.Map(noFixed, e.path))
			function := func(e elem) bool { return e.obj.kind != zeroObj && (kept || e.obj.kind != litObj) }
			if t != nil && callable(t) && f.some(f.content[id], function) {
				return true
			}
		}
	}
	return false
}

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
	c                   *checker
	kept, said, generic bool // see calls; generic: the callee does not know the type
	seen                typeutil.Map
}

func (s *search) finds(t types.Type) bool {
	if callable(t) {
		return true
	}
	if s.seen.Set(t, true) != nil {
		return false
	}
	named, _ := types.Unalias(t).(*types.Named)
	if named != nil && (s.generic && (s.said && named.NumMethods() > 0 || s.kept && s.c.ownMethod(t)) ||
		s.said && named.Obj().Name() == "Value" && named.Obj().Pkg().Path() == "reflect") {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Interface:
		return s.said && (u.Empty() || slices.ContainsFunc(slices.Collect(u.Methods()), takes)) ||
			s.kept && s.c.implements(u)
	case *types.Struct:
		for f := range u.Fields() {
			if (f.Exported() || f.Pkg() == s.c.pkg) && s.finds(f.Type()) {
				return true
			}
		}
	case *types.Pointer:
		named, _ := types.Unalias(u.Elem()).(*types.Named)
		return (s.said || !s.kept && named != nil && named.Obj().Pkg() == s.c.pkg) && s.finds(u.Elem())
	case interface{ Elem() types.Type }: // slices, arrays, maps, channels
		return s.finds(u.Elem())
	}
	return false
}

// ownMethod reports whether this package declares a method of t, or of a pointer to it, that others can call.
func (c *checker) ownMethod(t types.Type) bool {
	for m := range methodsOf(t) {
		if m.Exported() && m.Pkg() == c.pkg {
			return true
		}
	}
	return false
}

// implements reports whether a type may be behind an interface that has a method which this package declares.
func (c *checker) implements(u *types.Interface) bool {
	for _, m := range c.decls() {
		recv := m.Signature().Recv()
		if recv == nil || !m.Exported() {
			continue
		}
		lacks := func(i *types.Func) bool {
			o, _, _ := types.LookupFieldOrMethod(recv.Type(), true, i.Pkg(), i.Name())
			return o == nil
		}
		if !slices.ContainsFunc(slices.Collect(u.Methods()), lacks) {
			return true
		}
	}
	return false
}

// tells reports whether a value that becomes an interface may be asked for something by those
// who print, compare or write it, or call a method of the interface, that does more than look at it.
func (c *checker) tells(v ssa.Value) bool {
	if c.off[Callbacks] {
		return false
	}
	if i, ok := v.(*ssa.ChangeType); ok { // a type parameter's constraint may be that interface
		return anyType(i.X.Type()) && types.IsInterface(i.Type())
	}
	i, ok := v.(*ssa.MakeInterface)
	if !ok {
		return false
	}
	t := i.X.Type()
	k, ok := c.telling.At(t).(bool)
	if !ok {
		k = c.asks(t, &typeutil.Map{})
		c.telling.Set(t, k)
	}
	if ms := i.Type().Underlying().(*types.Interface); !k && !types.IsInterface(t) {
		for n := range ms.NumMethods() {
			m, _, _ := types.LookupFieldOrMethod(t, true, ms.Method(n).Pkg(), ms.Method(n).Name())
			fn, _ := m.(*types.Func)
			p := c.effect(fn).param(0)
			k = k || p.Keeps || p.Stores || p.Frees
		}
	}
	return k
}

// asked are the methods that others call on a value that they are handed as an interface. They may get
// another operand of the call, or a part of it. That a contract forbids to keep it, as io's does, does not
// matter where it is seen that they do.
var asked = []string{"String", "Error", "Format", "GoString", "Is", "As", "Unwrap", "Less", "Len", "Swap",
	"MarshalJSON", "MarshalText", "MarshalBinary", "AppendText", "AppendBinary", "LogValue", "Value", "Write",
	"Read", "Scan", "UnmarshalJSON", "UnmarshalText", "UnmarshalBinary", "WriteTo", "ReadFrom", "WriteString",
	"ReadByte", "ReadRune", "ReadAt", "WriteAt", "IsZero", "MarshalJSONTo", "UnmarshalJSONFrom", "UnreadByte",
	"UnreadRune", "Stat", "ReadDir", "ReadFile", "Info"}

// hands is what methods of operand n of a call may do to the other operands that they are asked with; any: it
// is not known which the callee asks.
func (c *checker) hands(k *call, n int, unseen bool) (p Param) {
	if c.off[Callbacks] {
		return p
	}
	said := unseen && k.sum.Said
	list := []ssa.Value{k.args[n]}
	if said {
		list = each(k.args[n])
	}
	for _, v := range list {
		for x, ok := v.(*ssa.ChangeInterface); ok; x, ok = v.(*ssa.ChangeInterface) {
			v = x.X
		}
		relay := slices.Contains(relays, pathOf(k.fn)) && !isNilConst(v)
		i, ok := v.(*ssa.MakeInterface)
		if !ok || anyType(i.X.Type()) {
			if relay && (types.IsInterface(v.Type()) || wraps(v.Type())) {
				return anything
			}
			continue
		}
		if relay && wraps(i.X.Type()) {
			return anything
		}
		for m := range methodsOf(i.X.Type()) {
			of, _, _ := types.LookupFieldOrMethod(i.Type(), false, m.Pkg(), m.Name())
			if of != nil || said && m.Pkg() == c.pkg || slices.Contains(asked, m.Name()) {
				p.or(c.toArguments(m, i.X.Type()))
			}
		}
	}
	return p
}

// toArguments is what method m of t may do to its arguments.
func (c *checker) toArguments(m *types.Func, t types.Type) (p Param) {
	of := m.Signature().Recv().Type()
	if m.Name() == "Unwrap" { // others ask what it returns
		return anything
	} else if types.IsInterface(of) || wraps(of) && !wraps(t) { // it is of nobody knows what
		if takes(m) {
			return anything
		}
		return p
	}
	s := c.invoked(m)
	for n := range m.Signature().Params().Len() {
		if !counts(m.Signature().Params().At(n).Type()) {
			p.or(s.param(n + 1))
		}
	}
	return p
}

// takes reports whether a method may be handed something else than numbers.
func takes(m *types.Func) bool {
	params := slices.Collect(m.Signature().Params().Variables())
	return slices.ContainsFunc(params, func(v *types.Var) bool { return !counts(v.Type()) })
}

// counts reports whether an argument of type t is an index, a verb, how many, or the like.
func counts(t types.Type) bool {
	b, ok := types.Unalias(t).(*types.Basic)
	return ok && b.Info()&(types.IsNumeric|types.IsBoolean) != 0
}

// wraps reports whether t, or what it points to, is a type of a relay that holds an interface of others.
func wraps(t types.Type) bool {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || !slices.Contains(relays, named.Obj().Pkg().Path()) {
		return false
	}
	s, ok := named.Underlying().(*types.Struct)
	for i := 0; ok && i < s.NumFields(); i++ {
		if t := s.Field(i).Type(); types.IsInterface(t) || isStruct(t) && wraps(t) {
			return true
		}
	}
	return false
}

// methodsOf returns the methods of t, or of a pointer to it.
func methodsOf(t types.Type) iter.Seq[*types.Func] {
	if _, pointer := t.Underlying().(*types.Pointer); !pointer {
		t = types.NewPointer(t)
	}
	return func(yield func(*types.Func) bool) {
		for m := range types.NewMethodSet(t).Methods() {
			if fn, ok := m.Obj().(*types.Func); ok && !yield(fn) {
				return
			}
		}
	}
}

// anyType reports whether t stands for a type that nobody knows here. Its values never became an interface.
func anyType(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.TypeParam)
	return ok
}

// returnsPart reports whether a method may return, as an interface, what its receiver holds: an error that
// its caller hands on. Unwrap is known to.
func returnsPart(m *types.Func, s *Summary) bool {
	for n := range m.Signature().Results().Len() {
		r, t := s.result(n), m.Signature().Results().At(n).Type()
		if (!r.Known || r.has(0)) && m.Name() != "Unwrap" && types.IsInterface(t) {
			return true
		}
	}
	return false
}

// asks reports whether a value of type t, or a part of one, has a method that others call and that does more
// than look at it.
func (c *checker) asks(t types.Type, seen *typeutil.Map) bool {
	if anyType(t) {
		return true
	}
	if types.IsInterface(t) || seen.Set(t, true) != nil {
		return false
	}
	for m := range methodsOf(t) {
		if !slices.Contains(asked, m.Name()) {
			continue
		}
		s := c.effect(m)
		if p := s.param(0); p.Keeps || p.Stores || p.Frees || returnsPart(m, s) {
			return true
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() { // nobody can ask a field that it may not name
			if f := u.Field(i); (f.Exported() || f.Embedded()) && c.asks(f.Type(), seen) {
				return true
			}
		}
	case *types.Pointer:
		return c.asks(u.Elem(), seen)
	case *types.Slice:
		return c.asks(u.Elem(), seen)
	case *types.Array:
		return c.asks(u.Elem(), seen)
	case *types.Map:
		return c.asks(u.Elem(), seen) || c.asks(u.Key(), seen)
	}
	return false
}
