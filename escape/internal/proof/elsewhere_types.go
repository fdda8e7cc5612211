package proof

// What a type of this build is in other builds, where these declare one by its name: what a value of it has,
// and what a constant says of it, may be something else.

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// parts reports whether what a value is made of may be something else in other builds.
func (c *checker) parts(x ast.Expr) bool {
	v := c.info.Types[x]
	return v.IsValue() && c.anew(v.Type)
}

// anew reports whether other builds declare another type by a name that t has, or what it points to.
func (c *checker) anew(t types.Type) bool {
	return slices.ContainsFunc(namesOf(t), c.isAnew)
}

func (c *checker) isAnew(n *types.TypeName) bool {
	if n.Pkg() != c.pkg && n.Pkg() != nil {
		return c.elsewhere(n).Declared || ofMachine(n)
	}
	return c.unlike(n.Name())
}

// resized reports whether a type may have another size in other builds, by its name or by what is in it.
func (c *checker) resized(t types.Type) bool {
	var n *types.TypeName
	switch u := t.(type) {
	case *types.Alias:
		n, t = u.Obj(), u.Rhs()
	case *types.Named:
		n, t = u.Obj(), u.Underlying()
	case *types.Array:
		t = u.Elem()
	case *types.Struct:
		return slices.ContainsFunc(slices.Collect(u.Fields()), func(f *types.Var) bool { return c.resized(f.Type()) })
	default:
		return false
	}
	return n != nil && (c.isAnew(n) || c.elsewhere(n).Resized) || c.resized(t)
}

// inOrder reports whether a literal gives fields without their names.
func (c *checker) inOrder(x *ast.CompositeLit) bool {
	if len(x.Elts) == 0 || !isStruct(pointed(c.info.TypeOf(x))) {
		return false
	}
	_, named := x.Elts[0].(*ast.KeyValueExpr)
	return !named
}

// sized reports whether n is a constant that is computed of what is of such a type: its size, or its sign; or
// of the limit of a word.
func (c *checker) sized(n ast.Node) bool {
	computes := false
	switch x := n.(type) {
	case *ast.BinaryExpr:
		computes = c.info.Types[x].Value != nil
	case *ast.CallExpr:
		computes = c.info.Types[x].Value != nil && !c.info.Types[x.Fun].IsType()
	case *ast.UnaryExpr:
		computes = c.info.Types[x].Value != nil && x.Op == token.XOR
	}
	if !computes {
		return false
	}
	for n := range ast.Preorder(n) {
		if y, ok := n.(ast.Expr); ok && c.parts(y) {
			return true
		}
	}
	return c.limits(n)
}

// renamed reports whether n is another name for a type, and other builds declare it, too.
func (c *checker) renamed(n *types.TypeName) bool { return n.IsAlias() && c.elsewhere(n).Declared }

// selects reports whether a field or a method may be another one in other builds.
func (c *checker) selects(s *types.Selection, edited bool) bool {
	t, path := s.Recv(), s.Index()
	for k, n := range path {
		last := k == len(path)-1
		for _, of := range namesOf(t) {
			a := c.elsewhere(of)
			field := last && s.Kind() == types.FieldVal
			switch {
			case edited:
			case field && (c.unlike(of.Name()+"."+s.Obj().Name()) || c.elsewhere(s.Obj()).Varies):
				return true
			case field, of.Pkg() != c.pkg && mute(s):
				continue
			}
			embeds := !last && a.Declared && (edited || of.Pkg() == c.pkg)
			if c.renamed(of) || embeds || field && a.Declared || !last && slices.Contains(a.Has, s.Obj().Name()) {
				return true
			} // else what a method does there a summary says
		}
		if !last {
			t = pointed(t).Underlying().(*types.Struct).Field(n).Type()
		}
	}
	return false
}

// mute reports whether a method gets nothing, and gives nothing, as that of a lock.
func mute(s *types.Selection) bool {
	sig, ok := s.Type().(*types.Signature)
	return ok && sig.Params().Len()+sig.Results().Len() == 0 && flat(pointed(s.Recv()))
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
