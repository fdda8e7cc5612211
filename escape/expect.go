package escape

// What a test expects to fail makes nothing: a call whose error the test asks
// for, and code that it expects to panic.

import (
	"go/ast"
	"go/types"
	"strings"
)

// expected returns why the site of o makes nothing in a test that passes, "" if
// it is an ordinary site.
func (w *flow) expected(o *object) string {
	if !strings.HasSuffix(w.p.fset.Position(o.def.pos).Filename, "_test.go") {
		return ""
	}
	if o.errRes != nil {
		for _, u := range o.errRes.users {
			for u.op == opCopy && len(u.users) > 0 {
				u = u.users[0]
			}
			if u.op == opCall && asserts(u.fn, "Error", "EqualError") {
				return "the test expects the call to fail: " + u.call.name
			}
		}
	}
	if name := w.p.expectsPanic(o.def); name != "" {
		return "the test expects a panic: " + name
	}
	return ""
}

// asserts reports whether f is one of testify's assertions whose names begin
// with one of the prefixes.
func asserts(f *types.Func, prefixes ...string) bool {
	if f == nil || f.Pkg() == nil {
		return false
	}
	switch f.Pkg().Path() {
	case "github.com/stretchr/testify/assert", "github.com/stretchr/testify/require", "github.com/stretchr/testify/suite":
	default:
		return false
	}
	for _, p := range prefixes {
		if strings.HasPrefix(f.Name(), p) {
			return true
		}
	}
	return false
}

// expectsPanic returns the assertion that is given the literal in which v
// stands, if it expects a panic.
func (p *pkg) expectsPanic(v *value) string {
	file := p.file(v.pos)
	if file == nil {
		return ""
	}
	in := p.panics[file]
	if in == nil {
		in = p.panickingIn(file)
		p.panics[file] = in
	}
	for l := p.vars().Around(v.pos, v.pos); l != nil; l = l.Up {
		if by := in[l.Node]; by != "" {
			return by
		}
	}
	return ""
}

// panickingIn returns the literals of a file that are given to assertions which expect a panic, and
// those assertions.
func (p *pkg) panickingIn(file *ast.File) map[*ast.FuncLit]string {
	out := map[*ast.FuncLit]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		f := p.funcOf(call.Fun)
		if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && f == nil && p.info.Selections[sel] != nil {
			f, _ = p.info.Selections[sel].Obj().(*types.Func)
		}
		if asserts(f, "Panics") {
			for _, a := range call.Args {
				if lit, ok := ast.Unparen(a).(*ast.FuncLit); ok {
					out[lit] = p.funcName(f)
				}
			}
		}
		return true
	})
	return out
}
