package ir

import (
	"cmp"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"
)

// decl returns the copy of a declaration.
func (m *marker) decl(d *ast.FuncDecl) *ast.FuncDecl {
	m.survey(d)
	c := *d
	m.enter(d, &c)
	c.Body = m.function(d, d.Type, d.Recv, d.Body)
	return &c
}

func (m *marker) literal(lit *ast.FuncLit) ast.Node {
	c := *lit
	m.enter(lit, &c)
	c.Body = m.function(lit, lit.Type, nil, lit.Body)
	return &c
}

// function returns the copy of a body. Its first place has marks of what it begins with:
// parameters, named results, and what it mentions of the functions around it.
func (m *marker) function(n ast.Node, t *ast.FuncType, recv *ast.FieldList, block *ast.BlockStmt,
	more ...*types.Var) *ast.BlockStmt {
	outer := m.body
	defer func() { m.body = outer }()
	m.body = m.bodies[n]
	if outer != nil {
		var caught []*types.Var
		for v := range m.body.mentions {
			if outer.visible[v] {
				caught = append(caught, v)
			}
		}
		slices.SortFunc(caught, func(a, b *types.Var) int { return cmp.Compare(a.Pos(), b.Pos()) })
		m.declare(caught...)
	}
	m.declare(more...)
	for _, l := range []*ast.FieldList{recv, t.Params, t.Results} {
		if l == nil {
			continue
		}
		for _, f := range l.List {
			for _, id := range f.Names {
				if v := m.variable(id); v != nil {
					m.declare(v)
				}
			}
		}
	}
	return m.block(block, slices.Clone(m.body.scope))
}

func (m *marker) declare(vs ...*types.Var) {
	for _, v := range vs {
		if !m.body.visible[v] {
			m.body.visible[v] = true
			m.body.scope = append(m.body.scope, v)
		}
	}
}

// leave ends the scopes of all but the first n variables.
func (m *marker) leave(n int) {
	for _, v := range m.body.scope[n:] {
		delete(m.body.visible, v)
	}
	m.body.scope = m.body.scope[:n]
}

// place returns the statement of a new place, with marks of what may have changed, and of
// what is read behind it.
func (m *marker) place(k Kind, pos token.Pos, n ast.Node, changed []*types.Var, reads ...*types.Var) ast.Stmt {
	p := &Place{N: len(m.p.Places), Kind: k, Pos: pos, Node: n}
	m.p.Places = append(m.p.Places, p)
	list := []ast.Stmt{m.call(p, m.p.gap.place, nil)}
	need := map[*types.Var]bool{}
	for _, v := range changed {
		need[v] = true
	}
	names := changed
	if m.in.All {
		names = m.body.scope
	}
	for _, v := range names {
		if !m.body.visible[v] {
			continue // assigned where it is not visible from here
		}
		p.Marks = append(p.Marks, Mark{Var: v, Need: need[v], Read: slices.Contains(reads, v)})
		m.p.marked[v] = append(m.p.marked[v], p)
		list = append(list, m.call(p, m.p.gap.named(v), v))
	}
	for _, v := range reads {
		if !slices.ContainsFunc(p.Marks, func(m Mark) bool { return m.Var == v }) {
			p.Marks = append(p.Marks, Mark{Var: v, Read: true})
			list = append(list, m.call(p, m.p.gap.named(v), v))
		}
	}
	return &ast.BlockStmt{Lbrace: pos, List: list, Rbrace: pos}
}

// call returns a call of f with the number of p, and the value of v if it is not nil.
func (m *marker) call(p *Place, f *types.Func, v *types.Var) ast.Stmt {
	id := &ast.Ident{NamePos: p.Pos, Name: f.Name()}
	n := &ast.BasicLit{ValuePos: p.Pos, Kind: token.INT, Value: strconv.Itoa(p.N)}
	c := &ast.CallExpr{Fun: id, Lparen: p.Pos, Args: []ast.Expr{n}, Rparen: p.Pos}
	m.info.Uses[id] = f
	m.info.Types[n] = types.TypeAndValue{Type: types.Typ[types.Int], Value: constant.MakeInt64(int64(p.N))}
	m.info.Types[c] = types.TypeAndValue{Type: types.NewTuple()}
	if v != nil {
		x := &ast.Ident{NamePos: p.Pos, Name: v.Name()}
		m.info.Uses[x] = v
		c.Args = append(c.Args, x)
	}
	return &ast.ExprStmt{X: c}
}

func (m *marker) block(b *ast.BlockStmt, head []*types.Var, reads ...*types.Var) *ast.BlockStmt {
	c := &ast.BlockStmt{Lbrace: b.Lbrace, Rbrace: b.Rbrace, List: m.list(b, b.List, b.Rbrace, head, reads...)}
	m.enter(b, c)
	return c
}

// list returns the copy of a list of statements: there is a place in front of each and
// behind the last, but none behind one that does not complete, and none between a label
// and what may not be parted from it. The first has marks of head.
func (m *marker) list(n ast.Node, list []ast.Stmt, end token.Pos, head []*types.Var,
	reads ...*types.Var) []ast.Stmt {
	scope := len(m.body.scope)
	defer func() { m.leave(scope) }()
	var out []ast.Stmt
	dead := false // what follows is reached by a label alone, or not at all
	for _, s := range list {
		if !dead {
			out = append(out, m.place(InList, s.Pos(), n, head, slices.Concat(reads, m.reads(s))...))
		}
		for {
			l, ok := s.(*ast.LabeledStmt)
			if !ok || bound(l.Stmt) {
				break
			}
			s = l.Stmt
			c := &ast.LabeledStmt{Label: l.Label, Colon: l.Colon}
			c.Stmt = m.place(InList, s.Pos(), n, m.body.assigned[l], m.reads(s)...)
			m.enter(l, c)
			out = append(out, c)
		}
		out = append(out, m.copy(s).(ast.Stmt))
		head, reads = m.body.assigned[s], m.readsBehind(s)
		for _, v := range head {
			if !bound(s) && !compound(s) && within(v, s) {
				m.declare(v)
			}
		}
		dead = final(s)
	}
	if dead {
		return out
	}
	return append(out, m.place(InList, end, n, head, reads...))
}

// bound reports whether a label must stay with s: break and continue name it.
func bound(s ast.Stmt) bool {
	if l, ok := s.(*ast.LabeledStmt); ok {
		return bound(l.Stmt)
	}
	switch s.(type) {
	case *ast.BlockStmt, *ast.IfStmt:
		return false
	}
	return compound(s)
}

func compound(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.BlockStmt, *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt,
		*ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
		return true
	}
	return false
}

// final reports whether nothing may stand behind s in a list.
func final(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.LabeledStmt:
		return final(s.Stmt)
	}
	return false
}

// stmt returns the copy of a compound statement. The lists in it begin with marks of what
// its header assigns or, where they may be reached from behind, of all it assigns.
func (m *marker) stmt(s ast.Stmt) ast.Stmt {
	scope := len(m.body.scope)
	defer func() { m.leave(scope) }()
	var c ast.Node
	switch s := s.(type) {
	case *ast.BlockStmt:
		c = m.block(s, nil)
	case *ast.IfStmt:
		m.declare(m.body.assigned[s.Init]...)
		c = m.ifStmt(s, m.body.assigned[s.Init])
	case *ast.SwitchStmt:
		c = m.choice(s, s.Init, s.Body)
	case *ast.TypeSwitchStmt:
		c = m.choice(s, s.Init, s.Body)
	case *ast.SelectStmt:
		c = m.choice(s, nil, s.Body)
	case *ast.ForStmt:
		m.declare(m.body.assigned[s.Init]...)
		c = m.loop(s, s.Body)
	case *ast.RangeStmt:
		if m.bodies[s.Body] == nil {
			m.declare(m.sets(s)...)
		}
		c = m.loop(s, s.Body)
	}
	return c.(ast.Stmt)
}

func (m *marker) loop(s ast.Stmt, body *ast.BlockStmt) ast.Node {
	if m.bodies[body] == nil && m.in.Heads != nil && m.in.Heads(s) {
		n := len(m.p.Places)
		defer func() {
			inside := slices.IndexFunc(m.p.Places[n:], func(q *Place) bool { return q.Node == body })
			m.heads = append(m.heads, head{s, m.p.Places[n-1], m.p.Places[n+inside]})
		}()
	}
	return m.shallow(s, func(c ast.Node) ast.Node {
		switch {
		case c != body:
			return m.copy(c)
		case m.bodies[body] == nil:
			return m.block(body, m.body.assigned[s], m.readsBehind(s)...)
		}
		sets := m.sets(s) // here, since go/ssa assigns them in the function that the body is
		for _, v := range sets {
			m.bodies[body].mentions[v] = true
		}
		return m.function(body, &ast.FuncType{Params: &ast.FieldList{}}, nil, body, sets...)
	})
}

func (m *marker) ifStmt(s *ast.IfStmt, head []*types.Var) ast.Node {
	c := m.shallow(s, func(c ast.Node) ast.Node {
		switch e := c.(type) {
		case *ast.BlockStmt:
			return m.block(e, head)
		case *ast.IfStmt:
			list := []ast.Stmt{m.place(ElseIf, e.Pos(), s, head, m.reads(e)...), m.stmt(e)}
			return &ast.BlockStmt{Lbrace: e.Pos(), List: list, Rbrace: e.End()}
		}
		return m.copy(c)
	}).(*ast.IfStmt)
	if c.Else == nil {
		c.Else = m.place(Else, s.End(), s, head)
	}
	return c
}

// choice returns the copy of a switch or select. A switch without default gets one.
func (m *marker) choice(s, init ast.Stmt, body *ast.BlockStmt) ast.Node {
	m.declare(m.body.assigned[init]...)
	head := m.body.assigned[init]
	_, isSelect := s.(*ast.SelectStmt)
	otherwise := isSelect
	for _, c := range body.List {
		c, ok := c.(*ast.CaseClause)
		otherwise = otherwise || ok && c.List == nil
		if ok && len(c.Body) > 0 {
			if b, ok := c.Body[len(c.Body)-1].(*ast.BranchStmt); ok && b.Tok == token.FALLTHROUGH {
				head = m.body.assigned[s]
			}
		}
	}
	if m.body.entered[s] {
		head = m.body.assigned[s]
	}
	return m.shallow(s, func(n ast.Node) ast.Node {
		if n != body {
			return m.copy(n)
		}
		b := &ast.BlockStmt{Lbrace: body.Lbrace, Rbrace: body.Rbrace}
		for _, c := range body.List {
			b.List = append(b.List, m.clause(c, head))
		}
		if !otherwise {
			list := []ast.Stmt{m.place(Default, body.Rbrace, s, head)}
			b.List = append(b.List, &ast.CaseClause{Case: body.Rbrace, Colon: body.Rbrace, Body: list})
		}
		return b
	})
}

func (m *marker) clause(s ast.Stmt, head []*types.Var) ast.Stmt {
	scope := len(m.body.scope)
	defer func() { m.leave(scope) }()
	switch s := s.(type) {
	case *ast.CaseClause:
		c := *s
		m.enter(s, &c)
		c.List = slices.Clone(s.List)
		for i, e := range c.List {
			c.List[i] = m.copy(e).(ast.Expr)
		}
		if v, ok := m.in.Info.Implicits[s].(*types.Var); ok && m.follows(v.Type()) {
			m.declare(v)
			head = append(slices.Clone(head), v)
		}
		c.Body = m.list(s, s.Body, s.End(), head)
		return &c
	case *ast.CommClause:
		c := *s
		m.enter(s, &c)
		if s.Comm != nil {
			c.Comm = m.copy(s.Comm).(ast.Stmt)
			head = append(slices.Clone(head), m.body.assigned[s.Comm]...)
			m.declare(m.body.assigned[s.Comm]...)
		}
		c.Body = m.list(s, s.Body, s.End(), head)
		return &c
	}
	panic("ir: a switch holds clauses")
}
