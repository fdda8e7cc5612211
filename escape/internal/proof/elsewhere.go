package proof

// What is compiled with an edit in other builds: files for other systems and tags, and tests. They are not
// type-checked, but known by name. What they have instead of a function of this build may do anything to the
// operands that it names. A type of which they declare a method that others call, or which they declare
// themselves, may be asked for anything, and have functions. A name may mean something else there: a field or
// a method of a type that they declare, or one that embedded fields lead to, where they declare such a method
// before, a constant that they declare, or one that is made of such, and what the language declares, too.

import (
	"go/ast"
	"go/token"
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
	promotes map[string]bool       // types that may have methods which they do not declare
	values   map[string]bool       // variables and constants, and fields as methods are named
	consts   map[types.Object]bool // see varying
}

// An Away is what those files say of a type.
type Away struct {
	Declared bool     // they declare it
	Has      []string // methods that they declare of it
}

func elsewhereOf(files []*ast.File) elsewhere {
	w := elsewhere{funcs: map[string][]*ast.FuncDecl{}, methods: map[string]bool{}, types: map[string]Away{},
		promotes: map[string]bool{}, values: map[string]bool{}}
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
					w.declare(s)
				}
			}
		}
	}
	delete(w.values, "_")
	return w
}

// declares reports whether those files declare a name, as whatever.
func (w *elsewhere) declares(name string) bool {
	return w.values[name] || w.types[name].Declared || len(w.funcs[name]) > 0
}

// declare notes a type, variables or constants.
func (w *elsewhere) declare(s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, id := range s.Names {
			w.values[id.Name] = true
		}
	case *ast.TypeSpec:
		name := s.Name.Name
		w.types[name] = Away{true, w.types[name].Has}
		if x, ok := s.Type.(*ast.StructType); ok {
			for _, f := range x.Fields.List {
				for _, id := range f.Names {
					w.values[name+"."+id.Name] = true
				}
				w.promotes[name] = w.promotes[name] || len(f.Names) == 0
			}
		} else if !plainType(s.Type) || s.Assign.IsValid() {
			w.promotes[name] = true
		}
	}
}

// plainType reports whether a type that is declared so has no fields and methods of another.
func plainType(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.ArrayType, *ast.MapType, *ast.ChanType, *ast.FuncType:
		return true
	case *ast.Ident:
		return types.Universe.Lookup(t.Name) != nil
	}
	return false
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
	name := localName(fn)
	all := c.away.funcs[name]
	of, _, method := strings.Cut(name, ".")
	if c.away.values[name] || c.away.types[name].Declared || method && len(all) == 0 && c.away.promotes[of] {
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

// otherwise reports whether a name in a function may mean something else in other builds. Of fields and
// methods in one that is not edited this is asked of methods which types of the package promote: fields that
// it reads, and what types of others have, are taken to be there what they are here.
func (c *checker) otherwise(fn *ssa.Function, edited bool) (may bool) {
	if fn.Syntax() == nil {
		return false
	}
	nothing := map[ast.Node]bool{} // constants that say nothing, whatever they are
	ast.Inspect(fn.Syntax(), func(n ast.Node) bool {
		if nothing[n] {
			return false
		}
		switch n := n.(type) {
		case *ast.IfStmt: // both ways are followed
			c.constant(n.Cond, nothing)
		case *ast.CallExpr: // of an operand callees know nothing
			for _, a := range n.Args {
				nothing[a] = c.info.Types[a].Value != nil && c.info.Types[n.Fun].IsValue()
			}
		case *ast.Ident:
			may = may || c.varies(c.info.Uses[n])
		case *ast.SelectorExpr:
			s := c.info.Selections[n]
			may = may || s != nil && c.selects(s, edited)
		}
		return !may
	})
	return may
}

// constant notes parts of a condition that are constants.
func (c *checker) constant(cond ast.Expr, out map[ast.Node]bool) {
	out[cond] = c.info.Types[cond].Value != nil
	switch x := cond.(type) {
	case *ast.ParenExpr:
		c.constant(x.X, out)
	case *ast.UnaryExpr:
		c.constant(x.X, out)
	case *ast.BinaryExpr:
		if x.Op == token.LAND || x.Op == token.LOR {
			c.constant(x.X, out)
			c.constant(x.Y, out)
		}
	}
}

// varies reports whether a name may be another thing in other builds: what the language declares, a constant,
// or a type that is none there. What functions do summaries say.
func (c *checker) varies(o types.Object) bool {
	if o == nil {
		return false
	}
	switch a, name := &c.away, o.Name(); o.Parent() {
	case types.Universe:
		return a.declares(name)
	case c.pkg.Scope():
		_, isType := o.(*types.TypeName)
		return c.varying()[o] || isType && (a.values[name] || len(a.funcs[name]) > 0)
	}
	return false
}

// varying returns the constants of the package that may be others: those files declare them, or something
// that is named in the group that declares them.
func (c *checker) varying() map[types.Object]bool {
	if c.away.consts != nil {
		return c.away.consts
	}
	out := map[types.Object]bool{}
	c.away.consts = out
	for more := true; more; {
		more = false
		for _, f := range c.files {
			for _, d := range f.tree.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
					more = c.group(g, out) || more
				}
			}
		}
	}
	return out
}

// group notes the constants of a group if one of them may be another, and reports whether that is news.
func (c *checker) group(g *ast.GenDecl, out map[types.Object]bool) bool {
	var own []types.Object
	may := false
	ast.Inspect(g, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if o := c.info.Defs[id]; o != nil {
				own = append(own, o)
			}
			may = may || out[c.info.Uses[id]] || c.away.declares(id.Name)
		}
		return true
	})
	if !may || len(own) == 0 || out[own[0]] {
		return false
	}
	for _, o := range own {
		out[o] = true
	}
	return true
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
