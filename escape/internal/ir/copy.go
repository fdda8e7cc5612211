package ir

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"

	"github.com/lastuse/lastuse/escape/internal/cgo"
)

// A body is what is known of one function's syntax before it is copied: a declaration,
// a literal, or the loop over a function, whose body is a function, too.
type body struct {
	outer    *body
	mentions map[*types.Var]bool              // variables of enclosing bodies among them
	assigned map[ast.Node][]*types.Var        // by statement: variables assigned somewhere in it
	seen     map[ast.Node]map[*types.Var]bool // the same
	again    []*types.Var                     // assigned elsewhere than where they are declared
	entered  map[ast.Node]bool                // statements that a goto leads to
	scope    []*types.Var                     // declared so far, in the order of the text
	visible  map[*types.Var]bool              // the same
}

// A marker makes the copy of a function.
type marker struct {
	p      *Package
	in     *Input
	info   *types.Info // of the copy
	follow map[types.Type]bool
	bodies map[ast.Node]*body // by declaration, literal or loop
	copied map[ast.Node]bool  // nodes that a literal or block lies in
	body   *body
	heads  []head
}

// follows reports whether variables of type t get marks.
func (m *marker) follows(t types.Type) bool {
	yes, ok := m.follow[t]
	if !ok && t != nil {
		yes = m.in.Follow(t)
		m.follow[t] = yes
	}
	return yes
}

// concerns reports whether anything in n has a type to follow.
func (m *marker) concerns(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && !found {
			t := m.in.Info.TypeOf(e)
			if tuple, ok := t.(*types.Tuple); ok {
				for v := range tuple.Variables() {
					found = found || m.follows(v.Type())
				}
			}
			found = found || m.follows(t)
		}
		return !found
	})
	return found
}

// variable returns the local variable to follow that id names, or nil.
func (m *marker) variable(id ast.Expr) *types.Var {
	i, ok := ast.Unparen(id).(*ast.Ident)
	if !ok || i.Name == "_" {
		return nil
	}
	v, ok := m.in.Info.ObjectOf(i).(*types.Var)
	if !ok || v.IsField() || v.Pkg() != m.in.Types || v.Parent() == v.Pkg().Scope() || !m.follows(v.Type()) {
		return nil
	}
	return v
}

// survey fills bodies and copied for a declaration.
func (m *marker) survey(d *ast.FuncDecl) {
	m.bodies, m.copied = map[ast.Node]*body{}, map[ast.Node]bool{}
	var stack []ast.Node
	var b *body
	begins := map[ast.Node]bool{d: true} // what is a function of its own in SSA
	targets := map[types.Object]bool{}
	var labels []label
	ast.Inspect(d, func(n ast.Node) bool {
		if n == nil {
			if m.bodies[stack[len(stack)-1]] != nil {
				b = b.outer
			}
			stack = stack[:len(stack)-1]
			return true
		}
		if e, ok := n.(ast.Expr); ok && m.in.Info.Types[e].Value != nil {
			return false // a constant: go/ssa does not look into it
		}
		stack = append(stack, n)
		switch n := n.(type) {
		case *ast.FuncLit:
			begins[n] = true
		case *ast.RangeStmt:
			begins[n.Body] = m.overFunction(n)
		case *ast.BranchStmt:
			if n.Tok == token.GOTO {
				targets[m.in.Info.Uses[n.Label]] = true
			}
		case *ast.LabeledStmt:
			labels = append(labels, label{n, b, slices.Clone(stack)})
		case *ast.Ident:
			if v := m.variable(n); v != nil {
				for o := b; o != nil; o = o.outer {
					o.mentions[v] = true
				}
			}
		}
		switch n.(type) {
		case *ast.BlockStmt, *ast.FuncLit:
			for i := len(stack) - 1; i >= 0 && !m.copied[stack[i]]; i-- {
				m.copied[stack[i]] = true
			}
		}
		for _, v := range m.sets(n) {
			m.assign(b, stack, v)
			if !within(v, n) && !slices.Contains(b.again, v) {
				b.again = append(b.again, v)
			}
		}
		if begins[n] {
			b = &body{outer: b, mentions: map[*types.Var]bool{}, assigned: map[ast.Node][]*types.Var{},
				seen: map[ast.Node]map[*types.Var]bool{}, visible: map[*types.Var]bool{},
				entered: map[ast.Node]bool{}}
			m.bodies[n] = b
		}
		return true
	})
	for _, l := range labels {
		if targets[m.in.Info.Defs[l.stmt.Label]] {
			s := l.stmt.Stmt
			for in, ok := s.(*ast.LabeledStmt); ok; in, ok = s.(*ast.LabeledStmt) {
				s = in.Stmt
			}
			l.body.entered[s] = true
			for _, v := range l.body.again { // what a goto brings is an assignment
				m.assign(l.body, append(l.stack, s), v)
			}
		}
	}
}

type label struct {
	stmt  *ast.LabeledStmt
	body  *body
	stack []ast.Node
}

// overFunction reports whether a loop ranges over a function.
func (m *marker) overFunction(r *ast.RangeStmt) bool {
	_, is := single(m.in.Info.TypeOf(r.X)).(*types.Signature)
	return is
}

// within reports whether v is declared in n.
func within(v *types.Var, n ast.Node) bool { return n.Pos() <= v.Pos() && v.Pos() < n.End() }

// single returns the underlying type of t or, if t is a type parameter, of its first term:
// where a loop ranges over it, all terms have the same.
func single(t types.Type) types.Type {
	u := t.Underlying()
	switch n := u.(type) {
	case *types.Union:
		return single(n.Term(0).Type())
	case *types.Interface:
		for e := range n.EmbeddedTypes() {
			if s := single(e); s != nil {
				return s
			}
		}
		return nil
	}
	return u
}

// assign adds v to what the statements of b in stack assign.
func (m *marker) assign(b *body, stack []ast.Node, v *types.Var) {
	for i := len(stack) - 1; i >= 0; i-- {
		n := stack[i]
		if _, ok := n.(ast.Stmt); ok && !b.seen[n][v] {
			if b.seen[n] == nil {
				b.seen[n] = map[*types.Var]bool{}
			}
			b.seen[n][v] = true
			b.assigned[n] = append(b.assigned[n], v)
		}
		if m.bodies[n] == b {
			return
		}
	}
}

// sets returns the variables to follow that n itself assigns.
func (m *marker) sets(n ast.Node) []*types.Var {
	var ids []ast.Expr
	switch n := n.(type) {
	case *ast.AssignStmt:
		ids = n.Lhs
	case *ast.IncDecStmt:
		ids = append(ids, n.X)
	case *ast.ValueSpec:
		for _, id := range n.Names {
			ids = append(ids, id)
		}
	case *ast.RangeStmt:
		if n.Key != nil {
			ids = append(ids, n.Key)
		}
		if n.Value != nil {
			ids = append(ids, n.Value)
		}
	}
	var out []*types.Var
	for _, id := range ids {
		if v := m.variable(id); v != nil {
			out = append(out, v)
		}
	}
	return out
}

// copy returns n, or a copy if a literal or block lies in it.
func (m *marker) copy(n ast.Node) ast.Node {
	if !m.copied[n] {
		return n
	}
	if lit, ok := n.(*ast.FuncLit); ok {
		return m.literal(lit)
	}
	if c, ok := n.(*ast.CallExpr); ok {
		if call, args := cgo.Plain(m.in.Info, c); call != nil {
			return m.plain(call, args)
		}
	}
	if s, ok := n.(ast.Stmt); ok && compound(s) {
		return m.stmt(s)
	}
	return m.shallow(n, m.copy)
}

// plain returns the copy of a call of C as it stands in the text.
func (m *marker) plain(call *ast.CallExpr, args []cgo.Arg) ast.Expr {
	c := &ast.CallExpr{Fun: call.Fun, Lparen: call.Lparen, Rparen: call.Rparen}
	for _, a := range args {
		x := m.copy(a.Expr).(ast.Expr)
		if a.As != nil {
			as := &ast.CallExpr{Fun: a.As.Fun, Lparen: a.As.Lparen, Args: []ast.Expr{x}, Rparen: a.As.Rparen}
			m.enter(a.As, as)
			x = as
		}
		c.Args = append(c.Args, x)
	}
	m.enter(call, c)
	return c
}

// shallow returns a copy of n that has child(c) for each child c that is copied.
func (m *marker) shallow(n ast.Node, child func(ast.Node) ast.Node) ast.Node {
	ptr := reflect.New(reflect.TypeOf(n).Elem())
	ptr.Elem().Set(reflect.ValueOf(n).Elem())
	replace := func(f reflect.Value) {
		if c, ok := f.Interface().(ast.Node); ok && m.copied[c] {
			f.Set(reflect.ValueOf(child(c)))
		}
	}
	for i := range ptr.Elem().NumField() {
		switch f := ptr.Elem().Field(i); f.Kind() {
		case reflect.Interface, reflect.Pointer:
			replace(f)
		case reflect.Slice:
			s := reflect.MakeSlice(f.Type(), f.Len(), f.Len())
			reflect.Copy(s, f)
			for k := range s.Len() {
				replace(s.Index(k))
			}
			if !f.IsNil() {
				f.Set(s)
			}
		}
	}
	c := ptr.Interface().(ast.Node)
	m.enter(n, c)
	return c
}

// enter gives the copy c of n the entries of n.
func (m *marker) enter(n, c ast.Node) {
	m.p.pass[c] = n
	if e, ok := n.(ast.Expr); ok {
		if tv, ok := m.info.Types[e]; ok {
			m.info.Types[c.(ast.Expr)] = tv
		}
	}
	if s, ok := n.(*ast.SelectorExpr); ok && m.info.Selections[s] != nil {
		m.info.Selections[c.(*ast.SelectorExpr)] = m.info.Selections[s]
	}
	if o := m.info.Implicits[n]; o != nil {
		m.info.Implicits[c] = o
	}
}
