package escape

// Lookups in the syntax of a function. Each index is made in one walk, when it is first
// asked for: a walk for each question would take time by the square of a function's size.

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// syntax is what the syntax of one function says. It includes the literals inside.
type syntax struct {
	up      map[ast.Node]ast.Node // node → the node that it is part of
	names   map[string]bool       // all identifiers
	reads   map[*types.Var][]*ast.Ident
	written map[*ast.Ident]bool  // what an assignment gives another value
	shared  map[*types.Var]bool  // what a literal captures, or has its address taken: calls may change it
	jumps   map[string]token.Pos // label → the first goto that leads there
	marks   map[ast.Node][]mark  // list of statements → its labels
	headers []header             // outermost ones, in the order of the source
	lits    literals
}

// A header is the assignment with which a statement begins.
type header struct {
	stmt ast.Stmt
	as   *ast.AssignStmt
}

// A mark is a label in a list of statements.
type mark struct {
	pos   token.Pos
	first token.Pos // the first goto that leads to this label or to a later one of the list
}

// walked returns what one walk through the function says of its nodes.
func (f *fn) walked() *syntax {
	if f.syntax != nil {
		return f.syntax
	}
	s := &syntax{up: map[ast.Node]ast.Node{}, names: map[string]bool{}, reads: map[*types.Var][]*ast.Ident{}, written: map[*ast.Ident]bool{},
		shared: map[*types.Var]bool{}, jumps: map[string]token.Pos{}, marks: map[ast.Node][]mark{}}
	f.syntax = s
	var path []ast.Node
	var lits []*ast.FuncLit
	ast.Inspect(f.node, func(n ast.Node) bool {
		if n == nil {
			path = path[:len(path)-1]
			return true
		}
		if len(path) > 0 {
			s.up[n] = path[len(path)-1]
		}
		path = append(path, n)
		if st, ok := n.(ast.Stmt); ok {
			if as, ok := initOf(st).(*ast.AssignStmt); ok && as.Tok == token.DEFINE {
				if k := len(s.headers); k == 0 || s.headers[k-1].as.End() <= as.Pos() {
					s.headers = append(s.headers, header{st, as})
				}
			}
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			lits = append(lits, n)
		case *ast.Ident:
			s.names[n.Name] = true
			if v, ok := f.p.info.Uses[n].(*types.Var); ok && !v.IsField() && !s.written[n] {
				s.reads[v] = append(s.reads[v], n)
			}
			if v, ok := f.p.info.Uses[n].(*types.Var); ok && !v.IsField() && !s.shared[v] {
				s.shared[v] = v.Pos() < f.node.Pos() || f.node.End() <= v.Pos() || captures(path, v) || f.p.addressed(path)
			}
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if id, ok := ast.Unparen(e).(*ast.Ident); ok && n.Tok == token.ASSIGN {
					s.written[id] = true
				}
			}
		case *ast.BranchStmt:
			if at, ok := s.jumps[labelOf(n)]; n.Tok == token.GOTO && (!ok || n.Pos() < at) {
				s.jumps[labelOf(n)] = n.Pos()
			}
		}
		return true
	})
	s.lits = nest(lits)
	return s
}

// captures reports whether a literal on path has v at the end of it, but not v's declaration.
func captures(path []ast.Node, v *types.Var) bool {
	for i := len(path) - 1; i >= 0 && path[i].Pos() > v.Pos(); i-- {
		if _, ok := path[i].(*ast.FuncLit); ok {
			return true
		}
	}
	return false
}

// addressed reports whether the address of the variable at the end of path, or of a
// part of it, is taken there: by &, by slicing an array, or by a method that wants it.
func (p *pkg) addressed(path []ast.Node) bool {
	for i := len(path) - 1; i > 0; i-- {
		switch up := path[i-1].(type) {
		case *ast.ParenExpr:
		case *ast.SelectorExpr:
			sel := p.info.Selections[up]
			if sel == nil {
				return false
			}
			if m, ok := sel.Obj().(*types.Func); ok {
				return isPointer(m.Signature().Recv().Type()) && !isPointer(p.typeOf(up.X))
			}
			if sel.Indirect() {
				return false
			}
		case *ast.IndexExpr:
			if _, isArray := p.under(up.X).(*types.Array); !isArray || up.X != path[i] {
				return false
			}
		case *ast.SliceExpr:
			_, isArray := p.under(up.X).(*types.Array)
			return isArray && up.X == path[i]
		case *ast.UnaryExpr:
			return up.Op == token.AND
		default:
			return false
		}
	}
	return false
}

// literals are function literals by position.
type literals []nested

// nested is a literal and the index of the one around it, -1 if there is none.
type nested struct {
	lit *ast.FuncLit
	up  int
}

// nest puts literals in order.
func nest(lits []*ast.FuncLit) literals {
	slices.SortFunc(lits, func(a, b *ast.FuncLit) int { return cmp.Compare(a.Pos(), b.Pos()) })
	out := make(literals, len(lits))
	for i, l := range lits {
		up := i - 1
		for up >= 0 && out[up].lit.End() <= l.Pos() {
			up = out[up].up
		}
		out[i].lit, out[i].up = l, up
	}
	return out
}

// around returns the innermost literal that contains both positions, nil if none does.
func (ls literals) around(from, to token.Pos) *ast.FuncLit {
	i, _ := slices.BinarySearchFunc(ls, from+1, func(l nested, pos token.Pos) int { return cmp.Compare(l.lit.Pos(), pos) })
	for i--; i >= 0 && ls[i].lit.End() <= to; {
		i = ls[i].up
	}
	if i < 0 {
		return nil
	}
	return ls[i].lit
}

func labelOf(b *ast.BranchStmt) string {
	if b.Label == nil {
		return ""
	}
	return b.Label.Name
}

// pathTo lists the nodes from the function down to n; nil if n is no part of it.
func (f *fn) pathTo(n ast.Node) []ast.Node {
	up := f.walked().up
	if n != f.node && up[n] == nil {
		return nil
	}
	var path []ast.Node
	for ; n != nil; n = up[n] {
		path = append(path, n)
	}
	slices.Reverse(path)
	return path
}

// labels lists the labels of a list of statements in the order of the source.
func (f *fn) labels(list ast.Node) []mark {
	s := f.walked()
	if ms, ok := s.marks[list]; ok {
		return ms
	}
	var ms []mark
	for _, st := range stmtsOf(list) {
		for l, ok := st.(*ast.LabeledStmt); ok; l, ok = l.Stmt.(*ast.LabeledStmt) {
			ms = append(ms, mark{pos: l.Pos(), first: s.jumps[l.Label.Name]})
		}
	}
	for i := len(ms) - 2; i >= 0; i-- {
		if next := ms[i+1].first; next.IsValid() && (!ms[i].first.IsValid() || next < ms[i].first) {
			ms[i].first = next
		}
	}
	s.marks[list] = ms
	return ms
}

// firstJump returns the first goto that leads to a label of the list at pos or behind it.
func (f *fn) firstJump(list ast.Node, pos token.Pos) token.Pos {
	ms := f.labels(list)
	i, _ := slices.BinarySearchFunc(ms, pos, func(m mark, p token.Pos) int { return cmp.Compare(m.pos, p) })
	if i == len(ms) {
		return token.NoPos
	}
	return ms[i].first
}
