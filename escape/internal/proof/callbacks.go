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
	if s == nil {
		return anything
	}
	for _, q := range s.Params {
		p.or(q)
	}
	for n, r := range s.Results {
		_, basic := fn.Signature.Results().At(n).Type().Underlying().(*types.Basic)
		// a number is used up by who asks
		p.Keeps = p.Keeps || !basic && (!r.Known || len(r.Derived)+len(r.Is) > 0)
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

// calls reports whether who gets operand n of a call may call a function that it has, or, if it is kept, a
// method that this package declares. Of what is lent, pointers to structs of this package are followed, too.
func (f *family) calls(k *call, n int) bool {
	v, kept := k.args[n], k.sum.param(n).Keeps
	t := v.Type()
	if i, ok := v.(*ssa.MakeInterface); ok {
		t = i.X.Type()
		for m := range i.Type().Underlying().(*types.Interface).Methods() {
			o, _, _ := types.LookupFieldOrMethod(t, true, m.Pkg(), m.Name())
			if kept && o != nil && o.Pkg() == f.c.pkg {
				return true
			}
		}
	}
	if f.c.hasFunction(t, !kept, &typeutil.Map{}) {
		return true
	}
	for id := range f.reach(f.of(v)).all() { // in memory of the family; literals that are lent are walked
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

// hasFunction reports whether a value of type t has a function that somebody else than the package of a field
// may have put there; through: also behind pointers to structs of this package.
func (c *checker) hasFunction(t types.Type, through bool, seen *typeutil.Map) bool {
	if callable(t) {
		return true
	}
	if seen.Set(t, true) != nil {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if (f.Exported() || f.Pkg() == c.pkg) && c.hasFunction(f.Type(), through, seen) {
				return true
			}
		}
	case *types.Pointer:
		named, ok := types.Unalias(u.Elem()).(*types.Named)
		return through && ok && named.Obj().Pkg() == c.pkg && c.hasFunction(named, through, seen)
	case interface{ Elem() types.Type }: // slices, arrays, maps, channels
		return c.hasFunction(u.Elem(), through, seen)
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

// hands reports whether v is an interface of a value of which fn may ask to keep another operand.
func (c *checker) hands(fn *types.Func, v ssa.Value) bool {
	for {
		x, ok := v.(*ssa.ChangeInterface)
		if !ok {
			break
		}
		v = x.X
	}
	if c.off[Callbacks] {
		return false
	}
	relay := slices.Contains(relays, pathOf(fn)) && !isNilConst(v)
	i, ok := v.(*ssa.MakeInterface)
	if !ok || anyType(i.X.Type()) {
		iface, _ := v.Type().Underlying().(*types.Interface)
		return relay && (iface != nil || wraps(v.Type())) || iface != nil && c.effect(fn) != nil && c.effect(fn).Said &&
			slices.ContainsFunc(slices.Collect(iface.Methods()), takes)
	}
	if relay && wraps(i.X.Type()) {
		return true
	}
	keeps, ok := c.handing.At(i.X.Type()).(bool)
	if !ok {
		for m := range askedOf(i.X.Type()) {
			keeps = keeps || c.keepsArgument(m, i.X.Type())
		}
		c.handing.Set(i.X.Type(), keeps)
	}
	for m := range i.Type().Underlying().(*types.Interface).Methods() {
		o, _, _ := types.LookupFieldOrMethod(i.X.Type(), true, m.Pkg(), m.Name())
		m, ok := o.(*types.Func)
		keeps = keeps || ok && c.keepsArgument(m, i.X.Type())
	}
	return keeps
}

// keepsArgument reports whether method m of t may keep an argument.
func (c *checker) keepsArgument(m *types.Func, t types.Type) bool {
	of := m.Signature().Recv().Type()
	promoted := types.IsInterface(of) || wraps(of) && !wraps(t) // of nobody knows what
	s := c.invoked(m)
	for n := range m.Signature().Params().Len() {
		if !counts(m.Signature().Params().At(n).Type()) && (promoted || s.param(n+1).Keeps) {
			return true
		}
	}
	return m.Name() == "Unwrap" // to anybody's
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

// askedOf returns the methods of t, or of a pointer to it, that others call.
func askedOf(t types.Type) iter.Seq[*types.Func] {
	if _, pointer := t.Underlying().(*types.Pointer); !pointer {
		t = types.NewPointer(t)
	}
	return func(yield func(*types.Func) bool) {
		for m := range types.NewMethodSet(t).Methods() {
			if fn, ok := m.Obj().(*types.Func); ok && slices.Contains(asked, fn.Name()) && !yield(fn) {
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
	for m := range askedOf(t) {
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
