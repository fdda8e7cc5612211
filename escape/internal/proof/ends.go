package proof

// Calls behind which nothing runs. They are taken for panics: they may run what is deferred.

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// ending are packages of functions that may never return.
var ending = []string{"log", "os", "runtime", "testing"}

// neverReturns reports whether a function never returns.
func neverReturns(f *types.Func) bool {
	if !slices.Contains(ending, pathOf(f)) {
		return false
	}
	switch f.FullName() {
	case "os.Exit", "runtime.Goexit", "log.Fatal", "log.Fatalf", "log.Fatalln",
		"log.Panic", "log.Panicf", "log.Panicln",
		"(*log.Logger).Fatal", "(*log.Logger).Fatalf", "(*log.Logger).Fatalln",
		"(*log.Logger).Panic", "(*log.Logger).Panicf", "(*log.Logger).Panicln",
		"(*testing.common).Fatal", "(*testing.common).Fatalf", "(*testing.common).FailNow",
		"(*testing.common).Skip", "(*testing.common).Skipf", "(*testing.common).SkipNow":
		return true
	}
	return false
}

// stops reports whether i ends a test through testing.TB. Others may embed one and do otherwise: not if it is
// seen that such a type is around.
func (c *checker) stops(i ssa.Instruction) bool {
	call, ok := i.(*ssa.Call)
	if !ok || !call.Call.IsInvoke() {
		return false
	}
	switch call.Call.Method.FullName() {
	case "(testing.TB).Fatal", "(testing.TB).Fatalf", "(testing.TB).FailNow",
		"(testing.TB).Skip", "(testing.TB).Skipf", "(testing.TB).SkipNow":
		return !c.mocked()
	}
	return false
}

// mocked reports whether the package, or one that it leads to, embeds a testing.TB in something, or gives it
// another name.
func (c *checker) mocked() bool {
	if c.mocks == nil {
		imported := func(p *types.Package) []*types.Package { return p.Imports() }
		is := c.embeds
		for p := range reachable(imported, c.pkg.Imports()...) {
			is = is || p.Path() != "testing" && slices.ContainsFunc(p.Scope().Names(), func(name string) bool {
				t, ok := p.Scope().Lookup(name).(*types.TypeName)
				return ok && isTB(t.Type())
			})
		}
		c.mocks = &is
	}
	return *c.mocks
}

// isTB reports whether a type has the method that makes it a testing.TB, and that only package testing can
// declare.
func isTB(t types.Type) bool {
	ms := types.NewMethodSet(types.NewPointer(t))
	if types.IsInterface(t) {
		ms = types.NewMethodSet(t)
	}
	for m := range ms.Methods() {
		if m.Obj().Name() == "private" && pathOf(m.Obj().(*types.Func)) == "testing" {
			return true
		}
	}
	return false
}

// embedsTB reports whether a file embeds what is called TB in something, or gives it another name.
func embedsTB(f *ast.File) (found bool) {
	tb := func(e ast.Expr) {
		if s, ok := e.(*ast.SelectorExpr); ok {
			e = s.Sel
		}
		id, ok := e.(*ast.Ident)
		found = found || ok && id.Name == "TB"
	}
	ast.Inspect(f, func(n ast.Node) bool {
		var in *ast.FieldList
		switch n := n.(type) {
		case *ast.StructType:
			in = n.Fields
		case *ast.InterfaceType:
			in = n.Methods
		case *ast.TypeSpec:
			tb(n.Type)
		}
		for k := 0; in != nil && k < len(in.List); k++ {
			if len(in.List[k].Names) == 0 {
				tb(in.List[k].Type)
			}
		}
		return !found
	})
	return found
}

// cutAll takes away what nothing gets to, from all functions of the package.
func (c *checker) cutAll() {
	for _, d := range c.decls() {
		if fn := c.prog.FuncValue(d); fn != nil {
			c.cut(fn)
		}
	}
	for _, m := range c.prog.Package(c.pkg).Members {
		if fn, ok := m.(*ssa.Function); ok && fn.Object() == nil { // initializers
			c.cut(fn)
		}
	}
}

// cut takes away what follows in a block, and behind it, where a test has ended.
func (c *checker) cut(fn *ssa.Function) {
	for _, b := range fn.Blocks {
		n := slices.IndexFunc(b.Instrs, c.stops)
		if n < 0 {
			continue
		}
		for _, to := range b.Succs {
			k := slices.Index(to.Preds, b)
			to.Preds = slices.Delete(to.Preds, k, k+1)
			for _, i := range to.Instrs {
				if phi, ok := i.(*ssa.Phi); ok {
					phi.Edges = slices.Delete(phi.Edges, k, k+1)
				}
			}
		}
		b.Instrs, b.Succs = b.Instrs[:n+1], nil
	}
	for _, a := range fn.AnonFuncs {
		c.cut(a)
	}
}
