package escape

// Lookups in the syntax of a function. Each index is made in one walk, when it is first
// asked for: a walk for each question would take time by the square of a function's size.

import (
	"cmp"
	"go/ast"
	"go/token"
	"slices"
)

// syntax is what the syntax of one function says. It includes the literals inside.
type syntax struct {
	up      map[ast.Node]ast.Node // node → the node that it is part of
	names   map[string]bool       // all identifiers
	jumps   map[string]token.Pos  // label → the first goto that leads there
	marks   map[ast.Node][]mark   // list of statements → its labels
	headers []header              // outermost ones, in the order of the source
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
	s := &syntax{up: map[ast.Node]ast.Node{}, names: map[string]bool{}, jumps: map[string]token.Pos{},
		marks: map[ast.Node][]mark{}}
	f.syntax = s
	var path []ast.Node
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
		case *ast.Ident:
			s.names[n.Name] = true
		case *ast.BranchStmt:
			if at, ok := s.jumps[labelOf(n)]; n.Tok == token.GOTO && (!ok || n.Pos() < at) {
				s.jumps[labelOf(n)] = n.Pos()
			}
		}
		return true
	})
	return s
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
