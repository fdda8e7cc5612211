package proof

// What is compiled with an edit in other builds: files for other systems and tags, and tests. They are not
// type-checked, but known by name. What they have instead of a function of this build may do anything to the
// operands that it names. A type of which they declare a method that others call, or which they declare
// themselves, may be asked for anything, and have functions. A name may mean another field or method there:
// one of a type that they declare, or one that embedded fields lead to, where they declare such a method
// before.

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"
)

// An elsewhere is what those files declare, by name.
type elsewhere struct {
	funcs    map[string][]*ast.FuncDecl // as nameOf has it
	methods  map[string]bool
	types    map[string]Away
	promotes map[string]bool // types that may have methods which they do not declare
}

// An Away is what those files say of a type.
type Away struct {
	Declared bool     // they declare it
	Has      []string // methods that they declare of it
}

func elsewhereOf(files []*ast.File) elsewhere {
	w := elsewhere{map[string][]*ast.FuncDecl{}, map[string]bool{}, map[string]Away{}, map[string]bool{}}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := nameOf(d)
				w.funcs[name] = append(w.funcs[name], d)
				if of, method, ok := strings.Cut(name, "."); ok {
					w.methods[method] = true
					w.types[of] = Away{w.types[of].Declared, append(w.types[of].Has, method)}
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if t, ok := s.(*ast.TypeSpec); ok {
						w.types[t.Name.Name] = Away{true, w.types[t.Name.Name].Has}
						if promotes(t) {
							w.promotes[t.Name.Name] = true
						}
					}
				}
			}
		}
	}
	return w
}

// promotes reports whether a type may have methods that it does not declare.
func promotes(t *ast.TypeSpec) bool {
	switch x := t.Type.(type) {
	case *ast.StructType:
		return slices.ContainsFunc(x.Fields.List, func(f *ast.Field) bool { return len(f.Names) == 0 })
	case *ast.InterfaceType:
		return true
	}
	return t.Assign.IsValid()
}

// TypesAway returns what those files say of types of a package: who imports the package cannot know.
func TypesAway(pkg *types.Package, left []*ast.File) map[*types.TypeName]Away {
	out := map[*types.TypeName]Away{}
	for name, a := range elsewhereOf(left).types {
		if t, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok {
			out[t] = a
		}
	}
	return out
}

// everywhere returns what a function of the package does, whichever build it is in, where s is what it does
// in this one. What frees an operand here may do more there.
func (c *checker) everywhere(fn *types.Func, s *Summary) *Summary {
	all := c.away.funcs[localName(fn)]
	if of, _, ok := strings.Cut(localName(fn), "."); ok && len(all) == 0 && c.away.promotes[of] {
		return worst(len(s.Params), len(s.Results))
	}
	for _, d := range all {
		names := operandNames(d)
		t := *s
		t.Params, t.Where, t.Theirs, t.Results = slices.Clone(s.Params), nil, 0, slices.Clone(s.Results)
		for n := range t.Results {
			t.Results[n].Hands = nil
		}
		for n := range t.Params {
			p := &t.Params[n]
			p.Hands = nil
			switch {
			case len(names) == len(t.Params) && d.Body != nil && !inBody(d.Body, names[n]) && !p.Frees:
			case p.Frees:
				p.Silent, p.Repeatable, p.NilOK = false, false, false
			default:
				p.or(anything)
			}
		}
		s = &t
	}
	return s
}

// operandNames returns the names of the operands of a function, the receiver first.
func operandNames(d *ast.FuncDecl) (out []string) {
	for _, list := range []*ast.FieldList{d.Recv, d.Type.Params} {
		if list == nil {
			continue
		}
		for _, f := range list.List {
			for _, id := range f.Names {
				out = append(out, id.Name)
			}
			if len(f.Names) == 0 {
				out = append(out, "_")
			}
		}
	}
	return out
}

// inBody reports whether a body names something.
func inBody(body *ast.BlockStmt, name string) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// elsewhere returns what other builds say of a type.
func (c *checker) elsewhere(t *types.TypeName) Away {
	if t.Pkg() == c.pkg && t.Parent() == c.pkg.Scope() {
		return c.away.types[t.Name()]
	} else if t.Pkg() == c.pkg || c.in.Away == nil {
		return Away{}
	}
	return c.in.Away(t)
}

// more reports whether other builds declare a type of the package, or what it embeds, or such a method of
// these.
func (c *checker) more(t types.Type, such func(method string) bool) bool {
	return len(c.away.types) > 0 && c.declares(t, such, new(typeutil.Map))
}

func (c *checker) declares(t types.Type, such func(method string) bool, seen *typeutil.Map) bool {
	if seen.Set(t, true) != nil {
		return false
	}
	for _, n := range namesOf(t) {
		a := c.elsewhere(n)
		if n.Pkg() == c.pkg && (a.Declared || slices.ContainsFunc(a.Has, such)) {
			return true
		}
	}
	s, _ := pointed(t).Underlying().(*types.Struct)
	return s != nil && slices.ContainsFunc(slices.Collect(s.Fields()), func(f *types.Var) bool {
		return f.Embedded() && c.declares(f.Type(), such, seen)
	})
}

// otherwise reports whether a name in a function may mean another field or method in other builds. Of one
// that is not edited this is asked of methods which types of the package promote: fields that it reads, and
// what types of others have, are taken to be there what they are here.
func (c *checker) otherwise(fn *ssa.Function, edited bool) (may bool) {
	if fn.Syntax() == nil {
		return false
	}
	ast.Inspect(fn.Syntax(), func(n ast.Node) bool {
		x, _ := n.(*ast.SelectorExpr)
		s := c.info.Selections[x]
		may = may || s != nil && c.selects(s, edited)
		return !may
	})
	return may
}

func (c *checker) selects(s *types.Selection, edited bool) bool {
	t, path := s.Recv(), s.Index()
	for k, n := range path {
		last := k == len(path)-1
		for _, of := range namesOf(t) {
			a := c.elsewhere(of)
			if !edited && (of.Pkg() != c.pkg || last && s.Kind() == types.FieldVal) {
				continue
			}
			own := last && s.Kind() != types.FieldVal && !of.IsAlias() // what it does there a summary says
			if a.Declared && !own || !last && slices.Contains(a.Has, s.Obj().Name()) {
				return true
			}
		}
		if !last {
			t = pointed(t).Underlying().(*types.Struct).Field(n).Type()
		}
	}
	return false
}

// namesOf returns the names that a type has, or what it points to.
func namesOf(t types.Type) (out []*types.TypeName) {
	for {
		switch u := t.(type) {
		case *types.Alias:
			out = append(out, u.Obj())
			t = u.Rhs()
		case *types.Pointer:
			t = u.Elem()
		case *types.Named:
			return append(out, u.Obj())
		default:
			return out
		}
	}
}

// pointed returns what a pointer of type t points to, or t.
func pointed(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}
