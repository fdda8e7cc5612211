package proof

// Calls behind which nothing runs. They are taken for panics: they may run what is deferred.

import (
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
	switch m := call.Call.Method; m.FullName() {
	case "(testing.TB).Fatal", "(testing.TB).Fatalf", "(testing.TB).FailNow",
		"(testing.TB).Skip", "(testing.TB).Skipf", "(testing.TB).SkipNow":
		return !c.mocked(m)
	}
	return false
}

// mocked reports whether the package, or one that it imports, has a type with a method m of testing.TB of its
// own.
func (c *checker) mocked(m *types.Func) bool {
	mock, ok := c.mocks[m.Name()]
	if ok {
		return mock
	}
	for _, p := range append([]*types.Package{c.pkg}, c.pkg.Imports()...) {
		for _, name := range p.Scope().Names() {
			t, ok := p.Scope().Lookup(name).(*types.TypeName)
			if !ok || p != c.pkg && !t.Exported() {
				continue
			}
			of := func(name string) types.Object {
				o, _, _ := types.LookupFieldOrMethod(types.NewPointer(t.Type()), false, m.Pkg(), name)
				return o
			}
			fn, ok := of(m.Name()).(*types.Func)
			mock = mock || ok && fn.Pkg() != m.Pkg() && of("private") != nil
		}
	}
	c.mocks[m.Name()] = mock
	return mock
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
