package proof

// What is compiled with an edit in other builds: files for other systems and tags, and tests. They are not
// type-checked, but known by name. What they have instead of a function of this build may do anything to the
// operands that it names. A type of which they declare a method that others call, or which they declare
// themselves, may be asked for anything, and have functions. A name may mean something else there: a field or
// a method of a type that they declare, or one that embedded fields lead to, where they declare such a method
// before, a variable or a function of which they write another type, a constant that they declare, or that is
// made of such a one, and what the language declares, too.

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"iter"
	"path"
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
	named    map[string]bool       // what is no method
	written  map[string][]string   // types of these, what types are, and results, as they are written
	here     map[string][]string   // the same of this build
	varying  map[types.Object]bool // see there
}

// An Away is what those files say of what a package declares.
type Away struct {
	Declared bool     // they declare the type
	Varies   bool     // it may be another thing there
	Has      []string // methods that they declare of it
}

func elsewhereOf(files []*ast.File) elsewhere {
	w := elsewhere{funcs: map[string][]*ast.FuncDecl{}, methods: map[string]bool{}, types: map[string]Away{},
		promotes: map[string]bool{}, named: map[string]bool{}, written: map[string][]string{}}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := nameOf(d)
				w.funcs[name] = append(w.funcs[name], d)
				w.named[name] = true
				w.write(name, f, d.Type)
				if of, method, ok := strings.Cut(name, "."); ok {
					w.methods[method] = true
					w.types[of] = Away{Declared: w.types[of].Declared, Has: append(w.types[of].Has, method)}
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					w.declare(f, s)
				}
			}
		}
	}
	delete(w.named, "_")
	return w
}

// declare notes a type, variables or constants.
func (w *elsewhere) declare(f *ast.File, s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, id := range s.Names {
			w.named[id.Name] = true
			w.write(id.Name, f, s.Type)
		}
	case *ast.TypeSpec:
		name := s.Name.Name
		w.named[name] = true
		w.types[name] = Away{Declared: true, Has: w.types[name].Has}
		w.write(name, f, s.Type)
		if w.promoting(name, f, s.Type) {
			w.promotes[name] = true
		}
	}
}

// promoting notes the fields of a type, or the methods of an interface, and reports whether it may have
// methods that it does not declare.
func (w *elsewhere) promoting(of string, f *ast.File, t ast.Expr) (may bool) {
	var list *ast.FieldList
	switch t := t.(type) {
	case *ast.ArrayType, *ast.MapType, *ast.ChanType, *ast.FuncType:
	case *ast.Ident:
		may = types.Universe.Lookup(t.Name) == nil
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list, may = t.Methods, true
	default:
		may = true
	}
	for _, m := range fieldsOf(list) {
		if m.Names == nil {
			may = true
		}
		for _, id := range m.Names {
			w.write(of+"."+id.Name, f, &ast.ParenExpr{X: m.Type}) // unlike a function
		}
	}
	return may
}

// write notes a type as a file writes it, of a function its results. Nothing is like one that is not written.
func (w *elsewhere) write(name string, f *ast.File, t ast.Expr) {
	list, text := []ast.Expr{t}, ""
	if fn, ok := t.(*ast.FuncType); ok {
		list, text = nil, "func"
		for _, r := range fieldsOf(fn.Results) {
			list = append(list, slices.Repeat([]ast.Expr{r.Type}, max(1, len(r.Names)))...)
		}
	}
	for _, t := range list {
		if t == nil {
			w.written[name] = append(w.written[name], "")
			return
		}
		text += " " + types.ExprString(t)
		ast.Inspect(t, func(n ast.Node) bool {
			if x, ok := n.(*ast.SelectorExpr); ok {
				text += " " + imported(f, types.ExprString(x.X))
			}
			return true
		})
	}
	w.written[name] = append(w.written[name], text)
}

// imported returns the path of what a file imports by a name, or all that it imports.
func imported(f *ast.File, name string) (all string) {
	for _, i := range f.Imports {
		as := path.Base(strings.Trim(i.Path.Value, `"`))
		if i.Name != nil {
			as = i.Name.Name
		}
		if as == name {
			return i.Path.Value
		}
		all += i.Path.Value
	}
	return all
}

// Elsewhere returns what the files that are left say of what a package declares: who imports it cannot know.
func Elsewhere(s *Source) map[types.Object]Away {
	c, out := s.checker(), map[types.Object]Away{}
	for name, a := range c.away.types {
		if t, ok := c.pkg.Scope().Lookup(name).(*types.TypeName); ok {
			out[t] = a
		}
	}
	for _, o := range c.info.Defs {
		if c.varies(o) {
			out[o] = Away{out[o].Declared, true, out[o].Has}
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
	if c.unlike(name) || method && len(all) == 0 && c.away.promotes[of] {
		return worst(len(s.Params), len(s.Results))
	}
	for _, d := range all {
		operands := operandNames(d)
		t := *s
		t.Params, t.Where, t.Theirs, t.Results = slices.Clone(s.Params), nil, 0, slices.Clone(s.Results)
		for n := range t.Results {
			t.Results[n].Hands = nil
		}
		for n := range t.Params {
			p := &t.Params[n]
			p.Hands = nil
			switch {
			case len(operands) == len(t.Params) && d.Body != nil && !inBody(d.Body, operands[n]) && !p.Frees:
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
		for _, f := range fieldsOf(list) {
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

func fieldsOf(list *ast.FieldList) []*ast.Field {
	if list == nil {
		return nil
	}
	return list.List
}

// inBody reports whether a body names something.
func inBody(body *ast.BlockStmt, name string) bool {
	for id := range idents(body) {
		if id.Name == name {
			return true
		}
	}
	return false
}

// elsewhere returns what other builds say of a type, or of something else of another package.
func (c *checker) elsewhere(o types.Object) Away {
	if o.Pkg() == c.pkg && o.Parent() == c.pkg.Scope() {
		return c.away.types[o.Name()]
	} else if o.Pkg() == nil || o.Pkg() == c.pkg || c.in.Away == nil {
		return Away{}
	}
	return c.in.Away(o)
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
// methods in one that is not edited this is asked of methods which types of the package promote, and of
// fields whose type is written: what types of others have is taken to be there what it is here.
func (c *checker) otherwise(fn *ssa.Function, edited bool) (may bool) {
	if fn.Syntax() == nil {
		return false
	}
	nothing := map[ast.Node]bool{} // constants that say nothing, whatever they are
	ast.Inspect(fn.Syntax(), func(n ast.Node) bool {
		may = may || !nothing[n] && c.another(n, edited, nothing)
		return !may && !nothing[n]
	})
	return may
}

// another reports whether something may be another thing in other builds, and notes what need not be asked.
func (c *checker) another(n ast.Node, edited bool, nothing map[ast.Node]bool) bool {
	switch n := n.(type) {
	case *ast.IfStmt: // both ways are followed
		c.constant(n.Cond, nothing)
	case *ast.CallExpr: // callees know nothing of a number or a text, but may free where a flag is set
		for _, a := range n.Args {
			v := c.info.Types[a].Value
			nothing[a] = v != nil && v.Kind() != constant.Bool && c.info.Types[n.Fun].IsValue()
		}
	case *ast.RangeStmt:
		return c.elements(n.X)
	case *ast.IndexExpr:
		return c.elements(n.X)
	case *ast.UnaryExpr:
		return n.Op == token.ARROW && c.elements(n.X)
	case *ast.Ident:
		return c.varies(c.info.Uses[n])
	case *ast.SelectorExpr:
		s := c.info.Selections[n]
		return s != nil && c.selects(s, edited)
	}
	return false
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

// varies reports whether a name may be another thing in other builds: what the language declares, what is
// made of a constant, or a type that is none there. What functions do summaries say.
func (c *checker) varies(o types.Object) bool {
	if fn, ok := o.(*types.Func); ok {
		o = fn.Origin()
	}
	switch {
	case o == nil:
		return false
	case o.Parent() == types.Universe:
		return c.away.named[o.Name()]
	case o.Pkg() != c.pkg:
		return c.elsewhere(o).Varies
	case c.varying()[o]:
		return true
	}
	switch o := o.(type) {
	case *types.Func:
		return c.unlike(localName(o))
	case *types.TypeName:
		return o.Parent() == c.pkg.Scope() && c.away.named[o.Name()] && !c.away.types[o.Name()].Declared
	case *types.Var:
		return o.Parent() == c.pkg.Scope() && c.unlike(o.Name())
	}
	return false
}

// unlike reports whether those files write another type for a name, or other results, than this build does.
func (c *checker) unlike(name string) bool {
	there := c.away.written[name]
	if there == nil {
		return false
	}
	if c.away.here == nil {
		c.away.here = elsewhereOf(c.trees()).written
	}
	return slices.ContainsFunc(there, func(t string) bool { return t == "" || !slices.Contains(c.away.here[name], t) })
}

// elements reports whether what a value is made of may be something else in other builds.
func (c *checker) elements(x ast.Expr) bool {
	t := c.info.TypeOf(x)
	return t != nil && slices.ContainsFunc(namesOf(t), func(n *types.TypeName) bool {
		return n.Pkg() == c.pkg && c.unlike(n.Name())
	})
}

// varying returns the constants of the package that may be others, with those that their groups declare, and
// what is declared with such a one, as an array of that length.
func (c *checker) varying() map[types.Object]bool {
	if c.away.varying != nil {
		return c.away.varying
	}
	c.away.varying = map[types.Object]bool{}
	for more := true; more; {
		more = false
		for _, f := range c.trees() {
			for _, n := range heads(f) {
				more = c.spread(n) || more
			}
		}
	}
	return c.away.varying
}

// heads lists what a file declares: groups of constants, types and variables, and functions without bodies.
func heads(f *ast.File) (list []ast.Node) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			list = append(list, &ast.FuncDecl{Recv: d.Recv, Name: d.Name, Type: d.Type})
		case *ast.GenDecl:
			if d.Tok == token.CONST {
				list = append(list, d)
				continue
			}
			for _, s := range d.Specs {
				list = append(list, s)
			}
		}
	}
	return list
}

// spread notes what is declared with a name that varies, and reports whether that is news.
func (c *checker) spread(head ast.Node) (news bool) {
	if !c.made(head) {
		return false
	}
	for id := range idents(head) {
		if o := c.info.Defs[id]; o != nil && !c.away.varying[o] {
			c.away.varying[o], news = true, true
		}
	}
	return news
}

// made reports whether something is declared with a name that varies, or in a group with a constant
// that those files declare. But for groups, and lengths of arrays, a constant is just a value.
func (c *checker) made(head ast.Node) bool {
	_, group := head.(*ast.GenDecl)
	for n := range ast.Preorder(head) {
		switch n := n.(type) {
		case *ast.ArrayType:
			for id := range idents(n.Len) {
				if c.spreads(c.info.Uses[id]) {
					return true
				}
			}
		case *ast.Ident:
			use := c.info.Uses[n]
			_, isConst := use.(*types.Const)
			if (group || !isConst) && c.spreads(use) || group && c.away.named[n.Name] {
				return true
			}
		}
	}
	return false
}

// spreads reports whether what is declared with o may be another thing in other builds.
func (c *checker) spreads(o types.Object) bool {
	return c.away.varying[o] || o != nil && c.elsewhere(o).Varies
}

// idents returns the identifiers in a node, which may be nil.
func idents(n ast.Node) iter.Seq[*ast.Ident] {
	return func(yield func(*ast.Ident) bool) {
		if n == nil {
			return
		}
		for n := range ast.Preorder(n) {
			if id, ok := n.(*ast.Ident); ok && !yield(id) {
				return
			}
		}
	}
}

func (c *checker) selects(s *types.Selection, edited bool) bool {
	t, path := s.Recv(), s.Index()
	for k, n := range path {
		last := k == len(path)-1
		for _, of := range namesOf(t) {
			a := c.elsewhere(of)
			field := last && s.Kind() == types.FieldVal
			switch {
			case edited:
			case of.Pkg() != c.pkg:
				continue
			case field && c.unlike(of.Name()+"."+s.Obj().Name()):
				return true
			case field:
				continue
			}
			own := last && !field && !of.IsAlias() // what it does there a summary says
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
