package proof

// What only the package can name. Nobody outside a package can store in an unexported field, so a call
// through such a field runs one of the functions that the package stores in fields of that name: of any
// struct, as a conversion may carry a value from one struct type to another. The field is open, and the call
// unknown, as soon as something else is stored there, or an address of it is taken. In the same way a call of
// an unexported method of an interface runs one of the package's methods of that name, whoever embeds what
// has it. What the call does is the worst that one of these does.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A fieldStores is what the package stores in fields of one name.
type fieldStores struct {
	fns  []*ssa.Function
	open bool
}

// storedIn returns what is stored in the field that v is read from; nil if it is read from none, or that is
// not known.
func (c *checker) storedIn(v ssa.Value) []*ssa.Function {
	name := c.fieldRead(v)
	if name == "" || c.trimmed {
		return nil
	}
	if c.stores == nil {
		c.stores = map[string]*fieldStores{}
		for fn := range c.bodies() {
			c.findStores(fn)
		}
	}
	if s := c.stores[name]; s != nil && !s.open && !c.untyped {
		return s.fns
	}
	return nil
}

// inField returns what a call does of what v is, if that is read from a field; nil if that is not known.
func (f *family) inField(v ssa.Value) *Summary {
	c, name, fns := f.c, f.c.fieldRead(v), f.c.storedIn(v)
	if slices.ContainsFunc(fns, func(fn *ssa.Function) bool { return f.member[fn] }) {
		return nil
	}
	if s := c.fields[name]; s != nil {
		return s
	}
	var sum *Summary
	for _, fn := range fns {
		s := c.does(fn)
		if s == nil {
			return nil
		}
		sum = worse(sum, s)
	}
	c.fields[name] = sum
	return sum
}

// captures reports whether a function in the field that v is read from has captured something.
func (c *checker) captures(v ssa.Value) bool {
	return slices.ContainsFunc(c.storedIn(v), func(fn *ssa.Function) bool { return len(fn.FreeVars) > 0 })
}

// closed returns what a closure does that is the first operand itself: what it holds it may return, or hand
// to functions among the others.
func closed(s *Summary) *Summary {
	out := &Summary{Params: []Param{{Gives: true}}}
	for _, p := range s.Params {
		switch {
		case p.FreesIf > 0:
			p.FreesIf++
		case p.FreesIf < 0:
			p.FreesIf--
		}
		out.Params = append(out.Params, p)
	}
	for _, r := range s.Results {
		if r = r.shifted(); !r.Owned && !r.Fresh && !r.Exact {
			r.Derived = append(r.Derived, 0)
		}
		out.Results = append(out.Results, r)
	}
	return out
}

// shifted returns r where there is an operand before the others.
func (r Result) shifted() Result {
	shift := func(of []int) (out []int) {
		for _, n := range of {
			out = append(out, n+1)
		}
		return out
	}
	r.Derived, r.Is, r.Parts = shift(r.Derived), shift(r.Is), slices.Clone(r.Parts)
	for n := range r.Parts {
		r.Parts[n].Result = r.Parts[n].shifted()
	}
	return r
}

// ownMethods returns what a call of an interface's method may run, if only this package can name it.
func (c *checker) ownMethods(com *ssa.CallCommon) (all []*types.Func) {
	if !com.IsInvoke() || com.Method.Exported() || com.Method.Pkg() != c.pkg {
		return nil
	}
	for _, m := range c.decls() {
		if m.Name() == com.Method.Name() && m.Signature().Recv() != nil {
			all = append(all, m)
		}
	}
	return all
}

// ownMethod returns what a call of an unexported method of an interface does, nil if that is not known.
func (c *checker) ownMethod(com *ssa.CallCommon) *Summary {
	var sum *Summary
	sig := com.Method.Signature()
	for _, m := range c.ownMethods(com) {
		s := c.invoked(m)
		if s == nil || len(s.Params) != 1+sig.Params().Len() || len(s.Results) != sig.Results().Len() {
			return nil
		}
		sum = worse(sum, s)
	}
	return sum
}

// callsFields reports whether something that is needed may call through such a field: then all bodies are.
func (c *checker) callsFields() bool {
	fields, called := map[string]bool{}, map[string]bool{}
	for _, f := range c.files {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if s, ok := n.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, name := range f.Names {
						fields[name.Name] = fields[name.Name] || !name.IsExported()
					}
				}
			}
			return true
		})
	}
	for d := range c.need {
		ast.Inspect(d, func(n ast.Node) bool {
			if k, ok := n.(*ast.CallExpr); ok {
				if s, ok := ast.Unparen(k.Fun).(*ast.SelectorExpr); ok {
					called[s.Sel.Name] = true
				}
			}
			return true
		})
	}
	for name := range called {
		if fields[name] {
			return true
		}
	}
	return false
}

// fieldRead returns the name of the unexported field of this package that v is read from, "" if it is none.
func (c *checker) fieldRead(v ssa.Value) string {
	switch x := v.(type) {
	case *ssa.UnOp:
		if a, ok := x.X.(*ssa.FieldAddr); ok && x.Op == token.MUL {
			return c.ownField(a.X.Type(), a.Field)
		}
	case *ssa.Field:
		return c.ownField(x.X.Type(), x.Field)
	}
	return ""
}

// ownField returns the name of field n of a struct, or of what a pointer to one leads to, if it holds a
// function and only this package can name it.
func (c *checker) ownField(t types.Type, n int) string {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok || s.Field(n).Exported() || s.Field(n).Pkg() != c.pkg {
		return ""
	}
	if !callable(s.Field(n).Type()) {
		return ""
	}
	return s.Field(n).Name()
}

// bodies returns all functions of the package that have bodies, literals among them.
func (c *checker) bodies() map[*ssa.Function]bool {
	all := map[*ssa.Function]bool{}
	var add func(fn *ssa.Function)
	add = func(fn *ssa.Function) {
		if fn != nil && !all[fn] {
			all[fn] = true
			for _, a := range fn.AnonFuncs {
				add(a)
			}
		}
	}
	for _, m := range c.prog.Package(c.pkg).Members {
		fn, _ := m.(*ssa.Function)
		add(fn)
	}
	for _, o := range c.decls() {
		add(c.prog.FuncValue(o))
	}
	return all
}

// findStores notes what a function stores in fields of function types.
func (c *checker) findStores(fn *ssa.Function) {
	for i := range instrsOf(fn) {
		c.untyped = c.untyped || retypes(i)
		a, ok := i.(*ssa.FieldAddr)
		if !ok {
			continue
		}
		name := c.ownField(a.X.Type(), a.Field)
		if name == "" {
			continue
		}
		s := c.storesOf(name)
		for _, r := range *a.Referrers() {
			switch r := r.(type) {
			case *ssa.DebugRef, *ssa.UnOp:
			case *ssa.Store:
				s.open = s.open || r.Addr != ssa.Value(a) || !s.add(r.Val)
			default:
				s.open = true
			}
		}
	}
}

// retypes reports whether an instruction may give memory another type, or lead beside what it is the address
// of: whoever has that may write any field.
func retypes(i ssa.Instruction) bool {
	if x, ok := i.(*ssa.Convert); ok {
		return isUnsafe(x.Type()) || isUnsafe(x.X.Type())
	}
	k := callOf(i)
	if k == nil {
		return false
	}
	b, ok := k.Common().Value.(*ssa.Builtin)
	return ok && b.Name() == "Slice"
}

func (c *checker) storesOf(name string) *fieldStores {
	if c.stores[name] == nil {
		c.stores[name] = &fieldStores{}
	}
	return c.stores[name]
}

// add adds what is stored; false: it is not a function, or literal, that is seen.
func (s *fieldStores) add(v ssa.Value) bool {
	switch x := v.(type) {
	case *ssa.Const:
		return true // a call of nil panics
	case *ssa.ChangeType:
		return s.add(x.X)
	case *ssa.MakeClosure:
		v = x.Fn
	}
	fn, ok := v.(*ssa.Function)
	if !ok || fn.Synthetic != "" || fn.Parent() == nil && origin(fn) == nil {
		return false
	}
	if !slices.Contains(s.fns, fn) {
		s.fns = append(s.fns, fn)
	}
	return true
}

// storesFunctions reports whether a function, or a literal in it, stores in such a field.
func (c *checker) storesFunctions(fn *ssa.Function) bool {
	stores := func(r ssa.Instruction) bool { _, ok := r.(*ssa.Store); return ok }
	for i := range instrsOf(fn) {
		a, ok := i.(*ssa.FieldAddr)
		if ok && c.ownField(a.X.Type(), a.Field) != "" && slices.ContainsFunc(*a.Referrers(), stores) {
			return true
		}
	}
	return slices.ContainsFunc(fn.AnonFuncs, c.storesFunctions)
}
