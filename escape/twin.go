package escape

// Functions that have another body in other builds: behind other build tags, on other
// systems, without cgo. An edit in a file that those builds have too must be right there as well.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
)

// A twin is a declaration of a function in a file that this build leaves out.
type twin struct {
	file string // its base name
	decl *ast.FuncDecl
}

// twinsOf returns the declarations of f that other builds have.
func (p *pkg) twinsOf(f *types.Func) []twin {
	if len(p.ignored) == 0 {
		return nil
	}
	if p.twins == nil {
		p.twins = map[string][]twin{}
		for _, name := range p.ignored {
			if filepath.Ext(name) == ".go" {
				p.readTwins(name)
			}
		}
	}
	recv := ""
	if r := f.Signature().Recv(); r != nil {
		t := types.Unalias(r.Type())
		if ptr, ok := t.(*types.Pointer); ok {
			t = types.Unalias(ptr.Elem())
		}
		if n, ok := t.(*types.Named); ok {
			recv = n.Obj().Name()
		}
	}
	return p.twins[recv+"."+f.Name()]
}

// readTwins notes what a file declares that this build leaves out. A file that cannot be
// read or parsed is part of no build.
func (p *pkg) readTwins(name string) {
	text, err := p.read(name)
	if err != nil {
		return
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil || f.Name.Name != p.types.Name() {
		return
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			key := receiverName(d) + "." + d.Name.Name
			p.twins[key] = append(p.twins[key], twin{filepath.Base(name), d})
		}
	}
}

// receiverName returns the name of the type whose method d is; "" for a function.
func receiverName(d *ast.FuncDecl) string {
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

// inEveryBuild returns what a call of f does whichever build it is compiled in, where s is what
// its body does in this one. An operand that another body mentions may go anywhere there,
// unless it is freed here, so that nobody frees it again; a result may be anybody's, unless
// the other body makes it where it returns it.
func (p *pkg) inEveryBuild(f *types.Func, s *Summary) *Summary {
	twins := p.twinsOf(f)
	if len(twins) == 0 {
		return s
	}
	c := *s
	c.Args, c.Res, c.Puts = slices.Clone(s.Args), slices.Clone(s.Res), nil
	c.NoReturn, c.Disarms = false, false
	for _, t := range twins {
		for i := range c.Args {
			a := &c.Args[i]
			a.Calls = CallsAnyhow
			if !t.mentions(i, &c) {
				continue
			}
			a.Repeatable, a.NilOK, a.Looks, a.Insists = false, false, false, true
			if a.Freed.K != Always {
				*a = ArgEffect{Escapes: When{K: Always}, Writes: true,
					Via: fmt.Sprintf("%s, which has another body in other builds, in %s", p.funcName(f), t.file)}
			}
		}
		for i := range c.Res {
			r := &c.Res[i]
			if r.MayNil = r.Owned; r.Owned && !t.makes(i, len(c.Res)) {
				*r = ResEffect{Views: r.Views, Is: r.Is, Of: r.Of}
			}
		}
	}
	return &c
}

// mentions reports whether the body may do something with operand i of s.
func (t twin) mentions(i int, s *Summary) bool {
	var names []*ast.Ident
	if s.Recv {
		if t.decl.Recv == nil || len(t.decl.Recv.List) != 1 {
			return true
		}
		if n := t.decl.Recv.List[0].Names; len(n) == 1 {
			names = append(names, n[0])
		} else {
			names = append(names, ast.NewIdent("_"))
		}
	}
	for _, f := range t.decl.Type.Params.List {
		names = append(names, f.Names...)
		if len(f.Names) == 0 {
			names = append(names, ast.NewIdent("_"))
		}
	}
	if t.decl.Body == nil || len(names) != len(s.Args) {
		return true
	}
	found := false
	ast.Inspect(t.decl.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == names[i].Name && id.Name != "_"
		return !found
	})
	return found
}

// makes reports whether each return of the body gives nothing or something new as result i of n.
func (t twin) makes(i, n int) bool {
	if t.decl.Body == nil {
		return false
	}
	ok := true
	ast.Inspect(t.decl.Body, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			ok = ok && len(x.Results) == n && isNew(x.Results[i])
		}
		return ok
	})
	return ok
}

// isNew reports whether e, whose names are not resolved, is nil or a value made here.
func isNew(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e.Name == "nil"
	case *ast.CompositeLit:
		return len(e.Elts) == 0
	case *ast.UnaryExpr:
		lit, ok := ast.Unparen(e.X).(*ast.CompositeLit)
		return e.Op == token.AND && ok && len(lit.Elts) == 0
	}
	return false
}
