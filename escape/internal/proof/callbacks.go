package proof

// Functions and methods that callees call: of values that they are handed as interfaces, and of operands that
// are functions themselves.

import (
	"cmp"
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
	if s == nil || unsaid(origin(fn)) || demands(origin(fn)) {
		return anything
	}
	if (search{c: f.c, said: true}).returns(fn.Signature) {
		return anything
	}
	for n, q := range s.Params {
		for m := range s.Params { // nobody sees which functions these have
			if m != n && q.Gives.has(m) && (search{c: f.c, said: s.Said}).finds(declared(fn.Signature, m)) {
				return anything
			}
		}
		p.or(q.passed())
	}
	for n, r := range s.Results { // a number is used up by who asks
		has := !r.Known || len(r.Derived)+len(r.Is)+len(r.Read) > 0
		p.Keeps = p.Keeps || has && !counts(fn.Signature.Results().At(n).Type())
	}
	return p
}

// invoked is what a method does that is called on an interface, nil if nobody knows: where its receiver is a
// function, nobody sees which.
func (c *checker) invoked(m *types.Func) *Summary {
	s := c.effect(m)
	if s != nil && (c.demanding(m) || m.Signature().Recv() != nil && callable(m.Signature().Recv().Type())) {
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
	return fn || anyType(t) && !flat(t)
}

// isNothing reports whether nil of type t has neither methods nor anything in it.
func isNothing(t types.Type) bool {
	switch types.Unalias(t).(type) {
	case *types.Slice, *types.Map, *types.Chan:
		return true
	}
	return types.IsInterface(t) || callable(t)
}

// calls reports whether who gets operand n of a call may call a function that it has, or a method: if it is
// kept, one that this package declares; during the call, if a line of the package's own says what that does,
// one of which nobody knows whose it is.
func (f *family) calls(k *call, n int, during bool) bool {
	kept := k.sum.param(n).Keeps
	s := search{c: f.c, kept: kept, later: !during, said: during && k.sum.Said}
	if k.fn != nil {
		t := declared(k.fn.Signature(), n)
		for e, ok := t.(interface{ Elem() types.Type }); ok; e, ok = t.(interface{ Elem() types.Type }) {
			t = e.Elem()
		}
		s.generic = anyType(t)
	}
	for _, v := range each(k.args[n]) {
		t := v.Type()
		_, function := t.Underlying().(*types.Signature)
		zero := func(e elem) bool { return e.obj.kind == zeroObj }
		if isNilConst(v) && isNothing(t) || function && f.only(f.of(v), zero) {
			continue
		}
		i, ok := v.(*ssa.MakeInterface)
		if ok {
			t = i.X.Type()
		}
		if s.finds(t) || ok && kept && f.c.ownMethod(t, false) {
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

// tells reports whether a value that becomes an interface may be asked for something by those
// who print, compare or write it, or call a method of the interface, that does more than look at it.
func (c *checker) tells(v ssa.Value) bool {
	if c.off[Callbacks] {
		return false
	}
	if i, ok := v.(*ssa.ChangeType); ok { // a type parameter's constraint may be that interface
		return anyType(i.X.Type()) && types.IsInterface(i.Type())
	}
	if a, ok := v.(*ssa.TypeAssert); ok {
		return c.asserts(a)
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
			if p := c.effect(fn).param(0); !c.ends(fn) {
				k = k || c.demanding(fn) || p.acts()
			}
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

func isAsked(method string) bool { return slices.Contains(asked, method) }

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
		p.or(c.askedOf(i, said))
	}
	return p
}

// askedOf is what methods of a value that becomes an interface may do to what they are asked with: those of
// the interface, those that others ask for, and where a line of the package says what the callee does, any.
func (c *checker) askedOf(i *ssa.MakeInterface, said bool) (p Param) {
	may := func(m *types.Func) bool {
		of, _, _ := types.LookupFieldOrMethod(i.Type(), false, m.Pkg(), m.Name())
		return of != nil || said && m.Pkg() == c.pkg || isAsked(m.Name())
	}
	if c.more(i.X.Type(), func(m string) bool { return may(types.NewFunc(0, c.pkg, m, nil)) }) {
		return anything
	}
	for m := range c.methodsOf(i.X.Type()) {
		if may(m) {
			p.or(c.toArguments(m, i.X.Type()))
			if said && (search{c: c, said: true}).returns(m.Signature()) {
				return anything
			}
		}
	}
	return p
}

// constrained is what methods do to operand n of a call that constraints of the callee name, if its type has
// to do with a type parameter: who wrote a line for the callee knows nothing of them.
func (c *checker) constrained(k *call, n int) (p Param) {
	if k.fn == nil || c.off[Callbacks] {
		return p
	}
	sig, params, args := k.fn.Signature(), k.fn.Signature().TypeParams(), []types.Type(nil)
	if callee := k.at.Common().StaticCallee(); callee != nil {
		sig, params, args = callee.Signature, callee.TypeParams(), callee.TypeArgs()
	} else if of, ok := types.Unalias(declared(sig, 0)).(*types.Named); ok {
		params, args = of.TypeParams(), slices.Collect(of.TypeArgs().Types())
	}
	of := k.fn.Origin().Signature()
	if params.Len() == 0 { // it is called through a wrapper
		params = cmp.Or(of.TypeParams(), of.RecvTypeParams())
	}
	if len(args) > 0 && types.Identical(declared(of, n), declared(sig, n)) {
		return p
	}
	for i := range params.Len() {
		t := types.Type(params.At(i))
		constraint := t.Underlying().(*types.Interface)
		if len(args) > 0 {
			t = args[i]
		}
		for m := range constraint.Methods() {
			of, _, _ := types.LookupFieldOrMethod(t, true, m.Pkg(), m.Name())
			fn, _ := of.(*types.Func)
			s := c.invoked(fn)
			if s == nil {
				return anything
			}
			p.or(s.param(0).passed())
		}
	}
	return p
}

// demands reports whether a type parameter of a function, or of its receiver, has methods: who has that as a
// value does not know them.
func demands(fn *types.Func) bool {
	if fn == nil {
		return false
	}
	sig := fn.Origin().Signature()
	for _, list := range []*types.TypeParamList{sig.TypeParams(), sig.RecvTypeParams()} {
		for t := range list.TypeParams() {
			if t.Underlying().(*types.Interface).NumMethods() > 0 {
				return true
			}
		}
	}
	return false
}

// demanding reports whether a function calls methods of a type parameter that may do more than to look at
// what they get. Of a method of an instance they are those of its type's arguments.
func (c *checker) demanding(fn *types.Func) bool {
	if !demands(fn) {
		return false
	}
	recv := fn.Signature().Recv()
	if recv == nil {
		return true
	}
	of := types.Unalias(pointed(recv.Type())).(*types.Named)
	for i := range of.TypeArgs().Len() {
		for m := range of.TypeParams().At(i).Underlying().(*types.Interface).Methods() {
			t := of.TypeArgs().At(i)
			o, _, _ := types.LookupFieldOrMethod(t, true, m.Pkg(), m.Name())
			by, _ := o.(*types.Func)
			if demands(by) {
				return true
			}
			if s := c.invoked(by); s == nil || slices.ContainsFunc(s.Params, Param.acts) {
				return true
			}
		}
	}
	return false
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
			p.or(s.param(n + 1).passed())
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
func (c *checker) methodsOf(t types.Type) iter.Seq[*types.Func] {
	if _, pointer := t.Underlying().(*types.Pointer); !pointer {
		t = types.NewPointer(t)
	}
	return func(yield func(*types.Func) bool) {
		for m := range c.prog.MethodSets.MethodSet(t).Methods() {
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
	for _, n := range namesOf(t) {
		if a := c.elsewhere(n); a.Declared || slices.ContainsFunc(a.Has, isAsked) {
			return true
		}
	}
	for m := range c.methodsOf(t) {
		if !slices.Contains(asked, m.Name()) {
			continue
		}
		s := c.effect(m)
		if p := s.param(0); p.Keeps || p.writes() || p.Frees || returnsPart(m, s) {
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
