package plan

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/lastuse/lastuse/escape/internal/calls"
	"github.com/lastuse/lastuse/escape/internal/effect"
)

// owners returns whether values of a type of the package may own, or slices and maps of these, as far as its
// methods show: one takes one from a number, atomically, and so counts who has the value; or one takes
// nothing, and the type has parts that own, or leads to such a type. Whether that frees them is found when
// functions are looked at; which variables there are to follow must be known before. An interface may
// own if a type does that implements it ([promises]).
func owners(in *Input, frees *effect.Frees, promises []*promise) func(types.Type) bool {
	may := map[*types.TypeName]bool{}
	methods := map[*types.TypeName]bool{}
	for _, file := range in.Files {
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Body == nil {
				continue
			}
			m, ok := in.Info.Defs[fn.Name].(*types.Func)
			if !ok {
				continue
			}
			if name := nameOf(m.Signature().Recv().Type()); name != nil {
				may[name] = may[name] || takesOne(in, fn.Body)
				methods[name] = methods[name] || m.Signature().Params().Len() == 0
			}
		}
	}
	owns := func(t types.Type) bool { return may[nameOf(t)] || may[nameOf(elemOf(t))] }
	for again := true; again; {
		again = false
		for name, is := range methods {
			if is && !may[name] && (frees.Divisible(name.Type()) || effect.Leads(name.Type(), owns)) {
				may[name], again = true, true
			}
		}
		for _, p := range promises {
			if !may[p.of] && slices.ContainsFunc(p.by, func(o calls.Offer) bool { return may[o.Of] }) {
				may[p.of], again = true, true
			}
		}
	}
	return owns
}

// nameOf returns the name of what a type is, or points to; nil if it has none.
func nameOf(t types.Type) *types.TypeName {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj()
	}
	return nil
}

// elemOf returns the type of the elements of a slice or a map; of others it returns t.
func elemOf(t types.Type) types.Type {
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return u.Elem()
	case *types.Map:
		return u.Elem()
	}
	return t
}

// takesOne reports whether one is taken from a number atomically.
func takesOne(in *Input, body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok || len(c.Args) == 0 {
			return !found
		}
		fn, ok := typeutil.Callee(in.Info, c).(*types.Func)
		if ok && fn.Pkg() != nil && fn.Pkg().Path() == "sync/atomic" && strings.HasPrefix(fn.Name(), "Add") {
			v := in.Info.Types[c.Args[len(c.Args)-1]].Value
			found = found || v != nil && v.ExactString() == "-1"
		}
		return !found
	})
	return found
}
