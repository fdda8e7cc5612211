package proof

// Names that mean something else in other builds: a field or a method of a type that their files declare, or
// one that embedded fields lead to, where they declare such a method before, a variable or a function of
// which they write another type, a constant that they declare, or that is made of one, and what the language
// declares, too. On another machine it is what the system gives, or the size of a word. What is made of a
// type: elsewhere_types.go.

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"
)

// platform has the constants and types of the standard library that are others on another machine, by
// package; where it names none it is all of them.
var platform = map[string][]string{
	"math":          {"MaxInt", "MinInt", "MaxUint"},
	"math/bits":     {"UintSize"},
	"os":            nil,
	"path/filepath": nil,
	"runtime":       nil,
	"strconv":       {"IntSize"},
	"syscall":       nil,
	"testing":       {"B", "F", "T"},
}

// otherwise reports whether a name in a function may mean something else in other builds. Of one that is not
// edited this is asked of fields of which another type is written, and of methods that types promote, of
// other packages if these declare one of that name.
func (c *checker) otherwise(fn *ssa.Function, edited bool) (may bool) {
	if fn.Syntax() == nil {
		return false
	}
	nothing := map[ast.Node]bool{} // constants that say nothing, whatever they are
	ast.Inspect(fn.Syntax(), func(n ast.Node) bool {
		may = may || !nothing[n] && c.another(n, edited, nothing)
		return !may && !nothing[n]
	})
	return may
}

// another reports whether something may be another thing in other builds, and notes what need not be asked.
func (c *checker) another(n ast.Node, edited bool, nothing map[ast.Node]bool) bool {
	if e, ok := n.(ast.Expr); ok && c.limit(e) {
		nothing[n] = true
		return false
	}
	if c.sized(n) {
		return true
	}
	switch n := n.(type) {
	case *ast.IfStmt: // both ways are followed
		c.constant(n.Cond, nothing)
	case *ast.SwitchStmt: // so are all ways
		if n.Tag != nil {
			c.constant(n.Tag, nothing)
			break
		}
		for _, s := range n.Body.List {
			for _, x := range s.(*ast.CaseClause).List {
				c.constant(x, nothing)
			}
		}
	case *ast.CallExpr: // callees know nothing of a number or a text, but may free where a flag is set
		for _, a := range n.Args {
			v := c.info.Types[a].Value
			nothing[a] = nothing[a] || v != nil && v.Kind() != constant.Bool && c.info.Types[n.Fun].IsValue()
		}
		return c.machine(n) || c.parts(n.Fun)
	case *ast.BinaryExpr: // sizes of memory: no product is looked into, but where the size is all of it
		if n.Op == token.MUL && c.info.Types[n].Value == nil {
			for _, x := range []ast.Expr{n.X, n.Y} {
				nothing[c.converted(x)] = c.machine(c.converted(x))
			}
		}
	case *ast.RangeStmt:
		return c.parts(n.X)
	case *ast.IndexExpr:
		return c.parts(n.X)
	case *ast.SliceExpr:
		return c.parts(n.X)
	case *ast.StarExpr:
		return c.parts(n.X)
	case *ast.UnaryExpr:
		return n.Op == token.ARROW && c.parts(n.X) || c.machine(n)
	case *ast.CompositeLit:
		return c.inOrder(n) && c.parts(n)
	case *ast.GenDecl: // what is made of its names is not seen
		return n.Tok == token.CONST && c.limits(n)
	case *ast.Ident:
		return c.varies(c.info.Uses[n])
	case *ast.SelectorExpr:
		s := c.info.Selections[n]
		return s != nil && c.selects(s, edited)
	}
	return false
}

// constant notes parts of a condition that are constants.
func (c *checker) constant(cond ast.Expr, out map[ast.Node]bool) {
	out[cond] = c.info.Types[cond].Value != nil
	switch x := cond.(type) {
	case *ast.ParenExpr:
		c.constant(x.X, out)
	case *ast.UnaryExpr:
		c.constant(x.X, out)
	case *ast.BinaryExpr:
		if x.Op == token.LAND || x.Op == token.LOR {
			c.constant(x.X, out)
			c.constant(x.Y, out)
		}
	}
}

// varies reports whether a name may be another thing in other builds: what the language declares, what is
// made of a constant, or a type that is none there. What functions do summaries say.
func (c *checker) varies(o types.Object) bool {
	if fn, ok := o.(*types.Func); ok {
		o = fn.Origin()
	}
	switch {
	case o == nil:
		return false
	case o.Parent() == types.Universe:
		return c.away.named[o.Name()]
	case o.Pkg() != c.pkg:
		return c.spreads(o)
	case c.varying()[o]:
		return true
	}
	switch o := o.(type) {
	case *types.Func:
		return c.unlike(localName(o))
	case *types.TypeName:
		return o.Parent() == c.pkg.Scope() && c.away.named[o.Name()] && !c.away.types[o.Name()].Declared
	case *types.Var:
		return o.Parent() == c.pkg.Scope() && c.unlike(o.Name())
	}
	return false
}

// unlike reports whether those files write another type for a name, or other results, than this build does.
func (c *checker) unlike(name string) bool {
	there := c.away.written[name]
	if there == nil {
		return false
	}
	if c.away.here == nil {
		c.away.here = elsewhereOf(c.trees()).written
	}
	return slices.ContainsFunc(there, func(t string) bool { return t == "" || !slices.Contains(c.away.here[name], t) })
}

// varying returns the constants of the package that may be others, with those that their groups declare, and
// what is declared with such a one, as an array of that length.
func (c *checker) varying() map[types.Object]bool {
	if c.away.varying != nil {
		return c.away.varying
	}
	c.away.varying = map[types.Object]bool{}
	for more := true; more; {
		more = false
		for _, f := range c.trees() {
			for _, n := range heads(f) {
				more = c.spread(n) || more
			}
		}
	}
	return c.away.varying
}

// heads lists what a file declares: groups of constants, types and variables, and functions without bodies.
func heads(f *ast.File) (list []ast.Node) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			list = append(list, &ast.FuncDecl{Recv: d.Recv, Name: d.Name, Type: d.Type})
		case *ast.GenDecl:
			if d.Tok == token.CONST {
				list = append(list, d)
				continue
			}
			for _, s := range d.Specs {
				list = append(list, s)
			}
		}
	}
	return list
}

// spread notes what is declared with a name that varies, and reports whether that is news.
func (c *checker) spread(head ast.Node) (news bool) {
	if !c.made(head) {
		return false
	}
	for id := range idents(head) {
		if o := c.info.Defs[id]; o != nil && !c.away.varying[o] {
			c.away.varying[o], news = true, true
		}
	}
	return news
}

// made reports whether something is declared with a name that varies, or in a group with a constant
// that those files declare. But for groups, and lengths of arrays, a constant is just a value. How long an
// array in a field _ is on another machine does not matter: nobody reads it.
func (c *checker) made(head ast.Node) bool {
	_, group := head.(*ast.GenDecl)
	var fill *ast.ArrayType
	for n := range ast.Preorder(head) {
		switch n := n.(type) {
		case *ast.Field:
			if a, ok := n.Type.(*ast.ArrayType); ok && len(n.Names) == 1 && n.Names[0].Name == "_" {
				fill = a
			}
		case *ast.TypeSpec: // with fields that it has of another type, or a size
			if !n.Assign.IsValid() && c.anew(c.info.TypeOf(n.Type)) {
				return true
			}
		case *ast.ArrayType:
			a := n
			for n := range nodes(n.Len) {
				id, _ := n.(*ast.Ident)
				if a != fill && c.machine(n) || c.sized(n) || id != nil && c.spreads(c.info.Uses[id]) {
					return true
				}
			}
		case *ast.Ident:
			use := c.info.Uses[n]
			_, isConst := use.(*types.Const)
			if (group || !isConst) && c.spreads(use) || group && c.away.named[n.Name] {
				return true
			}
		default:
			if group && (c.machine(n) || c.sized(n)) {
				return true
			}
		}
	}
	return false
}

// spreads reports whether what is declared with o may be another thing in other builds.
func (c *checker) spreads(o types.Object) bool {
	if o == nil || o.Pkg() == nil || o.Pkg() == c.pkg {
		return c.away.varying[o]
	}
	_, isConst := o.(*types.Const)
	return isConst && ofMachine(o) || c.elsewhere(o).Varies
}

// ofMachine reports whether a constant or a type of another package is on the list.
func ofMachine(o types.Object) bool {
	names, some := platform[o.Pkg().Path()]
	return some && (names == nil || slices.Contains(names, o.Name()))
}

// converted returns what is converted in an expression.
func (c *checker) converted(x ast.Expr) ast.Expr {
	x = ast.Unparen(x)
	if call, ok := x.(*ast.CallExpr); ok && c.info.Types[call.Fun].IsType() {
		return c.converted(call.Args[0])
	}
	return x
}

// machine reports whether a number is computed that is another one on another machine: of all bits of a word,
// or the size of something that has words.
func (c *checker) machine(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.UnaryExpr:
		t, ok := c.info.TypeOf(n).Underlying().(*types.Basic)
		word := ok && (t.Kind() == types.Uint || t.Kind() == types.Uintptr)
		return word && n.Op == token.XOR && c.info.Types[n].Value != nil
	case *ast.CallExpr:
		b, ok := typeutil.Callee(c.info, n).(*types.Builtin)
		if !ok || b.Pkg() != types.Unsafe || c.info.Types[n].Value == nil {
			return false
		}
		t := c.info.TypeOf(n.Args[0])
		return b.Name() != "Sizeof" || wide.Sizeof(t) != narrow.Sizeof(t) || c.resized(t)
	}
	return false
}

// Machines whose words have eight bytes, and four.
var wide, narrow = types.SizesFor("gc", "amd64"), types.SizesFor("gc", "386")

// limits reports whether there is a limit in n.
func (c *checker) limits(n ast.Node) bool {
	for n := range ast.Preorder(n) {
		if x, ok := n.(ast.Expr); ok && c.limit(x) {
			return true
		}
	}
	return false
}

// limit reports whether an expression is the greatest or the least int or uint: where it is another number,
// that is no index, and the limit still.
func (c *checker) limit(x ast.Expr) bool {
	name := x
	if u, ok := x.(*ast.UnaryExpr); ok && u.Op == token.SUB {
		name = u.X
	}
	s, ok := name.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	k, ok := c.info.Uses[s.Sel].(*types.Const)
	if !ok || k.Pkg().Path() != "math" {
		return false
	}
	v := c.info.Types[x]
	t, _ := v.Type.(*types.Basic)
	return v.Value != nil && t != nil && (t.Kind() == types.Int || t.Kind() == types.Uint)
}
