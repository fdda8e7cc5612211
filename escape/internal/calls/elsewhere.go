package calls

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/lastuse/lastuse/escape/internal/effect"
)

// Elsewhere is what the source of a package says that is not looked at with it: files that
// this build leaves out, tests, and directives that hand a function to others. Nothing
// there is type-checked: it is known by name. The zero Elsewhere is of a package that has no
// such source.
//
// An edit stands in a file, which may be part of builds that are not seen. What those have
// in place of a function is declared under its name, and calls of the function do what any
// of its bodies may do: an operand that another body mentions may go anywhere, unless it
// is freed here always, so that nobody frees it again; a result, or a part of it, is owned only
// if the other body returns nil instead.
type Elsewhere struct {
	names   map[string]bool
	unkeyed bool
	twins   map[string][]twin // by receiver's type and name
}

// A File is one of the package that is not looked at with it.
type File struct {
	Name string
	Tree *ast.File // not type-checked
	Test bool      // this build leaves it out for no other reason
}

// A twin is a declaration of a function in a file that this build leaves out.
type twin struct {
	*ast.FuncDecl
	file string
}

// Built reads the directives of a file of this build.
func (e *Elsewhere) Built(f *ast.File) {
	for _, g := range f.Comments {
		for _, c := range g.List {
			for _, d := range []string{"//go:linkname ", "//export "} {
				if rest, ok := strings.CutPrefix(c.Text, d); ok && len(strings.Fields(rest)) > 0 {
					e.say(strings.Fields(rest)[0])
				}
			}
		}
	}
}

func (e *Elsewhere) say(name string) {
	if e.names == nil {
		e.names = map[string]bool{}
	}
	e.names[name] = true
}

// Left reads a file that is not looked at: one that this build leaves out, or a test.
func (e *Elsewhere) Left(f File) {
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			e.say(n.Name)
		case *ast.CompositeLit:
			if _, keyed := first(n.Elts).(*ast.KeyValueExpr); len(n.Elts) > 0 && !keyed {
				switch n.Type.(type) {
				case nil, *ast.Ident, *ast.IndexExpr, *ast.IndexListExpr, *ast.StructType:
					e.unkeyed = true
				}
			}
		}
		return true
	})
	if e.twins == nil {
		e.twins = map[string][]twin{}
	}
	for _, d := range f.Tree.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && !f.Test {
			key := receiver(d) + "." + d.Name.Name
			e.twins[key] = append(e.twins[key], twin{d, f.Name})
		}
	}
}

func first(list []ast.Expr) ast.Expr {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// Says reports whether a name occurs there.
func (e *Elsewhere) Says(name string) bool { return e.names[name] }

// Unkeyed reports whether a struct is filled there without naming its fields.
func (e *Elsewhere) Unkeyed() bool { return e.unkeyed }

// bodies lists the declarations of a function that other builds have.
func (e *Elsewhere) bodies(fn *types.Func) []twin {
	recv := ""
	if r := fn.Signature().Recv(); r != nil {
		t := types.Unalias(r.Type())
		if p, ok := t.(*types.Pointer); ok {
			t = types.Unalias(p.Elem())
		}
		if n, ok := t.(*types.Named); ok {
			recv = n.Obj().Name()
		}
	}
	return e.twins[recv+"."+fn.Name()]
}

// receiver returns the name of the type whose method d is; "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	for t := d.Recv.List[0].Type; ; {
		switch x := t.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		default:
			return ""
		}
	}
}

// every returns what a call of fn does whichever build it is compiled in, where s is what its
// body does in this one.
func (e *Elsewhere) every(fn *types.Func, s *effect.Summary) *effect.Summary {
	twins := e.bodies(fn)
	if len(twins) == 0 || s.Unknown {
		return s
	}
	c := *s
	c.Params, c.Results = slices.Clone(s.Params), slices.Clone(s.Results)
	for _, d := range twins {
		names := operandNames(d)
		for i := range c.Params {
			p := &c.Params[i]
			p.Waits = nil
			switch {
			case d.Body != nil && len(names) == len(c.Params) && !mentions(d.Body, names[i]):
				p.Calls, p.Hands = min(p.Calls, effect.InTurn), effect.Hands{}
			case p.Freed.Cond == effect.Always:
				p.Repeatable, p.Parts = false, nil
			default:
				*p = effect.Param{Escapes: effect.When{Cond: effect.Always}}
			}
		}
		for i := range c.Results {
			r := &c.Results[i]
			if returnsNil(d, i, len(c.Results)) {
				r.Nil = true
			} else {
				r.Owned, r.Nil, r.Parts = effect.When{}, false, nil
			}
			r.Must, r.Hands = false, effect.Hands{}
		}
	}
	return &c
}

// told says that a function has another body; "" if it has none.
func (e *Elsewhere) told(fn *types.Func) string {
	for _, d := range e.bodies(fn) {
		return "it has another body in other builds, in " + d.file
	}
	return ""
}

// operandNames lists the names of the operands of a function, the receiver first.
func operandNames(d twin) []string {
	var out []string
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

func mentions(body *ast.BlockStmt, name string) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name && name != "_"
		return !found
	})
	return found
}

// returnsNil reports whether each return of a body gives nil as result i of n.
func returnsNil(d twin, i, n int) bool {
	if d.Body == nil {
		return false
	}
	is := true
	ast.Inspect(d.Body, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			is = is && len(x.Results) == n && types.ExprString(x.Results[i]) == "nil"
		}
		return is
	})
	return is
}
