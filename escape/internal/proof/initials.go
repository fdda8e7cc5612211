package proof

// The order in which variables of the package are initialized. It goes by names: these also stand in bodies
// that are not looked into, and in files of other builds. A variable without a value is there from the start.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// initials is what the order goes by.
type initials struct {
	funcs map[string][]*ast.FuncDecl // methods among them
	vars  map[string]bool            // that are given a value
	calls bool                       // a function is named where a variable is initialized
}

func initialsOf(files []*ast.File) initials {
	in := initials{funcs: map[string][]*ast.FuncDecl{}, vars: map[string]bool{}}
	var values []ast.Expr
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				in.funcs[d.Name.Name] = append(in.funcs[d.Name.Name], d)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok && d.Tok == token.VAR && v.Values != nil {
						for _, id := range v.Names {
							in.vars[id.Name] = id.Name != "_"
						}
						values = append(values, v.Values...)
					}
				}
			}
		}
	}
	in.calls = slices.ContainsFunc(values, func(v ast.Expr) bool {
		return hasName(v, func(name string) bool { return in.funcs[name] != nil })
	})
	return in
}

// leadsToVariable reports whether a function with such a name, or one that it leads to, names a variable.
func (in initials) leadsToVariable(name string, seen map[string]bool) bool {
	if seen[name] {
		return false
	}
	seen[name] = true
	return slices.ContainsFunc(in.funcs[name], func(d *ast.FuncDecl) bool {
		return d.Body != nil && hasName(d.Body, func(name string) bool {
			return in.vars[name] || in.leadsToVariable(name, seen)
		})
	})
}

func hasName(n ast.Node, such func(name string) bool) bool {
	for id := range idents(n) {
		if such(id.Name) {
			return true
		}
	}
	return false
}

// reorders reports whether a mention of fn may change the order in which variables of the package are
// initialized: those that it leads to come before those that are made by who mentions it.
func (c *checker) reorders(fn *types.Func) bool {
	return fn.Pkg() == c.pkg && c.initial.calls && c.initial.leadsToVariable(fn.Name(), map[string]bool{})
}
