package proof

// What is compiled with an edit in other builds: files for other systems and tags, and tests. They are not
// type-checked, but known by name. What they have instead of a function of this build may do anything to the
// operands that it names. A type of which they declare a method that others call, or which they declare
// themselves, may be asked for anything.

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// An elsewhere is what those files declare, by name.
type elsewhere struct {
	funcs   map[string][]*ast.FuncDecl // as nameOf has it
	methods map[string]bool
	asked   map[string]bool // types
}

func elsewhereOf(files []*ast.File) elsewhere {
	w := elsewhere{map[string][]*ast.FuncDecl{}, map[string]bool{}, map[string]bool{}}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := nameOf(d)
				w.funcs[name] = append(w.funcs[name], d)
				of, method, _ := strings.Cut(name, ".")
				w.methods[method] = true
				if slices.Contains(asked, method) {
					w.asked[of] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if t, ok := s.(*ast.TypeSpec); ok {
						w.asked[t.Name.Name] = true
					}
				}
			}
		}
	}
	return w
}

// AskedElsewhere returns the types of a package of which values may be asked for more than is seen, as those
// files have it: who imports the package cannot know.
func AskedElsewhere(pkg *types.Package, left []*ast.File) (out []*types.TypeName) {
	w := elsewhereOf(left)
	for _, name := range pkg.Scope().Names() {
		if t, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok && w.asked[name] {
			out = append(out, t)
		}
	}
	return out
}

// everywhere returns what a function of the package does, whichever build it is in, where s is what it does
// in this one. What frees an operand here may do more there.
func (c *checker) everywhere(fn *types.Func, s *Summary) *Summary {
	for _, d := range c.away.funcs[localName(fn)] {
		names := operandNames(d)
		t := *s
		t.Params, t.Where, t.Theirs = slices.Clone(s.Params), nil, 0
		for n := range t.Params {
			p := &t.Params[n]
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

// askedElsewhere reports whether a type is one of AskedElsewhere, of this package or of another.
func (c *checker) askedElsewhere(t *types.TypeName) bool {
	if t.Pkg() == c.pkg {
		return c.away.asked[t.Name()]
	}
	return c.in.Asked != nil && c.in.Asked(t)
}
