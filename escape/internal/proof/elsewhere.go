package proof

// What is compiled with an edit in other builds: files for other systems and tags, and tests. They are not
// type-checked, but known by name. What they have instead of a function of this build may do anything to the
// operands that it names. A type of which they declare a method that others call, or which they declare
// themselves, may be asked for anything, and have functions. What a name means there: otherwise.go.

import (
	"fmt"
	"go/ast"
	"go/types"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

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
	Resized  bool     // a type that may have another size there, as what is in it does
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
			name, _, _ := strings.Cut(types.ExprString(m.Type), "[")
			w.write(of+"."+name[strings.LastIndexAny(name, "*.")+1:], f, m.Type)
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
// All of it are objects of the package. Where the proof failed each may mean anything there, and an error
// says so.
func Elsewhere(s *Source) (out map[types.Object]Away, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("the proof of package %s failed: %v", s.Types.Path(), x)
			for _, o := range s.Info.Defs {
				if o != nil {
					out[o] = Away{Declared: true, Varies: true}
				}
			}
		}
	}()
	out = map[types.Object]Away{}
	c := s.checker()
	all := maps.Clone(c.away.methods)
	for _, o := range c.info.Defs {
		if fn, ok := o.(*types.Func); ok && fn.Signature().Recv() != nil {
			all[fn.Name()] = true
		}
	}
	for name, a := range c.away.types {
		t, ok := c.pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		if c.away.promotes[name] {
			a.Has = slices.Sorted(maps.Keys(all)) // any of these
		}
		out[t] = a
		if s, ok := t.Type().Underlying().(*types.Struct); ok {
			for f := range s.Fields() {
				if f.Pkg() == c.pkg && c.unlike(name+"."+f.Name()) { // else the type is another one's
					out[f] = Away{Varies: true}
				}
			}
		}
	}
	for _, o := range c.info.Defs {
		a := out[o]
		t, ok := o.(*types.TypeName)
		a.Varies = a.Varies || c.varies(o)
		a.Resized = ok && !a.Declared && !a.Varies && c.resized(t.Type())
		if a.Varies || a.Resized {
			out[o] = a
		}
	}
	return out, nil
}

// everywhere returns what a function of the package does, whichever build it is in, where s is what it does
// in this one. What it makes here it may have from others there, or make in part, or once for two; only if it
// returns nil there, nobody has that.
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
		t.Params, t.Where, t.Theirs = slices.Clone(s.Params), nil, 0
		t.Results = make([]Result, len(s.Results))
		for n, r := range s.Results {
			if returnsNil(d, n, len(s.Results)) {
				r.Zero, r.OK, r.Hands = true, 0, nil
				t.Results[n] = r
			}
		}
		for n := range t.Params {
			p := &t.Params[n]
			p.Hands, p.Waits = nil, nil
			if p.Frees || len(operands) != len(t.Params) || d.Body == nil || inBody(d.Body, operands[n]) {
				*p = anything
			}
		}
		s = &t
	}
	return s
}

// returnsNil reports whether each return of a function gives nil as result j of n.
func returnsNil(d *ast.FuncDecl, j, n int) bool {
	if d.Body == nil {
		return false
	}
	is := true
	ast.Inspect(d.Body, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			is = is && len(x.Results) == n && types.ExprString(x.Results[j]) == "nil"
		}
		return true
	})
	return is
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
		if c.renamed(n) || n.Pkg() == c.pkg && (a.Declared || slices.ContainsFunc(a.Has, such)) {
			return true
		}
	}
	s, _ := pointed(t).Underlying().(*types.Struct)
	return s != nil && slices.ContainsFunc(slices.Collect(s.Fields()), func(f *types.Var) bool {
		return f.Embedded() && c.declares(f.Type(), such, seen)
	})
}

// nodes returns a node, which may be nil, and all in it.
func nodes(n ast.Node) iter.Seq[ast.Node] {
	if n == nil {
		return func(func(ast.Node) bool) {}
	}
	return ast.Preorder(n)
}

// idents returns the identifiers in a node, which may be nil.
func idents(n ast.Node) iter.Seq[*ast.Ident] {
	return func(yield func(*ast.Ident) bool) {
		for n := range nodes(n) {
			if id, ok := n.(*ast.Ident); ok && !yield(id) {
				return
			}
		}
	}
}
